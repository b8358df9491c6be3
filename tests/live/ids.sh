# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# What tests of single writers share whose IDs say process, thread and number
# (tests/load/older/ids.h). Source it after live.sh.

# judge NAME: the figures of $dir/NAME.db go to $dir/NAME
judge() {
	sqlite3 -readonly "$dir/$1.db" >"$dir/$1" <<-'SQL'
	.mode tabs
	SELECT count(*), count(trace_id), total(
	    substr(trace_id, 1, 8) <> printf('%08x', pid)
	    OR substr(trace_id, 9, 8) <> printf('%08x', tid)
	    OR substr(trace_id, 9, 8) || substr(trace_id, 25) <> span_id),
	  total(trace_id IS NOT NULL AND folded LIKE '%;work_for_nobody%'),
	  total(trace_id IS NULL AND folded LIKE '%;work_for_one%'),
	  ifnull(group_concat(DISTINCT context_source), '-')
	FROM samples;
	SQL
	echo "$1: samples, with ID, wrong, nobody's with, one's without, sources:" \
		"$(tr '\t' ' ' <"$dir/$1")" | say
}

# figure NAME COLUMN
figure() {
	awk -F '\t' -v column="$2" '{ printf "%s", $column }' "$dir/$1"
}

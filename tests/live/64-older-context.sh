#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Trace IDs of processes that do not publish by OTEP 4947: Elastic's record,
# custom-labels, pprof labels as each version of Go lays them out. Writers of
# all run at a time, their IDs say process, thread and number. What is of a
# version that is not known, or no ID, is no ID and says so.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

seconds=${OLDER_SECONDS:-5}
older="$load/older"
known="elastic labels go17 go21 go23 go24 go25 go26"

# shellcheck disable=SC2016 # the inner shell's
"$weft" record -q -F 4999 --detail 1/1 -o "$dir/older.db" -- sh -c '
	for program in '"$known"' go99 labels2; do
		"$1/$program" "$2" &
		echo "$!	$program" >>"$3"
	done
	"$1/go24" "$2" malformed &
	echo "$!	malformed" >>"$3"
	wait' sh "$older" "$seconds" "$dir/pids" 2>&1 | say
check_ledger "$dir/older.db"

sqlite3 -readonly "$dir/older.db" >"$dir/figures" <<SQL
CREATE TEMP TABLE writer (pid INTEGER, name TEXT);
.mode tabs
.import --schema temp $dir/pids writer
SELECT w.name, count(*), count(s.trace_id),
  total(substr(s.trace_id, 1, 8) <> printf('%08x', s.pid)
    OR substr(s.trace_id, 9, 8) <> printf('%08x', s.tid)
    OR substr(s.trace_id, 9, 8) || substr(s.trace_id, 25) <> s.span_id),
  group_concat(DISTINCT iif(s.trace_id IS NULL, s.context_status,
    s.context_source))
FROM samples s JOIN writer w USING (pid) GROUP BY w.name;
SQL
awk -F '\t' 'BEGIN { print "writer samples with_id wrong words" }
	{ print $1, $2, $3, $4, $5 }' "$dir/figures" | column -t | say

figure() {
	awk -F '\t' -v name="$1" -v column="$2" '$1 == name {
		n = $column } END { printf "%d", n }' "$dir/figures"
}
# words NAME: sources of its IDs, and status where it has none
words() {
	awk -F '\t' -v name="$1" '$1 == name { print "," $5 "," }' "$dir/figures"
}
says() {
	case "$(words "$1")" in
	*",$2,"*) echo 1 ;;
	*) echo 0 ;;
	esac
}

for name in $known; do
	ids=$(figure "$name" 3)
	check "$name: $ids IDs, each of the sampled thread and whole" \
		"$(both "$(is "$ids" -gt 0)" "$(is "$(figure "$name" 4)" = 0)")"
done
check "the source of each is told" "$(both "$(says elastic elastic)" \
	"$(both "$(says labels labels)" "$(says go26 go)")")"
for name in go99 labels2; do
	check "$name, a version that is not known: no ID, unsupported" \
		"$(both "$(is "$(figure $name 3)" = 0)" \
			"$(says $name unsupported)")"
done
check "a label that is no ID is malformed, and none is made of it" \
	"$(both "$(is "$(figure malformed 3)" = 0)" \
		"$(says malformed malformed)")"

# Only the span's label has a name that is known.
# shellcheck disable=SC2016 # the inner shell's
"$weft" record -q -F 2999 --detail 1/1 --go-labels nothing:span_id \
	-o "$dir/spans.db" -- sh -c '"$1/go24" 1 & "$1/go21" 1 & "$1/labels" 1 &
	wait' sh "$older" 2>&1 | say
sqlite3 -readonly "$dir/spans.db" >"$dir/spans" <<'SQL'
.mode list
.separator ' '
SELECT comm, context_source, context_status, count(*),
  total(trace_id IS NOT NULL OR substr(span_id, 1, 8) <> printf('%08x', tid))
FROM samples WHERE span_id IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1;
SQL
say <"$dir/spans"
check "a span alone is stored as such, and is the thread's own" "$(is \
	"$(awk '$5 == 0 { printf "%s %s %s,", $1, $2, $3 }' "$dir/spans")" = \
	"go21 go half,go24 go half,labels labels half,")"
check "other statuses have no span without a trace" "$(is "$(sql \
	"$dir/older.db" "SELECT count(*) FROM samples WHERE trace_id IS NULL
		AND span_id IS NOT NULL")" = 0)"

live_done

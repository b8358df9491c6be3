#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Processes that tell their IDs in several ways: the first by weft's order is
# the only one, also where it says that there is no request. A program for each
# pair of neighbours. With --obi always, OBI's map is asked then.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
live_apart

seconds=${PAIR_SECONDS:-3}
older="$load/older"
"$older/obi" pin 24

# record NAME OPTION...: all pairs; figures in $dir/NAME
record() {
	name=$1
	shift
	: >"$dir/pids"
	# shellcheck disable=SC2016 # the inner shell's
	"$weft" record -q -F 2999 --detail 1/1 -o "$dir/$name.db" "$@" \
		--trace-probe "$older/pair_otel_go:work_on:trace=ptr@0,span=ptr@1" \
		-- sh -c '
		for pair in otel_go go_elastic elastic_labels labels_obi; do
			"$1/pair_$pair" "$2" &
			echo "$!	$pair" >>"$3"
		done
		"$1/pair_otel_go" "$2" probe &
		echo "$!	probe_otel" >>"$3"
		wait' sh "$older" "$seconds" "$dir/pids" 2>&1 | say
	check_ledger "$dir/$name.db"
	sqlite3 -readonly "$dir/$name.db" >"$dir/$name" <<-SQL
	CREATE TEMP TABLE writer (pid INTEGER, name TEXT);
	.mode tabs
	.import --schema temp $dir/pids writer
	SELECT w.name, s.context_source,
	  CASE WHEN s.folded LIKE '%;work_for_one%' THEN 'one'
	    WHEN s.folded LIKE '%;work_for_nobody%' THEN 'nobody' ELSE '-' END,
	  count(*), ifnull(group_concat(DISTINCT substr(s.trace_id, 17, 2)), '-'),
	  total(substr(s.trace_id, 1, 16) <> printf('%08x%08x', s.pid, s.tid))
	FROM samples s JOIN writer w USING (pid) GROUP BY 1, 2, 3;
	SQL
	column -t -s '	' "$dir/$name" | say
}
# sum NAME PAIR SOURCE WORK WAY: samples; each a regular expression
sum() {
	awk -F '\t' -v pair="$2" -v source="$3" -v work="$4" -v way="$5" '
		$1 ~ "^" pair "$" && $2 ~ "^(" source ")$" && $3 ~ work &&
			$5 ~ "^(" way ")$" { n += $4 }
		END { printf "%d", n }' "$dir/$1"
}
# holds NAME PAIR SOURCE WAY: all that have an ID have it from there
holds() {
	own=$(sum "$1" "$2" "$3" . "$4")
	all=$(sum "$1" "$2" '.*' . '0.*')
	echo "# $2: $own of $all IDs are of source $3"
	check "$2: the first is the source ($own IDs), and the only one" "$(both \
		"$(is "$own" -gt 0)" "$(is "$own" = "$all")")"
	check "$2: where it says nobody, there is no ID" "$(both \
		"$(is "$(sum "$1" "$2" none nobody -)" -gt 0)" \
		"$(is "$(sum "$1" "$2" '.*' nobody '0.*')" = 0)")"
}

record auto
holds auto probe_otel probe 03
holds auto otel_go otel 01
holds auto go_elastic go 01
holds auto elastic_labels elastic 01
holds auto labels_obi labels 01
check "no ID is another thread's" "$(is "$(awk -F '\t' '{ n += $6 }
	END { printf "%d", n }' "$dir/auto")" = 0)"

record always --obi always
check "--obi always: the process's own source still goes first \
($(sum always labels_obi labels one 01))" "$(both \
	"$(is "$(sum always labels_obi labels one 01)" -gt 0)" \
	"$(is "$(sum always labels_obi labels . 02)" = 0)")"
check "where it says nobody, OBI's ID is taken \
($(sum always labels_obi obi nobody 02))" \
	"$(is "$(sum always labels_obi obi nobody 02)" -gt 0)"
check "who is not in OBI's map stays without" \
	"$(is "$(sum always otel_go '.*' nobody '0.*')" = 0)"

live_done

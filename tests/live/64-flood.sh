#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A process that makes new stacks, trace IDs and thread names without end,
# beside one that does not: the tables have room for few of its stacks, and yet
# the other keeps its stacks and IDs.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

export LIFE_MS="${LIFE_MS:-4000}"
cat >"$dir/run_both" <<'RUN'
"$1/flood" flood >"$2/said.flood" &
echo "$!	flood" >>"$2/pids"
"$1/flood" honest >"$2/said.honest" &
echo "$!	honest" >>"$2/pids"
wait
RUN
db="$dir/flood.db"
"$weft" record -F 4999 --detail 1/1 --interval 2 --max-stacks 384 -o "$db" -- \
	sh "$dir/run_both" "$load/tls" "$dir" >"$dir/log" 2>&1
say <"$dir/log"
check_ledger "$db"
sqlite3 -readonly "$db" >"$dir/figures" <<SQL
CREATE TEMP TABLE neighbour (pid INTEGER, name TEXT);
.mode tabs
.import --schema temp $dir/pids neighbour
SELECT 'stacks', name, sum(count),
  ifnull(sum(count) FILTER (WHERE s.status = 'complete'), 0),
  ifnull(sum(count) FILTER (WHERE s.status = 'lost'), 0),
  ifnull(sum(count) FILTER (WHERE s.ended = 'table_pending'), 0)
FROM stack_total t JOIN process p ON p.id = t.process_id
JOIN neighbour USING (pid) JOIN stack s ON s.id = t.stack_id GROUP BY 2;
-- From when on the process's context is known.
CREATE TEMP TABLE known AS
SELECT pid, min(time_ns) AS since FROM samples JOIN neighbour USING (pid)
WHERE trace_id IS NOT NULL GROUP BY 1;
SELECT 'details', name, count(*), count(trace_id),
  ifnull(sum(substr(trace_id, 1, 16) <> printf('%08x%08x', pid, tid)), 0)
FROM samples JOIN neighbour USING (pid) JOIN known USING (pid)
WHERE time_ns >= since GROUP BY 2;
SQL
say <"$dir/figures"
# figure KIND NAME COLUMN
figure() {
	awk -F '\t' -v kind="$1" -v name="$2" -v column="$3" '
		$1 == kind && $2 == name { n = $column }
		END { printf "%d", n }' "$dir/figures"
}
# percent KIND NAME: of all, column 4; but for what came before the unwind tables
# of its files were there
percent() {
	awk -v all="$(($(figure "$1" "$2" 3) - $(figure "$1" "$2" 6)))" \
		-v n="$(figure "$1" "$2" 4)" \
		'BEGIN { printf "%d", all ? 100 * n / all : 0 }'
}
over=$(entry "$db" stack_over_share)
echo "# figure: flood_honest_whole_stacks_percent $(percent stacks honest)"
echo "# figure: flood_honest_trace_ids_percent $(percent details honest)"
echo "# figure: flood_stacks_refused $over"

check "the flood fills its share ($over refused)" "$(is "$over" -gt 0)"
# In an interval that a busy machine makes long the other may use up its own share:
# a third of the room.
others=$((over - $(figure stacks flood 5)))
check "the others lost next to nothing ($others of $over)" \
	"$(is $((others * 100)) -le "$over")"
check "nor its count" "$(is "$(entry "$db" lost_counts_full)" = 0)"
check "the honest program's stacks are whole ($(percent stacks honest) %)" \
	"$(is "$(percent stacks honest)" -ge 95)"
check "its samples have their IDs ($(percent details honest) %)" \
	"$(is "$(percent details honest)" -ge 95)"
check "no ID is another's" "$(is "$(($(figure details honest 5) + \
	$(figure details flood 5)))" = 0)"
check "the news that it published found room" \
	"$(is "$(entry "$db" sideband_lost)" = 0)"

live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A storm of processes that die at once, and processes whose context is a
# trap: they cost themselves their IDs. An honest writer beside them keeps its
# own, the ledger is right, who was trapped is killed and replaced.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

tls="$load/tls"
LIFE_MS=${LIFE_MS:-4000}
export LIFE_MS
cat >"$dir/run_all" <<'RUN'
tls=$1
dir=$2
for trap in stuck absent pointers vector mappings sizes; do
	"$tls/hostile" $trap >"$dir/said.$trap" 2>&1 &
	echo "$!	$trap" >>"$dir/pids"
done
"$3" 2000 $((LIFE_MS / 1000)) 1 >"$dir/said.storm" 2>&1 &
"$tls/life" honest >"$dir/said.honest" 2>&1 &
echo "$!	honest" >>"$dir/pids"
wait
RUN
"$weft" record -F 9999 --detail 1/1 -o "$dir/hostile.db" -- \
	sh "$dir/run_all" "$tls" "$dir" "$load/storm" >"$dir/log" 2>&1
say <"$dir/log"
check_ledger "$dir/hostile.db"
tail -n 1 "$dir/said.storm" | say

sqlite3 -readonly "$dir/hostile.db" >"$dir/figures" <<SQL
CREATE TEMP TABLE writer (pid INTEGER, name TEXT);
.mode tabs
.import --schema temp $dir/pids writer
SELECT w.name, s.context_status, count(*), count(s.trace_id),
  sum(s.trace_id IS NOT NULL
    AND substr(s.trace_id, 1, 16) <> printf('%08x%08x', s.pid, s.tid))
FROM samples s JOIN writer w USING (pid) GROUP BY 1, 2;
SQL
column -t -s '	' "$dir/figures" | say
# sum COLUMN NAME STATUS: over the rows that match
sum() {
	awk -F '\t' -v column="$1" -v name="$2" -v status="$3" '
		$1 ~ name && $2 ~ status { n += $column }
		END { printf "%d", n }' "$dir/figures"
}
check "the honest writer has its IDs ($(sum 4 honest ok))" \
	"$(is "$(sum 4 honest ok)" -gt 0)"
check "no ID is another's" "$(is "$(sum 5 . .)" = 0)"
check "none of the traps gives an ID" \
	"$(is "$(sum 4 'stuck|absent|vector|sizes' .)" = 0)"
check "records that cannot be read are told ($(sum 3 'absent' e_record), \
$(sum 3 pointers e_record))" "$(both \
	"$(is "$(sum 3 absent e_record)" -gt 0)" \
	"$(is "$(sum 3 pointers e_record)" -gt 0)")"
check "so are vectors ($(sum 3 vector e_))" \
	"$(is "$(sum 3 vector e_)" -gt 0)"
# After 1,000 reads, judged once per second.
if [ "$(sum 3 absent e_record)" -gt 1000 ]; then
	check "who fails all the time is given up ($(entry "$dir/hostile.db" \
		context_failing))" \
		"$(is "$(entry "$dir/hostile.db" context_failing)" -gt 0)"
else
	echo "# too few samples to give anybody up: skipped"
fi
check "what the storm asked for was put off ($(entry "$dir/hostile.db" \
	probe_deferred))" "$(is "$(entry "$dir/hostile.db" probe_deferred)" -gt 0)"
check "the trapped inspector was replaced" \
	"$(is "$(grep -c 'inspectors were replaced' "$dir/log")" = 1)"

live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program that tells no trace IDs, while the machine's clock is put forward
# and back: its samples go to the request in which they were taken, or to none.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

background python3 "$tests/live/71-by-time.py" serve "$dir/spans" "$dir/stop"
server=$!
"$weft" record -p $server --detail 1/1 -o "$dir/a.db" >"$dir/said" 2>&1 &
recorder=$!
live_children="$live_children $recorder"
wait_for 30 test -s "$dir/a.db"
sleep 2
stepped=1
python3 "$tests/live/71-by-time.py" step 5 2 2>"$dir/step" || stepped=0
say <"$dir/step"
sleep 2
kill -INT $recorder
wait $recorder || true
: >"$dir/stop"
wait $server || true
say <"$dir/said"
check_ledger "$dir/a.db"
"$weft" import-spans -i "$dir/a.db" "$dir/spans" 2>&1 | say

sql "$dir/a.db" "SELECT 'outcome ' || outcome, samples FROM time_join" | say
figures=$(sql "$dir/a.db" "SELECT count(*),
	ifnull(sum(s.time_ns NOT BETWEEN p.attributes ->> '$.began'
	                     AND p.attributes ->> '$.ended'), 0)
	FROM samples_by_time b JOIN sample s ON s.id = b.sample_id
	JOIN trace t ON t.hex = b.trace_id JOIN span p ON p.trace = t.id
	WHERE b.outcome = 'joined'")
check "samples are joined by time ($figures: joined, wrong)" \
	"$(is "${figures%|*}" -ge 500)"
check "none to a request in which it was not taken" "$(is "${figures#*|}" = 0)"
unsure=$(sql "$dir/a.db" 'SELECT count(*) FROM interval
	WHERE clock_error_ns > 1000000000')
sql "$dir/a.db" 'SELECT clock_offset_ns - min(clock_offset_ns) OVER (),
	clock_error_ns FROM interval' | say
if [ $stepped = 1 ]; then
	check "the intervals in which the clock was set say so" \
		"$(is "$unsure" = 2)"
	check "their samples are in no request" "$(is "$(sql "$dir/a.db" "
		SELECT count(*) > 0 FROM time_join WHERE outcome = 'clock'")" = 1)"
	check "and the others have the clock that was" "$(is "$(sql \
		"$dir/a.db" 'SELECT count(DISTINCT round(clock_offset_ns / 1e9))
		FROM interval')" = 2)"
else
	check "no interval says that the clock was set" "$(is "$unsure" = 0)"
	echo "# skipped: the clock cannot be set here"
fi
live_done

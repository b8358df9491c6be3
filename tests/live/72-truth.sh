#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is said of a request's CPU time, against what its worker measured by its
# own CPU clock: the demo service, every request that lies in the recording.
# TRUTH_REQUESTS: at least so many. TRUTH_TREES: of so many requests, the
# costliest, the tree is added up, too.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/service.sh
. "$(dirname "$0")/service.sh"

least_requests=${TRUTH_REQUESTS:-1000}
record_service "$least_requests" --detail "${TRUTH_DETAIL:-1/1}"

# Those that lie in the recording whole.
figures=$(sql "$dir/a.db" "
	WITH r AS (
	  SELECT q.*, p.attributes ->> '$.cpu_ns' AS truth
	  FROM requests q JOIN trace t ON t.hex = q.trace_id
	  JOIN span p ON p.trace = t.id AND p.span_id = x'0000000000000001'
	  WHERE q.start_ns > (SELECT min(start_ns + clock_offset_ns)
	                        FROM interval)
	    AND q.start_ns + q.duration_ns < (
	      SELECT max(end_ns + clock_offset_ns) FROM interval))
	SELECT count(*), sum(samples > 0),
	  sum(cpu_low_ns <= truth AND truth <= cpu_high_ns),
	  round(sum(truth) / 1e9, 2), round(sum(cpu_ns) / 1e9, 2) FROM r")
echo "$figures" | tr '|' ' ' | awk '{
	printf "# requests %d, with samples %d, covered %d (%.1f %%), CPU s: ",
		$1, $2, $3, 100 * $3 / $1
	printf "by their clocks %s, estimated %s\n", $4, $5 }'
requests=${figures%%|*}
covered=$(echo "$figures" | cut -d '|' -f 3)
check "at least $least_requests requests" "$(is "$requests" -ge "$least_requests")"
check "their 95 % intervals cover the truth in at least 93 %" \
	"$(is $((covered * 100)) -ge $((requests * 93)))"

wrong=$(sql "$dir/a.db" "SELECT count(*) FROM requests q
	WHERE spans > 0 AND samples < (SELECT count(*) FROM span_samples s
	  WHERE s.trace_id = q.trace_id)")
check "no sample of a request is in two of its spans" "$(is "$wrong" = 0)"
sql "$dir/a.db" "SELECT trace_id FROM requests WHERE spans > 0 AND samples > 0
	ORDER BY samples DESC LIMIT ${TRUTH_TREES:-10}" >"$dir/ids"
while read -r id; do
	"$weft" trace "$id" --json -i "$dir/a.db" || echo broken
done <"$dir/ids" >"$dir/trees"
python3 - "$dir/trees" >"$dir/judged" <<'END'
import json
import sys

text, at, trees, wrong = open(sys.argv[1]).read(), 0, 0, 0
while text[at:].strip():
    j, end = json.JSONDecoder().raw_decode(text[at:].lstrip())
    at = len(text) - len(text[at:].lstrip()) + end
    own = sum(s["self_samples"] for s in j["spans"])
    top = sum(s["total_samples"] for s in j["spans"] if s["depth"] == 0)
    trees += 1
    if not own == top == j["samples"] - j["outside_spans_samples"]:
        wrong += 1
print(trees, wrong)
END
check "trees add up to their requests (trees, wrong: $(cat "$dir/judged"))" \
	"$(is "$(cat "$dir/judged")" = "$(wc -l <"$dir/ids") 0")"
live_done

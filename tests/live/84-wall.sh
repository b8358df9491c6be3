#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of each request of the demo service: the time that it ran, could have run and
# was blocked add up to the time that it took, as the service measured it.
# WALL_REQUESTS: at least so many.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/service.sh
. "$(dirname "$0")/service.sh"

least_requests=${WALL_REQUESTS:-200}
record_service $((least_requests * 3 / 2)) -e wall -F "${WALL_HZ:-19999}" --detail 1/1

# Each request that lies in the recording, from when its threads' context is
# known, with what its parts leave.
cat >"$dir/rests.sql" <<'SQL'
CREATE TEMP TABLE part AS
SELECT t.hex, sum(s.weight * s.value) AS ns
FROM sample s JOIN trace t ON t.id = s.trace JOIN event e ON e.id = s.event_id
WHERE e.name <> 'cpu-clock' GROUP BY t.id;
CREATE TEMP TABLE judged AS
SELECT q.trace_id, q.duration_ns AS wall,
  q.duration_ns - ifnull(p.ns, 0) AS rest,
  -- where a request begins and ends, a timer is half a period off at most
  q.duration_ns / 100.0 + (SELECT max(period) FROM cpu_interval c
    JOIN event e ON e.id = c.event_id WHERE e.name = 'cpu-clock') AS allowed
FROM requests q LEFT JOIN part p ON p.hex = q.trace_id
WHERE q.spans > 0
  AND q.start_ns > (SELECT min(s.time_ns + i.clock_offset_ns) FROM sample s
    JOIN interval i ON i.id = s.interval_id WHERE s.trace IS NOT NULL)
  AND q.start_ns + q.duration_ns < (
    SELECT max(end_ns + clock_offset_ns) FROM interval);
SQL
figures=$(sqlite3 -readonly -separator ' ' "$dir/a.db" <<SQL
.read $dir/rests.sql
SELECT count(*), sum(abs(rest) <= wall / 100.0), sum(abs(rest) <= allowed),
  cast(sum(max(0, -rest - allowed)) / 1e6 AS INT), cast(sum(max(0, rest - allowed)) / 1e6 AS INT),
  (SELECT cast(sum(value) / 1e6 AS INT) FROM ledger l
    JOIN event e ON e.id = l.event_id
    WHERE e.name = 'cpu-clock' AND entry = 'not_run'),
  printf('%.2f', 100.0 * sum(rest) / sum(wall))
FROM judged
SQL
)
set -f
# shellcheck disable=SC2086 # numbers
set -- $figures
echo "requests $1; within 1 %: $2, within 1 % and a period: $3;" \
	"the rest of all: $7 % of their time" | say
check "at least $least_requests requests" "$(is "$1" -ge "$least_requests")"
# Where the machine stood still, ticks are missing that would have seen an end.
check "what is too much beyond 1 % and a period ($4 ms) is in the ledger as not_run" \
	"$(is "$4" -le "$6")"
check "what is missing beyond ($5 ms) is in the ledger as not_run ($6 ms)" \
	"$(is "$5" -le "$6")"
check "at least nine in ten lack no more than 1 % and a period" \
	"$(is $(($3 * 10)) -ge $(($1 * 9)))"
live_done

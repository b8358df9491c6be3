#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Attributes of requests, from the record of a thread to the file: each sample
# has those of the request that it was taken in, by keys that the process
# learns while it runs.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

db="$dir/attributes.db"
"$weft" record -q -F 1999 --detail 1/1 --attributes -o "$db" -- \
	"$load/tls/routes" 4 2>&1 | say
check_ledger "$db"
sqlite3 -readonly "$db" >"$dir/figures" <<'SQL'
.mode list
.separator ' '
CREATE TEMP TABLE judged AS
SELECT s.sample_id, s.trace_id, x.folded, r.value AS route, u.value AS user,
  m.value AS method
FROM samples s
JOIN stack_text x USING (stack_id)
LEFT JOIN sample_attribute r
  ON r.sample_id = s.sample_id AND r.key = 'http.route'
LEFT JOIN sample_attribute u ON u.sample_id = s.sample_id AND u.key = 'user.id'
LEFT JOIN sample_attribute m
  ON m.sample_id = s.sample_id AND m.key = 'http.request.method'
WHERE s.trace_id IS NOT NULL;
SELECT 'with_id', count(*) FROM judged;
SELECT 'with_route', count(route) FROM judged;
SELECT 'with_user', count(user) FROM judged;
SELECT 'users', count(DISTINCT user) FROM judged;
-- The function is the route's; the record is set at its start.
SELECT 'other_route', count(*) FROM judged WHERE route IS NOT NULL
  AND folded NOT GLOB '*' || substr(route, 2) || '*'
  AND folded GLOB '*use_cpu*' AND folded GLOB '*main*';
SELECT 'other_user', count(*) FROM judged WHERE user <> 'user-' || (
  SELECT printf('%d', sum(instr('0123456789abcdef', substr(trace_id, n, 1))
    - 1 << 4 * (32 - n))) FROM (
      WITH RECURSIVE digit(n) AS (SELECT 25 UNION ALL SELECT n + 1 FROM digit
        WHERE n < 32) SELECT n FROM digit));
SELECT 'method', count(*) FROM judged WHERE method = 'GET';
SELECT 'resource', count(*) FROM process_attribute
WHERE key = 'deployment.environment.name' AND value = 'test';
SELECT entry, sum(count) FROM ledger WHERE entry GLOB 'attributes_*'
GROUP BY entry;
SQL
say <"$dir/figures"
figure() {
	awk -v want="$1" '$1 == want { print $2 }' "$dir/figures"
}
check "each sample with an ID has a route ($(figure with_route))" "$(both \
	"$(is "$(figure with_route)" -gt 0)" \
	"$(is "$(figure with_route)" = "$(figure with_id)")")"
check "it is that of the function it was in" \
	"$(is "$(figure other_route)" = 0)"
check "and its method" "$(is "$(figure method)" = "$(figure with_id)")"
check "a key that came later is known ($(figure users) values)" \
	"$(is "$(figure users)" -gt 1)"
check "each value is of the sample's own request" "$(both \
	"$(is "$(figure with_user)" -gt 0)" "$(is "$(figure other_user)" = 0)")"
check "what the process says of itself is kept" \
	"$(is "$(figure resource)" = 1)"

live_done

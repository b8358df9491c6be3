#!/bin/sh
# SPDX-License-Identifier: MIT
#
# --shape-by: exact counts for each value of an attribute. Three routes take
# known shares of the CPU time, each in a function of its own; values without
# number are refused, and counted.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

db="$dir/routes.db"
"$weft" record -q -F 1999 --detail off --shape-by http.route -o "$db" -- \
	"$load/tls/routes" 4 2>&1 | say
check_ledger "$db"
"$weft" top --by attribute "$db" | say
sqlite3 -readonly "$db" >"$dir/figures" <<'SQL'
.mode list
.separator ' '
CREATE TEMP TABLE value AS
SELECT a.key, a.value AS route, t.stack_id, t.count
FROM stack_attribute_total t JOIN shape_attribute a ON a.id = t.attribute_id;
SELECT 'routes', count(DISTINCT route) FROM value;
SELECT 'counted', sum(count) FROM value;
SELECT 'all', sum(count) FROM stack_total;
SELECT 'intervals', sum(count) FROM stack_attribute_count;
SELECT 'more_than_all', count(*) FROM (
  SELECT interval_id, event_id, process_id, stack_id, sum(a.count) AS n
  FROM stack_attribute_count a GROUP BY 1, 2, 3, 4) a
JOIN stack_count c USING (interval_id, event_id, process_id, stack_id)
WHERE a.n > c.count;
SELECT 'alone', (SELECT count(*) FROM stack_attribute_count)
  - (SELECT count(*) FROM stack_attribute_count a JOIN stack_count c
     USING (interval_id, event_id, process_id, stack_id));
-- The function is the route's own; its first instructions and those of
-- begin() are of the request before.
SELECT 'other_function', ifnull(sum(count), 0) FROM value v
JOIN stack_text x USING (stack_id)
WHERE x.folded GLOB '*;main;*use_cpu*'
  AND x.folded NOT GLOB '*;' || substr(route, 2) || ';*'
  AND x.folded GLOB '*;[htf][ahi][lif][frt]*;use_cpu*';
SELECT route, round(100.0 * sum(count) / (SELECT sum(count) FROM value))
FROM value GROUP BY route;
SQL
say <"$dir/figures"
figure() {
	awk -v want="$1" '$1 == want { printf "%d", $2 }' "$dir/figures"
}
# near ROUTE PERCENT: within what 5 standard deviations of few samples are
near() {
	awk -v is="$(figure "$1")" -v want="$2" -v n="$(figure counted)" 'BEGIN {
		d = is - want; d = d < 0 ? -d : d
		print (n > 0 && d <= 1 + 500 * sqrt(0.25 / n)) }'
}
check "three routes are told apart" "$(is "$(figure routes)" = 3)"
check "they have 50, 30 and 20 % of the counts" "$(both "$(near /half 50)" \
	"$(both "$(near /third 30)" "$(near /fifth 20)")")"
check "each in its own function" "$(is "$(figure other_function)" = 0)"
check "no more than all is told apart, of each count" "$(both \
	"$(is "$(figure more_than_all)" = 0)" "$(both \
	"$(is "$(figure alone)" = 0)" \
	"$(is "$(figure counted)" = "$(figure intervals)")")")"
check "nothing was refused" "$(is "$(entry "$db" shape_by_full)" = 0)"
"$weft" top --value /half -n 0 "$db" >"$dir/half"
# Of the others not a hundredth in all: their first instructions, as above.
check "the profile of a route has its function, and no other's" "$(both \
	"$(is "$(grep -c ' half  *routes' "$dir/half")" = 1)" \
	"$(is "$(awk '/ (third|fifth)  *routes/ { sum += $3 }
		END { print (sum >= 1) }' "$dir/half")" = 0)")"

db="$dir/many.db"
"$weft" record -q -F 1999 --shape-by http.route -o "$db" -- \
	"$load/tls/routes" 3 5000 2>&1 | say
check_ledger "$db"
values=$(sql "$db" "SELECT count(*) FROM shape_attribute
	WHERE value IS NOT NULL")
other=$(sql "$db" "SELECT ifnull(sum(t.count), 0) FROM stack_attribute_total t
	JOIN shape_attribute a ON a.id = attribute_id WHERE a.value IS NULL")
full=$(entry "$db" shape_by_full)
check "of a process's 5,000 values at most 128 are told apart ($values)" \
	"$(both "$(is "$values" -gt 0)" "$(is "$values" -le 128)")"
check "the others are counted together ($other)" "$(both \
	"$(is "$full" -gt 0)" "$(is "$full" = "$other")")"

live_done

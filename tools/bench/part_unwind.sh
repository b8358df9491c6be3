#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whole stacks: of programs as Debian ships them, the share of samples whose
# user stack reaches its root; and what ended the others.
#
# BENCH_PROGRAMS  which of them (default all)
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
# shellcheck source=tools/bench/programs.sh
. "$bench/programs.sh"
title "unwind: samples with whole user stacks, $seconds s each at 997 Hz"
needs_root unwind

# The file's words for why a walk ended that was neither whole nor cut short
# by the depth limit; of the samples that have a user stack.
report() {
	ask "$dir/u.db" "
		WITH user AS (
		  SELECT s.status, ifnull(s.ended, '?') AS ended, sum(t.count) AS n
		    FROM stack_total t
		    JOIN stack s ON s.id = t.stack_id
		    JOIN process p ON p.id = t.process_id
		   WHERE p.exe GLOB '$2' AND s.status NOT IN ('no_user', 'lost')
		   GROUP BY 1, 2),
		whole AS (SELECT total(n) AS n FROM user)
		SELECT printf('%-20s %8d %9.2f %9.2f %9.2f  %s', '$1', whole.n,
		    100 * (SELECT total(n) FROM user WHERE status = 'complete')
		      / max(whole.n, 1),
		    100 * (SELECT total(n) FROM user WHERE status = 'truncated')
		      / max(whole.n, 1),
		    100 * (SELECT total(n) FROM user WHERE status = 'broken')
		      / max(whole.n, 1),
		    ifnull((SELECT group_concat(ended || ' ' || n, ', ')
		      FROM (SELECT ended, n FROM user WHERE status = 'broken'
		             ORDER BY n DESC LIMIT 3)), ''))
		FROM whole"
}

# measure_program NAME
measure_program() {
	eval "pattern=\$exe_$1"
	if ! "start_$1" >"$dir/start" 2>&1; then
		cat "$dir/start" >&2
		stop_load
		return 1
	fi
	sleep 2
	quietly "$weft" record -q -a --detail off -d "$seconds" -o "$dir/u.db"
	stop_load
	# shellcheck disable=SC2154 # eval
	report "$1" "$pattern"
}

heading() {
	printf '%-20s %8s %9s %9s %9s  %s\n' "$1" samples "complete%" \
		"truncated%" "broken%" "reasons for broken, samples"
}

tables="python3 sqlite3 openssl xz gzip cc1 redis postgres postgres_parallel
	nginx perl rust"
others="go node java java_pointers"
if [ -n "${BENCH_PROGRAMS-}" ]; then
	heading program
	for program in $BENCH_PROGRAMS; do
		measure_program "$program"
	done
	exit 0
fi
heading "with tables"
for program in $tables; do
	measure_program "$program"
done
figure "goal" "99.5" "%" "complete or truncated, of each"
heading "without"
for program in $others; do
	measure_program "$program"
done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Detail rows that a second of CPU time stores, to the closed file: the writer
# alone on rows made up, and the whole collector on a high rate.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
rows=${BENCH_ROWS:-2000000}
title "rows: detail rows stored per CPU-second"

# store WORDS PER_INTERVAL [detail]
store() {
	words=$1
	shift
	"$WEFT_BUILD/bench/store_rows" "$dir/r.db" "$rows" "$@" >"$dir/stored"
	read -r n writing sealing closing rate <"$dir/stored"
	rm -f "$dir/r.db" "$dir/r.db.old"
	figure "$words" "$rate" 1/s \
		"$n: $writing s writing, $sealing sealing, $closing closing"
	goal "detail rows of a CPU second, $words" "$rate" 300000 \
		"$(over "$rate" 300000)" "at least 1" 1/s "the goal"
}

store "writer, 20000 an interval, no shape" 20000 detail
store "writer, 20000 an interval, with shape" 20000
store "writer, 2000 an interval, with shape" 2000

[ "$(id -u)" -eq 0 ] || exit 0
start_deep
"$stopwatch" 1 "$weft" record -q -a -F 10000 --detail 1/1 -d "$seconds" \
	-o "$dir/l.db" >"$dir/time"
stop_load
ask "$dir/l.db" "
	SELECT (SELECT count(*) FROM sample), sum(self_cpu_ns) / 1e9,
	       (SELECT count(*) FROM sample) * 1e9 / sum(self_cpu_ns)
	  FROM interval" | tr '|' '\t' >"$dir/lived"
read -r n cpu rate <"$dir/lived"
figure "collector at 10000 Hz, 1/1, in its intervals" \
	"$(printf %.0f "$rate")" 1/s "$n rows in $cpu s, sealing not in it"
figure "the same from start to end" \
	"$(awk -v n="$n" '{ printf "%.0f", n * 1e3 / $4 }' "$dir/time")" 1/s

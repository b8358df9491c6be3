#!/bin/sh
# SPDX-License-Identifier: MIT
#
# CPU time of recording a minute, ours against perf record, in turn on the same
# load. Each records twice, briefly and longer: the difference is what more
# time costs, the rest what start and end cost; a minute is worked out of both.
# perf's copying of binaries (-N) is left out: it would be in its disfavour.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
brief=$((seconds < 4 ? 1 : 2))
longer=$((seconds + brief))
title "collector: CPU time of a minute, from $brief and $longer s, depth 20"
needs_root collector
needs perf

# cpu_ms FILE COMMAND...: add what it took to a file
timed() {
	"$stopwatch" 1 "$@" >"$dir/time"
}
cpu_ms() {
	cpu_file=$1
	shift
	thrice timed "$@"
	cut -f 4 "$dir/time" >>"$cpu_file"
}

# once HZ: lines of $dir/weft_HZ and $dir/perf_HZ: brief, longer
once() {
	: >"$dir/ours"
	: >"$dir/theirs"
	for length in $brief $longer; do
		cpu_ms "$dir/ours" "$weft" record -q -a -F "$1" -d "$length" \
			-o "$dir/c.db"
	done
	ask "$dir/c.db" 'SELECT 60e3 * self_cpu_ns / (end_ns - start_ns)
		FROM interval ORDER BY 1' >"$dir/intervals"
	median "$dir/intervals" >>"$dir/inside_$1"
	for length in $brief $longer; do
		cpu_ms "$dir/theirs" perf record -q -N -g -a -e cpu-clock \
			-F "$1" -o "$dir/perf.data" -- sleep "$length"
	done
	paste -s -d ' ' "$dir/ours" >>"$dir/weft_$1"
	paste -s -d ' ' "$dir/theirs" >>"$dir/perf_$1"
}

# minutes NAME: of each pair, what a minute costs; and start and end alone
minutes() {
	awk -v a="$brief" -v b="$longer" '{ per_s = ($2 - $1) / (b - a)
		print $1 + per_s * (60 - a), $1 - per_s * a }' "$dir/$1" \
		>"$dir/both"
	cut -d ' ' -f 1 "$dir/both" >"$dir/minute_$1"
	cut -d ' ' -f 2 "$dir/both" >"$dir/ends_$1"
}

# report HZ GOAL
report() {
	minutes "weft_$1"
	minutes "perf_$1"
	figure "$1 Hz: weft record -a, a minute" \
		"$(median "$dir/minute_weft_$1")" ms \
		"$(spread "$dir/minute_weft_$1")"
	figure "  of it start and end" "$(median "$dir/ends_weft_$1")" ms \
		"$(spread "$dir/ends_weft_$1")"
	figure "  of it in 60 intervals as the median one" \
		"$(median "$dir/inside_$1")" ms "$(spread "$dir/inside_$1")"
	figure "$1 Hz: perf record -g -a, a minute" \
		"$(median "$dir/minute_perf_$1")" ms \
		"$(spread "$dir/minute_perf_$1")"
	ratio "collector CPU of a minute at $1 Hz" \
		"$(median "$dir/minute_weft_$1")" \
		"$(median "$dir/minute_perf_$1")" "$2" ms "perf record"
}

start_deep
i=0
while [ $i -lt "$pairs" ]; do
	once 997
	once 9999
	i=$((i + 1))
done
stop_load
report 997 0.5
report 9999 ""

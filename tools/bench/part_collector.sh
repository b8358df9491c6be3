#!/bin/sh
# SPDX-License-Identifier: MIT
#
# CPU time of recording, ours against perf record, in turn on the same load.
# perf's copying of binaries (-N) is left out: it would be in its disfavour.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
title "collector: CPU time to record $seconds s, depth 20"
needs_root collector
needs perf

cpu_ms() {
	"$stopwatch" 1 "$@" 2>"$dir/said" >"$dir/time" || {
		cat "$dir/said" >&2
		exit 1
	}
	cut -f 4 "$dir/time"
}

start_deep
i=0
while [ $i -lt "$pairs" ]; do
	cpu_ms "$weft" record -q -a -d "$seconds" -o "$dir/c.db" >>"$dir/weft"
	ask "$dir/c.db" 'SELECT sum(self_cpu_ns) / 1e6 FROM interval' \
		>>"$dir/intervals"
	cpu_ms perf record -q -N -g -a -e cpu-clock -F 997 -o "$dir/perf.data" \
		-- sleep "$seconds" >>"$dir/perf"
	i=$((i + 1))
done
stop_load
ours=$(median "$dir/weft")
inside=$(median "$dir/intervals")
theirs=$(median "$dir/perf")
figure "weft record -a, start to end" "$ours" ms "$(spread "$dir/weft")"
figure "  of it in its intervals, with inspectors" "$inside" ms \
	"$(spread "$dir/intervals")"
figure "perf record -g -a, start to end" "$theirs" ms "$(spread "$dir/perf")"
ratio "ratio, start to end" "$ours" "$theirs" 0.5
ratio "ratio, ours in its intervals" "$inside" "$theirs" 0.5

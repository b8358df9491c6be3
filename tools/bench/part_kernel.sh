#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kernel time of one sample, ours against bpftrace, as the kernel itself times
# programs; in turn, on a stack of depth 20 with frame pointers on every CPU.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
title "kernel: ns of a sample, depth 20, frame pointers"
needs_root kernel
needs bpftrace
bpftool=/usr/sbin/bpftool
[ -x $bpftool ] || bpftool=bpftool

stats_before=$(sysctl -n kernel.bpf_stats_enabled)
peer=
kernel_end() {
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	[ -z "$peer" ] || kill -INT "$peer" 2>/dev/null || true
	measure_end
}
trap kernel_end EXIT

run_weft() {
	quietly "$weft" record -q -a --self-cost -d "$seconds" -o "$dir/k.db"
	ask "$dir/k.db" 'SELECT round(sum(bpf_run_ns) * 1.0 / sum(bpf_run_count), 1)
		FROM interval' >>"$dir/weft"
}

programs() {
	$bpftool prog show | sed -n 's/^\([0-9]*\): perf_event .*/\1/p' | sort
}

run_bpftrace() {
	programs >"$dir/before"
	bpftrace -e 'profile:hz:997 { @[kstack, ustack, pid] = count(); }' \
		>"$dir/said" 2>&1 &
	peer=$!
	tries=100
	until programs | comm -13 "$dir/before" - >"$dir/new" && [ -s "$dir/new" ]; do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			cat "$dir/said" >&2
			exit 1
		fi
		sleep 0.1
	done
	sysctl -q kernel.bpf_stats_enabled=1
	sleep "$seconds"
	$bpftool prog show id "$(cat "$dir/new")" >"$dir/shown"
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	kill -INT $peer
	wait $peer || true
	peer=
	sed -n 's/.*run_time_ns \([0-9]*\) run_cnt \([0-9]*\).*/\1 \2/p' \
		"$dir/shown" | awk '{ printf "%.1f\n", $1 / $2 }' >>"$dir/bpftrace"
}

start_deep
i=0
while [ $i -lt "$pairs" ]; do
	run_weft
	run_bpftrace
	i=$((i + 1))
done
stop_load
ours=$(median "$dir/weft")
theirs=$(median "$dir/bpftrace")
figure "weft, counting all, detail of 1/10" "$ours" ns "$(spread "$dir/weft")"
figure "bpftrace profile:hz:997 kstack, ustack, pid" "$theirs" ns \
	"$(spread "$dir/bpftrace")"
ratio "ratio" "$ours" "$theirs" 0.2

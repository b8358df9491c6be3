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
	ask "$dir/k.db" "SELECT round(100.0 * sum(iif(p.comm = 'deep', t.count, 0))
		/ sum(t.count), 1)
		FROM stack_total t JOIN process p ON p.id = t.process_id" \
		>>"$dir/on_load"
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

# What else runs here would be sampled in place of the load. This way it hardly
# does, and what measures still does.
if [ -n "${BENCH_REALTIME-}" ]; then
	chrt -f -p 2 $$
	before_load="chrt -f 1"
fi
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
figure "  samples that were on the load" "$(median "$dir/on_load")" "%" \
	"if fewer than 95, the machine is too busy"
figure "bpftrace profile:hz:997 kstack, ustack, pid" "$theirs" ns \
	"$(spread "$dir/bpftrace")"
ratio "ratio" "$ours" "$theirs" 0.2

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kernel time of one sample, ours against bpftrace, as the kernel itself times
# programs; in turn, on stacks of known depth on every CPU, with and without
# frame pointers and unwind tables, and on programs as Debian ships them.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
# shellcheck source=tools/bench/programs.sh
. "$bench/programs.sh"
slice=$((seconds < 5 ? seconds : 5))
title "kernel: ns of a sample, $pairs times $slice s of each in turn"
needs_root kernel
needs bpftrace
bpftool=/usr/sbin/bpftool
[ -x $bpftool ] || bpftool=bpftool

stats_before=$(sysctl -n kernel.bpf_stats_enabled)
peer=
kernel_end() {
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	[ -z "$peer" ] || kill -KILL "$peer" 2>/dev/null || true
	measure_end
}
trap kernel_end EXIT

# run_weft COMM: without the first interval, in which tables may be missing.
run_weft() {
	quietly "$weft" record -q -a --self-cost -d $((slice + 1)) \
		-o "$dir/k.db"
	ask "$dir/k.db" 'SELECT round(sum(bpf_run_ns) * 1.0 / sum(bpf_run_count), 1)
		FROM interval WHERE id > (SELECT min(id) FROM interval)' \
		>>"$dir/weft"
	ask "$dir/k.db" "SELECT round(100.0 * sum(iif(p.comm = '$1', t.count, 0))
		/ sum(t.count), 1)
		FROM stack_total t JOIN process p ON p.id = t.process_id" \
		>>"$dir/on_load"
	ask "$dir/k.db" "SELECT round(sum(1.0 * t.count * s.depth) / sum(t.count), 1)
		FROM stack_total t JOIN stack s ON s.id = t.stack_id
		JOIN process p ON p.id = t.process_id WHERE p.comm = '$1'" \
		>>"$dir/frames"
}

# What is seen of it is thrown away: naming all of it takes longer than that.
run_bpftrace() {
	bpftrace -e 'profile:hz:997 { @[kstack, ustack, pid] = count(); }' \
		>"$dir/said" 2>&1 &
	peer=$!
	tries=100
	until cat "/proc/$peer/fdinfo"/* 2>/dev/null |
		sed -n 's/^prog_id:[^0-9]*//p' | sort -u >"$dir/id" &&
		[ -s "$dir/id" ]
	do
		tries=$((tries - 1))
		if [ $tries -eq 0 ]; then
			cat "$dir/said" >&2
			exit 1
		fi
		sleep 0.1
	done
	sysctl -q kernel.bpf_stats_enabled=1
	sleep "$slice"
	$bpftool prog show id "$(cat "$dir/id")" >"$dir/shown"
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	kill -KILL $peer
	wait $peer 2>/dev/null || true
	peer=
	sed -n 's/.*run_time_ns \([0-9]*\) run_cnt \([0-9]*\).*/\1 \2/p' \
		"$dir/shown" | awk '{ printf "%.1f\n", $1 / $2 }' >>"$dir/bpftrace"
}

# compare WORDS COMM YARDSTICK GOAL START...: what the load that START starts
# costs; YARDSTICK is what bpftrace costs on another load, or empty.
compare() {
	words=$1
	comm=$2
	yardstick=$3
	goal=$4
	shift 4
	rm -f "$dir/weft" "$dir/bpftrace" "$dir/on_load" "$dir/frames"
	"$@"
	sleep 1
	i=0
	while [ $i -lt "$pairs" ]; do
		run_weft "$comm"
		run_bpftrace
		i=$((i + 1))
	done
	stop_load
	ours=$(median "$dir/weft")
	theirs=$(median "$dir/bpftrace")
	: "${yardstick:=$theirs}"
	printf '%-34s %6s %8s %-18s %8s %-18s %6.3f %5s %5s\n' "$words" \
		"$(median "$dir/frames")" "$ours" "$(spread "$dir/weft")" \
		"$theirs" "$(spread "$dir/bpftrace")" \
		"$(awk "BEGIN { print $ours / $yardstick }")" "$goal" \
		"$(median "$dir/on_load")"
}

# on_all COMMAND...: on every CPU
on_all() {
	for cpu in $(cpus); do
		start_on "$cpu" "$@"
	done
}

# What else runs here would be sampled in place of the load. This way it hardly
# does, and what measures still does.
if [ -n "${BENCH_REALTIME-}" ]; then
	chrt -f -p 2 $$
	before_load="chrt -f 1"
fi
printf '%-34s %6s %8s %-18s %8s %-18s %6s %5s %5s\n' load frames weft range \
	bpftrace range ratio goal 'on it'
for depth in 5 20 60; do
	[ $depth = 20 ] && goal=0.2 || goal=
	compare "depth $depth, frame pointers" deep_pointers "" "$goal" \
		on_all "$load/deep_pointers" $depth 3600
	pointers=$theirs
	compare "depth $depth, frame pointers and table" deep "" "" \
		on_all "$load/deep" $depth 3600
	[ $depth = 20 ] && goal=0.333 || goal=
	compare "depth $depth, table *" deep_tables "$pointers" "$goal" \
		on_all "$load/deep_tables" $depth 3600
done
compare "python3" python3 "" 0.5 start_python3
compare "cc1 -O3" cc1 "" 0.5 start_cc1
echo "* against what bpftrace costs with frame pointers: without them it sees" \
	"a frame or two"
echo "on it: % of samples that were on the load; if fewer than 95, the machine" \
	"is too busy"

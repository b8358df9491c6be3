#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kernel time of one sample, ours against bpftrace, as the kernel itself times
# programs; both at once, on stacks of known depth on every CPU, with and
# without frame pointers and unwind tables, and on programs as Debian ships
# them. Both count stacks, no more. A program that does nothing is timed at the
# same time: what the statistics themselves cost is in the figures of both, and
# taken off both in the ratios. The recorders start once for a round of loads,
# which take turns.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
# shellcheck source=tools/bench/programs.sh
. "$bench/programs.sh"
title "kernel: ns of a sample at 997 Hz, each load $pairs times for $slice s"
needs_root kernel
needs bpftrace
# shellcheck source=tools/bench/recorders.sh
. "$bench/recorders.sh"
sysctl -q kernel.bpf_stats_enabled=1
hz=997

boot_ns() {
	awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime
}

# measure NAME COMM START...: one load. A line of $dir/of_NAME for each time:
# ours, theirs, a program's that does nothing; its time to $dir/when. In the
# first second tables may be missing; files of programs are new each time.
measure() {
	name=$1
	comm=$2
	shift 2
	"$@"
	sleep 1
	ours=$(cost "$our_pid")
	theirs=$(cost "$their_pid")
	from=$(boot_ns)
	floor=$("$WEFT_BUILD/bench/empty_program" "$slice")
	until=$(boot_ns)
	echo "$(of_slice "$ours" "$(cost "$our_pid")")" \
		"$(of_slice "$theirs" "$(cost "$their_pid")")" "$floor" \
		>>"$dir/of_$name"
	stop_load
	echo "$name $comm $from $until" >>"$dir/when"
}

# How much of what was sampled was the load, and how deep its stacks were.
look_at_loads() {
	while read -r name comm from until; do
		ask "$dir/k.db" "
			SELECT round(100.0 * sum(iif(p.comm = '$comm', c.count, 0))
				/ sum(c.count), 1),
			  round(sum(iif(p.comm = '$comm', 1.0 * c.count * s.depth, 0))
				/ sum(iif(p.comm = '$comm', c.count, 0)), 1)
			FROM stack_count c
			JOIN interval i ON i.id = c.interval_id
			JOIN stack s ON s.id = c.stack_id
			JOIN process p ON p.id = c.process_id
			WHERE i.start_ns >= $from AND i.end_ns <= $until" |
			tr '|' ' ' >>"$dir/on_$name"
	done <"$dir/when"
}

# row WORDS NAME YARDSTICK GOAL [GOAL_WORDS]: YARDSTICK is the load whose cost to
# bpftrace ours is a part of.
row() {
	cut -d ' ' -f 1 "$dir/of_$2" >"$dir/weft"
	cut -d ' ' -f 2 "$dir/of_$3" >"$dir/yardstick"
	cut -d ' ' -f 2 "$dir/of_$2" >"$dir/bpftrace"
	cut -d ' ' -f 1 "$dir/on_$2" >"$dir/on_load"
	cut -d ' ' -f 2 "$dir/on_$2" >"$dir/frames"
	paste -d ' ' "$dir/of_$2" "$dir/of_$3" |
		awk '{ printf "%.3f\n", ($1 - $3) / ($5 - $6) }' >"$dir/ratio"
	printf '%-32s %6s %8s %-17s %8s %-17s %6s %-14s %5s %5s\n' "$1" \
		"$(median "$dir/frames")" \
		"$(median "$dir/weft")" "$(spread "$dir/weft")" \
		"$(median "$dir/bpftrace")" "$(spread "$dir/bpftrace")" \
		"$(median "$dir/ratio")" "$(spread "$dir/ratio")" \
		"$4" "$(median "$dir/on_load")"
	note goal "kernel time of a sample, $1" "$(median "$dir/weft")" \
		"$(median "$dir/yardstick")" "$(median "$dir/ratio")" "$4" ns \
		bpftrace "$(median "$dir/on_load") % of samples on it"
}

depths=${BENCH_SMOKE:+20}
depths=${depths:-5 20 60}
i=0
while [ $i -lt "$pairs" ]; do
	rm -f "$dir/k.db"* "$dir/when"
	# shellcheck disable=SC2046
	start_recorder bpftrace bpftrace -e "$(bpftrace_text)"
	their_pid=$recorder
	# shellcheck disable=SC2046
	start_recorder weft $(weft_command) --detail off --interval 0.5 \
		-o "$dir/k.db"
	our_pid=$recorder
	for depth in $depths; do
		for kind in deep_pointers deep deep_tables; do
			measure "$kind$depth" $kind \
				on_all "$load/$kind" "$depth" 3600
		done
	done
	measure python3 python3 start_python3
	measure cc1 cc1 start_cc1
	# What bpftrace has seen is thrown away: naming it takes long.
	kill -KILL "$their_pid"
	stop_recorders INT
	look_at_loads
	i=$((i + 1))
done

printf '%-32s %6s %8s %-17s %8s %-17s %6s %-14s %5s %5s\n' load frames weft \
	range bpftrace range ratio range goal 'on it'
for depth in $depths; do
	at_20() {
		[ "$depth" != 20 ] || echo "$1"
	}
	row "depth $depth, frame pointers" "deep_pointers$depth" \
		"deep_pointers$depth" "$(at_20 0.2)"
	row "depth $depth, pointers and table" "deep$depth" "deep$depth" ""
	row "depth $depth, table *" "deep_tables$depth" "deep_pointers$depth" \
		"$(at_20 0.333)"
done
row "python3" python3 python3 0.5
row "cc1 -O3" cc1 cc1 0.5
cut -d ' ' -f 3 "$dir"/of_* >"$dir/floor"
figure "of it the statistics; ratios are without" "$(median "$dir/floor")" ns \
	"$(spread "$dir/floor")"
echo "* against what bpftrace costs with frame pointers; without them it sees a" \
	"frame or two"
echo "on it: % of samples that were on the load; if fewer than 95, the machine" \
	"is too busy"

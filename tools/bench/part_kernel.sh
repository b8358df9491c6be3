#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kernel time of one sample, ours against bpftrace, as the kernel itself times
# programs; both at once, on stacks of known depth on every CPU, with and
# without frame pointers and unwind tables, and on programs as Debian ships
# them. Both count stacks, no more; one row has our detail, too. A program that
# does nothing is timed at the same time: what the statistics themselves cost
# is in the figures of both, and taken off both in the ratios.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
# shellcheck source=tools/bench/programs.sh
. "$bench/programs.sh"
slice=$((seconds < 5 ? seconds : 5))
title "kernel: ns of a sample, each load $pairs times for $slice s"
needs_root kernel
# shellcheck source=tools/bench/kernel_time.sh
. "$bench/kernel_time.sh"

peer=
stop_peer() {
	[ -n "$peer" ] || return 0
	kill -KILL "$peer" 2>/dev/null || true
	wait "$peer" 2>/dev/null || true
	peer=
}
kernel_end() {
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	stop_peer
	measure_end
}
trap kernel_end EXIT
sysctl -q kernel.bpf_stats_enabled=0

start_bpftrace() {
	bpftrace -e 'profile:hz:997 { @[kstack, ustack, pid] = count(); }' \
		>"$dir/said" 2>&1 &
	peer=$!
	wait_programs $peer '.*' "$dir/id"
}

# The kernel times programs for as long as weft asks it to, so the two are of
# the same time, but for the first interval, in which tables may be missing. What
# bpftrace has seen is thrown away: naming all of it takes longer than that.
measure_both() {
	start_bpftrace
	rm -f "$dir/k.db"*
	"$weft" record -q -a --self-cost --detail "$detail" -d $((slice + 1)) \
		-o "$dir/k.db" 2>"$dir/said" &
	recorder=$!
	until before=$(ask "$dir/k.db" 'SELECT max(id) FROM interval' 2>/dev/null) &&
		[ -n "$before" ]
	do
		kill -0 $recorder 2>/dev/null || {
			cat "$dir/said" >&2
			exit 1
		}
		sleep 0.2
	done
	cost "$dir/id" >"$dir/cost"
	"$WEFT_BUILD/bench/empty_program" $slice >"$dir/floor"
	wait $recorder
	cost "$dir/id" >>"$dir/cost"
	stop_peer
	ask "$dir/k.db" "
		SELECT round((SELECT sum(bpf_run_ns) * 1.0 / sum(bpf_run_count)
			FROM interval WHERE id > $before), 1),
		  round(100.0 * sum(iif(p.comm = '$comm', t.count, 0))
			/ sum(t.count), 1),
		  round(sum(iif(p.comm = '$comm', 1.0 * t.count * s.depth, 0))
			/ sum(iif(p.comm = '$comm', t.count, 0)), 1)
		FROM stack_total t JOIN stack s ON s.id = t.stack_id
		JOIN process p ON p.id = t.process_id" | tr '|\n' '  '
	awk 'NR == 1 { ns = $1; n = $2 }
		END { printf "%.1f ", ($1 - ns) / ($2 - n) }' "$dir/cost"
	cat "$dir/floor"
}

# measure NAME COMM START...: one load; a line of $dir/of_NAME for each time:
# ours, % of samples on the load, frames, theirs, a program's that does nothing
measure() {
	name=$1
	comm=$2
	shift 2
	"$@"
	sleep 1
	measure_both >>"$dir/of_$name"
	stop_load
}

# row WORDS NAME YARDSTICK GOAL: YARDSTICK is the load whose cost to bpftrace
# ours is a part of.
row() {
	cut -d ' ' -f 1 "$dir/of_$2" >"$dir/weft"
	cut -d ' ' -f 2 "$dir/of_$2" >"$dir/on_load"
	cut -d ' ' -f 3 "$dir/of_$2" >"$dir/frames"
	cut -d ' ' -f 4 "$dir/of_$2" >"$dir/bpftrace"
	paste -d ' ' "$dir/of_$2" "$dir/of_$3" |
		awk '{ printf "%.3f\n", ($1 - $5) / ($9 - $10) }' >"$dir/ratio"
	printf '%-32s %6s %8s %-17s %8s %-17s %6s %-14s %5s %5s\n' "$1" \
		"$(median "$dir/frames")" \
		"$(median "$dir/weft")" "$(spread "$dir/weft")" \
		"$(median "$dir/bpftrace")" "$(spread "$dir/bpftrace")" \
		"$(median "$dir/ratio")" "$(spread "$dir/ratio")" \
		"$4" "$(median "$dir/on_load")"
}

# on_all COMMAND...: on every CPU
on_all() {
	for cpu in $(cpus); do
		start_on "$cpu" "$@"
	done
}

# What else runs here would be sampled in place of the load. This way it hardly
# runs. (Under a real-time policy the inspectors would hardly run, either.)
if [ -n "${BENCH_ALONE-}" ]; then
	renice -n -20 -p $$ >/dev/null
	put_first $$
fi
depths="5 20 60"
detail=off
i=0
while [ $i -lt "$pairs" ]; do
	for depth in $depths; do
		for kind in deep_pointers deep deep_tables; do
			measure "$kind$depth" $kind \
				on_all "$load/$kind" "$depth" 3600
		done
	done
	detail=1/10
	measure detail deep_pointers on_all "$load/deep_pointers" 20 3600
	detail=off
	measure python3 python3 start_python3
	measure cc1 cc1 start_cc1
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
row "depth 20, pointers, detail 1/10" detail detail ""
row "python3" python3 python3 0.5
row "cc1 -O3" cc1 cc1 0.5
cut -d ' ' -f 5 "$dir"/of_* >"$dir/floor"
echo "$(median "$dir/floor") ns ($(spread "$dir/floor")) are the statistics';" \
	"ratios are without"
echo "* against what bpftrace costs with frame pointers; without them it sees a" \
	"frame or two"
echo "on it: % of samples that were on the load; if fewer than 95, the machine" \
	"is too busy"

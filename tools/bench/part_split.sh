#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the kernel time of a sample buys: recorders that leave parts out, all at
# once on the same load of depth 20, with bpftrace beside them. The statistics'
# own cost is taken off all figures.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
title "split: what a sample buys, ns at 997 Hz, $pairs times for $slice s"
needs_root split
needs bpftrace
# shellcheck source=tools/bench/recorders.sh
. "$bench/recorders.sh"
sysctl -q kernel.bpf_stats_enabled=1
hz=997

# start_ours NAME OPTION...
start_ours() {
	ours=$1
	shift
	# shellcheck disable=SC2046
	start_recorder "$ours" $(weft_command) "$@" -o "$dir/$ours.db"
	eval "pid_$ours=$recorder"
}

kinds="kernel user both tenth all bpftrace"
# measure NAME COMMAND...: a line of $dir/KIND_NAME each time
measure() {
	name=$1
	shift
	on_all "$@"
	# Time to find a process's context, and tables of files never seen.
	sleep 2
	for kind in $kinds; do
		eval "cost \$pid_$kind" >"$dir/before_$kind"
	done
	floor=$("$WEFT_BUILD/bench/empty_program" "$slice")
	for kind in $kinds; do
		of_slice "$(cat "$dir/before_$kind")" \
			"$(eval "cost \$pid_$kind")" |
			awk -v floor="$floor" '{ printf "%.1f\n", $1 - floor }' \
				>>"$dir/${kind}_$name"
	done
	echo "$floor" >>"$dir/floor"
	stop_load
}

i=0
while [ $i -lt "$pairs" ]; do
	rm -f "$dir"/*.db*
	start_recorder bpftrace bpftrace -e "$(bpftrace_text)"
	pid_bpftrace=$recorder
	start_ours kernel -K --detail off
	start_ours user -U --detail off
	start_ours both --detail off
	start_ours tenth --detail 1/10
	start_ours all --detail 1/1
	measure pointers "$load/deep_pointers" 20 3600
	measure tables "$load/deep_tables" 20 3600
	measure plain "$load/work" 20 3600
	measure traced "$load/work" 20 3600 traced
	kill -KILL "$pid_bpftrace"
	stop_recorders INT
	i=$((i + 1))
done

of() {
	median "$dir/$1_$2"
}
# less WORDS KIND LOAD KIND LOAD: what the first costs more, run by run
less() {
	paste "$dir/$2_$3" "$dir/$4_$5" | awk '{ print $1 - $2 }' >"$dir/less"
	figure "$1" "$(median "$dir/less")" ns "$(spread "$dir/less")"
}
figure "statistics, taken off below" "$(median "$dir/floor")" ns \
	"$(spread "$dir/floor")"
figure "count: all but user stacks and detail" "$(of kernel pointers)" ns \
	"$(spread "$dir/kernel_pointers")"
less "walk, 20 user frames by frame pointers" both pointers kernel pointers
less "walk, 20 user frames by tables" both tables kernel tables
less "kernel stack of a sample in user mode" both pointers user pointers
less "detail, of a sample that is sent" all plain both plain
less "context of a sample that is sent" all traced all plain
figure "all, frame pointers, no detail" "$(of both pointers)" ns \
	"$(spread "$dir/both_pointers")"
figure "all, frame pointers, detail 1/10" "$(of tenth pointers)" ns \
	"$(spread "$dir/tenth_pointers")"
figure "all, traced, every sample in detail" "$(of all traced)" ns \
	"$(spread "$dir/all_traced")"
figure "bpftrace, frame pointers" "$(of bpftrace pointers)" ns \
	"$(spread "$dir/bpftrace_pointers")"
ratio "all with detail 1/10, of bpftrace" "$(of tenth pointers)" \
	"$(of bpftrace pointers)" "" ns bpftrace

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What one event that is measured costs, ours against bpftrace, in two ways:
#
#   program  the time of the kernel programs alone, as the kernel itself times
#            them; both tools at once, on the same events. Ours of system calls
#            runs at all of them and looks at those that are asked for: its time
#            is all of that, by the number of those
#   whole    what the measured program pays: its CPU time with the measure
#            beyond that without, by the number of its events; in turns. The
#            ways into programs differ too, and are in it
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
slice=$((seconds < 5 ? seconds : 5))
title "measures: ns of an event, each $pairs times for $slice s"
needs_root measures
# shellcheck source=tools/bench/kernel_time.sh
. "$(dirname "$0")/kernel_time.sh"

running=
stop_running() {
	for pid in $running; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	running=
}
measures_end() {
	sysctl -q "kernel.bpf_stats_enabled=$stats_before"
	stop_running
	measure_end
}
trap measures_end EXIT
sysctl -q kernel.bpf_stats_enabled=1

start_ours() {
	"$weft" record -q -a --no-samples -d 3600 -o "$dir/m.db" \
		--measure "$1" >"$dir/said" 2>&1 &
	running="$running $!"
	wait_programs $! 'on_(sys_enter|sys_exit|entry|return|raw|tracepoint)' \
		"$dir/our_ids"
}

start_theirs() {
	# It needs tracefs where it looks for it; a mount that only it sees.
	# shellcheck disable=SC2016 # of the inner shell
	unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing
		mount -t debugfs none /sys/kernel/debug
		exec bpftrace -e "$0"' "$1" >"$dir/said" 2>&1 &
	running="$running $!"
	wait_programs $! '.*' "$dir/their_ids"
}

# both NAME OURS THEIRS: a line of $dir/of_NAME: ns of ours, ns of theirs. Of two
# programs at one event the first finds the caches cold: they take turns.
both() {
	if [ $((i % 2)) -eq 0 ]; then
		start_ours "$2"
		start_theirs "$3"
	else
		start_theirs "$3"
		start_ours "$2"
	fi
	sleep 1
	{ cost "$dir/our_ids"; cost "$dir/their_ids"; } >"$dir/before"
	sleep "$slice"
	{ cost "$dir/our_ids"; cost "$dir/their_ids"; } >"$dir/after"
	stop_running
	rm -f "$dir"/m.db*
	# The events are those at which theirs ran.
	cat "$dir/before" "$dir/after" | awk '{ ns[NR] = $1; n[NR] = $2 }
		END { events = n[4] - n[2]
			if (events < 1) exit 1
			printf "%.1f %.1f\n", (ns[3] - ns[1]) / events,
				(ns[4] - ns[2]) / events }' >>"$dir/of_$1" || {
		echo "measures: no event of $1" >&2
		exit 1
	}
}

# cpu_ns EVENTS COMMAND...: CPU time of an event
cpu_ns() {
	events=$1
	shift
	"$stopwatch" 1 taskset -c 0 "$@" |
		awk -v n="$events" '{ printf "%.1f\n", $4 * 1e6 / n }'
}

# whole NAME OURS THEIRS EVENTS COMMAND...: a line of $dir/whole_NAME: what an
# event costs beyond nothing with ours, with theirs
whole() {
	name=$1
	ours=$2
	theirs=$3
	shift 3
	without=$(cpu_ns "$@")
	start_ours "$ours"
	with_ours=$(cpu_ns "$@")
	stop_running
	rm -f "$dir"/m.db*
	start_theirs "$theirs"
	with_theirs=$(cpu_ns "$@")
	stop_running
	echo "$without $with_ours $with_theirs" |
		awk '{ print $2 - $1, $3 - $1 }' >>"$dir/whole_$name"
}

# row WORDS FILE [GOAL]
row() {
	cut -d ' ' -f 1 "$dir/$2" >"$dir/weft"
	cut -d ' ' -f 2 "$dir/$2" >"$dir/bpftrace"
	figure "$1: weft" "$(median "$dir/weft")" ns "$(spread "$dir/weft")"
	figure "$1: bpftrace" "$(median "$dir/bpftrace")" ns \
		"$(spread "$dir/bpftrace")"
	ratio "$1: ratio" "$(median "$dir/weft")" "$(median "$dir/bpftrace")" \
		"${3-}" ns bpftrace
}

# Bytes one by one from a program to another: reads, writes, switches.
start_reads() {
	start_on "0-$(($(nproc) - 1))" sh -c \
		'dd if=/dev/zero bs=1 | dd of=/dev/null bs=1'
}
calls=$load/calls
reads='tracepoint:syscalls:sys_enter_read'
switches='tracepoint:sched:sched_switch'
i=0
while [ $i -lt "$pairs" ]; do
	start_reads
	both read "hist(args.count) by comm @ $reads" \
		"$reads { @[comm] = hist(args->count); }"
	both switch "count() @ $switches" "$switches { @ = count(); }"
	stop_load
	start_on 0 "$calls" plain 1 2000000000
	both uprobe "count() @ uprobe:$calls:measured" \
		"uprobe:$calls:measured { @ = count(); }"
	stop_load
	whole read "hist(args.count) by comm @ $reads" \
		"$reads { @[comm] = hist(args->count); }" \
		1000000 dd if=/dev/zero of=/dev/null bs=1 count=1000000
	whole uprobe "count() @ uprobe:$calls:measured" \
		"uprobe:$calls:measured { @ = count(); }" \
		200000 "$calls" plain 1 200000
	i=$((i + 1))
done
row "hist by comm on sys_enter_read, whole" whole_read 1
row "count on a uprobe, whole" whole_uprobe 1
row "hist by comm on sys_enter_read, program" of_read
row "count on a uprobe, program" of_uprobe
row "count on sched_switch, program" of_switch

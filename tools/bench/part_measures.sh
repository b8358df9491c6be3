#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Kernel time of one event that is measured, ours against bpftrace, as the
# kernel itself times programs; both at once, on the same events. Ours of system
# calls runs at all of them and looks at those that are asked for: its time is
# all of that, by the number of those.
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

# row WORDS NAME
row() {
	cut -d ' ' -f 1 "$dir/of_$2" >"$dir/weft"
	cut -d ' ' -f 2 "$dir/of_$2" >"$dir/bpftrace"
	figure "$1: weft" "$(median "$dir/weft")" ns "$(spread "$dir/weft")"
	figure "$1: bpftrace" "$(median "$dir/bpftrace")" ns \
		"$(spread "$dir/bpftrace")"
	ratio "  ratio" "$(median "$dir/weft")" "$(median "$dir/bpftrace")" 1
}

# Bytes one by one from a program to another: reads, writes, switches.
start_reads() {
	start_on "0-$(($(nproc) - 1))" sh -c \
		'dd if=/dev/zero bs=1 | dd of=/dev/null bs=1'
}
calls=$load/calls
i=0
while [ $i -lt "$pairs" ]; do
	start_reads
	both read 'hist(args.count) by comm @ tracepoint:syscalls:sys_enter_read' \
		'tracepoint:syscalls:sys_enter_read { @[comm] = hist(args->count); }'
	both switch 'count() @ tracepoint:sched:sched_switch' \
		'tracepoint:sched:sched_switch { @ = count(); }'
	stop_load
	start_on 0 "$calls" plain 1 2000000000
	both uprobe "count() @ uprobe:$calls:measured" \
		"uprobe:$calls:measured { @ = count(); }"
	stop_load
	i=$((i + 1))
done
row "hist by comm on sys_enter_read" read
row "count on a uprobe" uprobe
row "count on sched_switch" switch

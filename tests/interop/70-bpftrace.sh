#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures are equal to what bpftrace counts at the same time, buckets included:
# calls of known number from two threads, across many intervals, and the system
# calls of a program. MEASURE_CALLS: how many calls of each thread.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
command -v bpftrace >/dev/null || live_skip "needs bpftrace"

calls="$load/calls"
n=${MEASURE_CALLS:-250000}

# both FILE SCRIPT MEASURE... -- COMMAND...: bpftrace and weft over one run;
# into FILE.bt (JSON lines) and FILE.json
both_watch() {
	file=$1
	script=$2
	shift 2
	# It needs tracefs where it looks for it; a mount that only it sees.
	# shellcheck disable=SC2016 # it is for the inner shell
	background unshare -m sh -c 'mount -t tracefs none /sys/kernel/tracing
		mount -t debugfs none /sys/kernel/debug
		exec bpftrace -f json -e "$1"' sh "$script" >"$file.bt" 2>&1
	tracer=$!
	wait_for 60 grep -q attached_probes "$file.bt" || say <"$file.bt"
	sleep 1
	"$weft" measure --json -o "$file.db" "$@" >"$file.json" 2>"$file.log" ||
		say <"$file.log"
	kill "$tracer"
	wait "$tracer" || true
}

both_watch "$dir/calls" "
	uprobe:$calls:measured {
		@n[tid] = count(); @sum = sum(arg0); @avg = avg(arg0);
		@min = min(arg0); @max = max(arg0); @powers = hist(arg0);
		@steps = lhist(arg0, 0, 1000000, 100000) }
	uretprobe:$calls:measured { @returns = hist((int32)retval) }" \
	"n = count() by tid @ uprobe:$calls:measured" \
	"all = stats(arg0) @ uprobe:$calls:measured" \
	"powers = hist(arg0) @ uprobe:$calls:measured" \
	"steps = lhist(arg0, 0, 1000000, 100000) @ uprobe:$calls:measured" \
	"returns = hist((int)retval) @ uretprobe:$calls:measured" \
	-- "$calls" plain 2 "$n"
both_watch "$dir/reads" '
	tracepoint:raw_syscalls:sys_enter /comm == "calls"/ {
		@calls[comm] = count() }
	tracepoint:syscalls:sys_enter_read /comm == "calls"/ {
		@sizes = hist(args->count) }
	tracepoint:syscalls:sys_exit_read /args->ret > 0 && comm == "calls"/ {
		@bytes[comm] = sum(args->ret) }' \
	'calls = count() by comm @ tracepoint:raw_syscalls:sys_enter
		if comm == "calls"' \
	'sizes = hist(args.count) @ tracepoint:syscalls:sys_enter_read
		if comm == "calls"' \
	'bytes = sum(args.ret) by comm @ tracepoint:syscalls:sys_exit_read
		if args.ret > 0 and comm == "calls"' \
	-- "$calls" reads 5000
python3 "$tests/interop/compare-measures.py" "$dir/calls" "$n" >"$dir/figures"
python3 "$tests/interop/compare-measures.py" "$dir/reads" >>"$dir/figures"
say <"$dir/figures"
check "all 15 figures and histograms are equal" \
	"$(both "$(is "$(grep -c '^same' "$dir/figures")" = 15)" \
		"$(is "$(grep -c '^DIFFERENT' "$dir/figures")" = 0)")"
check "over several intervals" \
	"$(is "$(sql "$dir/calls.db" "SELECT count(*) FROM interval")" -gt 3)"
live_done

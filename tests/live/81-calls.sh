#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Calls are exact: of two threads that call a function as fast as they can,
# every call is counted, of which a random part has its stack taken; so with a
# probe that is built in, whose semaphore is set meanwhile. CALLS: how many.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
calls=${CALLS:-40000}

"$weft" record -q -e "uprobe:$load/called:counted_call,stacks=1/100,name=call" \
	-e "usdt:$load/called:weft:call,stacks=1/50,name=probe" \
	-o "$dir/calls.db" -- "$load/called" "$calls" >"$dir/truth" \
	2>"$dir/log" || say <"$dir/log"
read -r called passed <"$dir/truth"
check_ledger "$dir/calls.db"
check "the probe's semaphore was set in each call" \
	"$(is "$passed" = "$called")"
for event in call probe; do
	n=$(sql "$dir/calls.db" "SELECT sum(t.count) FROM stack_total t
		JOIN event e ON e.id = t.event_id WHERE e.name = '$event'")
	# Calls of others in the same file are filtered.
	fired=$(sql "$dir/calls.db" "SELECT sum(iif(l.entry = 'fired', 1, -1) *
		l.count) FROM ledger l JOIN event e ON e.id = l.event_id
		WHERE e.name = '$event' AND l.entry IN ('fired', 'filtered')")
	echo "$event: $n counted, $fired fired, of $called" | say
	check "$event: every call of two threads was counted" \
		"$(both "$(is "$n" = "$called")" "$(is "$fired" = "$called")")"
done
taken=$(sql "$dir/calls.db" "SELECT sum(t.count) FROM stack_total t
	JOIN event e ON e.id = t.event_id JOIN stack s ON s.id = t.stack_id
	WHERE e.name = 'call' AND s.status <> 'not_taken'")
echo "$taken stacks were taken" | say
# Six standard deviations: 1 of 500 million runs fails by chance.
check "about one call in 100 has its stack taken" \
	"$(awk "BEGIN { e = $calls / 100; d = $taken - e;
		print (d * d < 36 * e) }")"
check "the others read [stack not taken]" \
	"$(is "$(sql "$dir/calls.db" "SELECT count(DISTINCT folded)
		FROM hot_stacks WHERE folded = '[stack not taken]'")" = 1)"
check "stacks begin with the function that was called" \
	"$(is "$(sql "$dir/calls.db" "SELECT count(*) > 0 AND
		total(leaf <> 'counted_call') = 0 FROM samples
		WHERE stack_status <> 'not_taken'")" = 1)"
check "detail weighs what both choices make of it" \
	"$(is "$(sql "$dir/calls.db" "SELECT count(*) > 0 AND
		total(abs(weight - 1000) > 1) = 0 FROM samples
		WHERE event = 'call'")" = 1)"

# While the maps are drained twenty times a second: no call is lost, none counted
# twice. Of 40 depths each is a stack, until the tables are there also cut ones.
"$weft" record -q -e "uprobe:$load/calls:nested" --interval 0.05 \
	-o "$dir/drained.db" -- "$load/calls" nested 4000 40 2>"$dir/log" ||
	say <"$dir/log"
check_ledger "$dir/drained.db"
same "drained: 40 times 4000 calls, over many intervals" "$dir/drained.db" \
	"SELECT sum(n), count(*) >= 40, max(n) FILTER
	(WHERE status = 'complete') <= 4000, (SELECT
	count(DISTINCT interval_id) > 3 FROM stack_count) FROM
	(SELECT s.status, sum(count) AS n FROM stack_total
	JOIN stack s ON s.id = stack_id GROUP BY s.id)" "160000|1|1|1"

# The timer's program interrupts the calls' in the middle of an update of the
# table that both count in, on both CPUs: the kernel leaves out what would come
# in between, and says how often; nothing else is lost.
"$weft" record -q -F 9999 -e cpu-clock \
	-e "uprobe:$load/called:counted_call,name=call" --interval 0.2 \
	-o "$dir/both.db" -- "$load/called" "$calls" >/dev/null 2>"$dir/log" ||
	say <"$dir/log"
check_ledger "$dir/both.db"
same "counted beside a timer of 9,999 Hz: every call is due, and has an end" \
	"$dir/both.db" "SELECT
	(SELECT count FROM ledger_total WHERE event = 'call' AND entry = 'due'),
	(SELECT sum(count) FROM ledger_total WHERE event = 'call'
		AND entry IN ('counted', 'not_run', 'lost_busy'))" "$calls|$calls"
check "counted beside the calls: the timer has samples on their CPUs" \
	"$(is "$(sql "$dir/both.db" "SELECT count FROM ledger_total
		WHERE event = 'cpu-clock' AND entry = 'counted'")" -gt 0)"

# Called through wait_for.
# shellcheck disable=SC2317
has_interval() {
	[ "$(sql "$db" "SELECT count(*) FROM interval")" -gt 0 ]
}

# in_ring NAME EVENT COMMAND...: how many details of its calls a ring of 1 MiB
# holds while the recorder stands still
in_ring() {
	db="$dir/$1.db"
	background "$weft" record -q -a -e "$2" --detail 1/1 --ring-size 1M \
		--interval 0.2 -o "$db" 2>/dev/null
	recorder=$!
	shift 2
	wait_for 60 has_interval
	kill -STOP "$recorder"
	"$@" >/dev/null
	kill -CONT "$recorder"
	kill -INT "$recorder"
	wait "$recorder" || true
	[ "$(entry "$db" lost_ring_full)" -gt 0 ] || echo "the ring was not full" | say
	held=$(entry "$db" stored)
}
in_ring shallow "uprobe:$load/called:counted_call" "$load/called" 20000
shallow=$held
in_ring deep "uprobe:$load/calls:nested" "$load/calls" nested 400 50
echo "1 MiB of details: $shallow of shallow stacks, $held of deep ones" | say
check "a detail takes no more room for a deep stack than for a shallow one" \
	"$(both "$(is "$held" -gt 4000)" "$(is "$held" -ge $((shallow * 9 / 10)))")"

# A counter of the kernel's, and a tracepoint: due by the kernel's own count.
"$weft" record -q -e page-faults -e tracepoint:sched:sched_process_exec \
	-o "$dir/more.db" -- sh -c 'for i in 1 2 3 4 5; do /bin/true; done' \
	2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/more.db"
check "more: each exec of a program was counted" \
	"$(is "$(sql "$dir/more.db" "SELECT sum(t.count) >= 5 FROM stack_total t
		JOIN event e ON e.id = t.event_id
		WHERE e.name LIKE 'tracepoint:%'")" = 1)"
check "more: page faults have samples" \
	"$(is "$(sql "$dir/more.db" "SELECT sum(t.count) > 0 FROM stack_total t
		JOIN event e ON e.id = t.event_id
		WHERE e.name = 'page-faults'")" = 1)"

# A name without a slash is a file here, not a program of $PATH.
mkdir "$dir/bin"
cp "$load/called" "$dir/bin/true"
(cd "$dir/bin" && "$weft" record -q -e uprobe:true:counted_call \
	-o "$dir/here.db" -- sleep 0.1) >"$dir/log" 2>&1 && rc=0 || rc=$?
say <"$dir/log"
check "a file of this directory is probed" "$(is "$rc" = 0)"

# refused PATTERN EVENT: with that message, and nothing is recorded
refused() {
	rc=0
	"$weft" record -e "$2" -d 1 -o "$dir/refused.db" 2>"$dir/log" || rc=$?
	say <"$dir/log"
	check "refused: $2" "$(both "$(is $rc -gt 0)" \
		"$(grep -c "$1" "$dir/log" | sed 's/^[2-9].*/1/')")"
}
refused "has no function 'counted_cal'; did you mean 'counted_call'" \
	"uprobe:$load/called:counted_cal"
refused "has no USDT probe 'weft:cal'; did you mean 'weft:call'" \
	"usdt:$load/called:weft:cal"
refused "has no tracepoint 'sched:sched_swich'; did you mean" \
	tracepoint:sched:sched_swich
refused "is no ELF file" "uprobe:$0:main"
refused "cannot probe the instruction at" "uprobe:$load/calls:locked_first"
refused "cannot probe the instruction at" "uretprobe:$load/calls:locked_first"
refused "cannot read '/nowhere'" uprobe:/nowhere:main
[ -e /sys/bus/event_source/devices/cpu ] ||
	refused "no hardware counter for 'cycles'.*-e cpu-clock" cycles
[ -e /sys/bus/event_source/devices/kprobe ] ||
	refused "this kernel has no kprobes" kprobe:vfs_read
live_done

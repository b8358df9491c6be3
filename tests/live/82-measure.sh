#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measures of calls whose number, arguments and results are known are exact,
# also across intervals and threads; calls within calls are told apart, and
# those that never return are counted. What cannot be measured is refused with
# the reason.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

calls="$load/calls"
n=${MEASURE_CALLS:-30000}

# measure FILE MEASURE... -- COMMAND...: in many intervals, without samples
measure() {
	file=$1
	shift
	"$weft" record -q --no-samples --interval 0.05 -o "$file" "$@" \
		>"$dir/log" 2>&1 || say <"$dir/log"
	wrong=$(sql "$file" "SELECT count(*) FROM metric_interval i WHERE fired !=
		counted + filtered + not_met + keys_full + lost_busy + unreadable +
		no_entry OR counted != lost_discarded + (SELECT ifnull(sum(count), 0)
		FROM metric_value v JOIN metric_key k ON k.id = v.key_id
		WHERE v.interval_id = i.interval_id AND k.metric_id = i.metric_id)")
	check "$(basename "$file" .db): each event has one end, in every interval" \
		"$(is "$wrong" = 0)"
}

db=$dir/plain.db
measure "$db" \
	--measure "n = count() by tid, comm @ uprobe:$calls:measured" \
	--measure "args = stats(arg0) @ uprobe:$calls:measured" \
	--measure "powers = hist((int)retval) @ uretprobe:$calls:measured" \
	--measure "steps = lhist(arg0, 10, 1000, 300) @ uprobe:$calls:measured" \
	--measure "few = sum(arg0) @ uprobe:$calls:measured if arg0 >= 5 and
		arg0 < 8" -- "$calls" plain 2 "$n"
echo "$(sql "$db" "SELECT count(*) FROM interval") intervals" | say
check "there are several intervals" \
	"$(is "$(sql "$db" "SELECT count(*) FROM interval")" -gt 5)"
same "two threads, $n calls each" "$db" "SELECT count, key_2 FROM metric_total
	WHERE name = 'n'" "$n|calls
$n|calls"
same "arguments: number, sum, least, greatest" "$db" "SELECT count, sum, min, max
	FROM metric_total WHERE name = 'args'" \
	"$((2 * n))|$((n * (n - 1)))|0|$((n - 1))"
same "only those that meet a condition" "$db" "SELECT count, sum FROM
	metric_total WHERE name = 'few'" "6|36"
# Results are -100 to n - 101.
{
	echo "|0|200"
	echo "0|1|2"
	echo "1|2|2"
	lo=2
	while [ $lo -le $((n - 101)) ]; do
		hi=$((2 * lo))
		[ $hi -gt $((n - 100)) ] && last=$((n - 100)) || last=$hi
		echo "$lo|$hi|$((2 * (last - lo)))"
		lo=$hi
	done
} >"$dir/want"
same "powers of two, signed" "$db" "SELECT lo, hi, count FROM metric_histogram
	WHERE name = 'powers' ORDER BY bucket" "$(cat "$dir/want")"
same "steps, below and above" "$db" "SELECT lo, hi, count FROM metric_histogram
	WHERE name = 'steps' ORDER BY bucket" "|10|20
10|310|600
310|610|600
610|910|600
910|1000|180
1000||$((2 * (n - 1000)))"

db=$dir/built_in.db
measure "$db" \
	--measure "n = stats(arg0) @ usdt:$load/called:weft:call" \
	--measure "none = sum(arg1) @ usdt:$load/called:weft:call" \
	-- "$load/called" $((2 * n))
same "a probe that is built in, with its argument" "$db" "SELECT count, sum, min,
	max FROM metric_total WHERE name = 'n'" "$((2 * n))|$((n * (n + 1)))|1|$n"
same "an argument that it has not cannot be read, each time" "$db" "SELECT counted,
	unreadable FROM metric_loss WHERE name = 'none'" "0|$((2 * n))"

# A call lasts longer than the one in it: so do their sums, if and only if
# each return finds its own call.
db=$dir/nested.db
measure "$db" \
	--measure "took = sum(elapsed) by arg0 @ uretprobe:$calls:nested" \
	-- "$calls" nested 500 20
same "calls in calls: each return is of its own" "$db" "SELECT count(*),
	sum(count), sum(sum > before) FROM (SELECT count, sum, lag(sum, 1, 0) OVER
	(ORDER BY key_1) AS before FROM metric_total)" "20|10000|20"
same "and none is missing" "$db" "SELECT entered, no_entry, no_return, calls_full
	FROM metric_loss" "10000|0|0|0"

db=$dir/left.db
measure "$db" --measure "took = count() by arg0 @ uretprobe:$calls:left" \
	-- "$calls" left 1000
same "calls left by longjmp() are counted when the next takes their place" \
	"$db" "SELECT entered, counted, no_return FROM metric_loss" "1000|0|999"

# More than there is room for to wait: who has ended does not keep it.
db=$dir/ends.db
measure "$db" --measure "took = count() by arg0 @ uretprobe:$calls:ends" \
	-- "$calls" ends 17000 100
sql "$db" "SELECT entered, counted, no_return, calls_full FROM metric_loss" | say
same "17,000 threads that end in a call leave room for those that return" \
	"$db" "SELECT entered, counted, no_return > 8192, calls_full FROM
	metric_loss" "17100|100|1|0"

# The three examples; the C library reads only its own file besides.
db=$dir/reads.db
measure "$db" \
	--measure "calls = count() by comm @ tracepoint:raw_syscalls:sys_enter
		if args.id == 0 and comm == \"calls\"" \
	--measure "sizes = hist(args.count) @ tracepoint:syscalls:sys_enter_read
		if args.count < 200" \
	--measure "bytes = sum(args.ret) by comm, args.fd @
		tracepoint:syscalls:sys_exit_read if args.count < 200 and
		comm == \"calls\"" \
	--measure "took = count() @ tracepoint:syscalls:sys_exit_read
		if elapsed >= 0 and args.count < 200 and comm == \"calls\"" -- "$calls" reads 200
same "reads by comm" "$db" "SELECT key_1, count > 200 FROM metric_total
	WHERE name = 'calls'" "calls|1"
same "a histogram of read sizes" "$db" "SELECT lo, count FROM metric_histogram
	WHERE name = 'sizes' ORDER BY bucket" "0|1
1|1
2|2
4|4
8|8
16|16
32|32
64|64
128|72"
same "bytes read, by what the entry had" "$db" "SELECT key_1, key_2, count, sum
	FROM metric_total WHERE name = 'bytes'" "calls|3|200|19900"
same "calls timed from entry to exit" "$db" "SELECT sum(count) FROM metric_total
	WHERE name = 'took'" "200"

db=$dir/keys.db
measure "$db" --max-keys 100 --interval 60 \
	--measure "n = count() by arg0 @ uprobe:$calls:measured" \
	-- "$calls" plain 1 10000
same "10,000 keys where there is room for 100" "$db" "SELECT counted, keys_full,
	(SELECT count(*) FROM metric_key) FROM metric_loss" "100|9900|100"

# What has no keys takes no room for any.
db=$dir/one.db
measure "$db" --max-keys 1048576 --measure "x = hist(arg0) @ uprobe:$calls:measured" \
	-- "$calls" plain 1 1000
same "room for a million keys costs nothing where there are none" "$db" \
	"SELECT counted FROM metric_loss" "1000"

# Beside the sampler, by a program that makes the kernel leave the sampler out
# while it runs.
"$weft" record -q -F 4999 -d 1 -o "$dir/beside.db" \
	--measure "n = count() by args.prev_prio @ tracepoint:sched:sched_switch"
check_ledger "$dir/beside.db"
same "switches are measured while samples are taken" "$dir/beside.db" \
	"SELECT counted > 0, counted = fired FROM metric_loss" "1|1"

# What happens while weft still looks at what its targets have mapped is before
# recording: a measure and an event of the same calls begin together.
background "$calls" plain 1 1000000000
"$weft" record -q -d 1 -e "uprobe:$calls:measured,stacks=1/1000" \
	-o "$dir/begin.db" --measure "n = count() @ uprobe:$calls:measured" \
	2>"$dir/log" || say <"$dir/log"
kill -KILL $!
measured=$(sql "$dir/begin.db" "SELECT counted FROM metric_loss")
seen=$(sql "$dir/begin.db" "SELECT sum(count) FROM stack_total")
echo "measured $measured, sampled $seen" | say
check "a measure begins with recording: within a twentieth of the event" \
	"$(both "$(is $((measured * 20)) -le $((seen * 21)))" \
	"$(is $((seen * 20)) -le $((measured * 21)))")"

# Printed while it runs, each time from 0: no call is in two, or in none.
"$weft" measure --every 0.1 --clear "count() @ uprobe:$calls:measured" \
	-- "$calls" plain 2 $((4 * n)) >"$dir/every" 2>"$dir/log" ||
	say <"$dir/log"
awk '/^ *[0-9]+$/ { n++; s += $1 } END { print n + 0, s + 0 }' \
	"$dir/every" >"$dir/prints"
read -r prints total <"$dir/prints"
echo "$total of $((8 * n)) calls in $prints prints" | say
check "--every with --clear: each call is in one of several prints" \
	"$(both "$(is "$prints" -gt 1)" "$(is "$total" = $((8 * n)))")"

# refused TEXT WORDS
refused() {
	status=0
	timeout 60 "$weft" record --no-samples -d 1 -o "$dir/x.db" --measure "$1" \
		>"$dir/out" 2>"$dir/err" || status=$?
	grep -v 'MB of kernel memory' "$dir/err" | head -n 2 | say
	check "refused: $1" "$(both "$(is $status -ne 0)" \
		"$(if grep -qF -- "$2" "$dir/err"; then echo 1; else echo 0; fi)")"
}

read=tracepoint:syscalls:sys_enter_read
refused "count() @ tracepoint:syscalls:sys_enter_raed" \
	"did you mean 'syscalls:sys_enter_read'?"
refused "count() @ tracepoint:syscals:sys_enter_read" \
	"did you mean 'syscalls:sys_enter_read'?"
refused "sum(args.cuont) @ $read" "did you mean 'args.count'?"
refused "sum(args.nonesuch) @ $read" "it has __syscall_nr, fd, buf, count"
refused "sum(args.next_comm) @ tracepoint:sched:sched_switch" \
	"is of type 'char', which is no number"
refused "sum(retval) @ $read" "is known at a return only"
refused "sum(arg0) @ tracepoint:sched:sched_switch" "has args.FIELD"
refused "count() @ uprobe:$calls:measurd" "did you mean 'measured'?"
refused "count() @ uprobe:/nonesuch:main" "No such file"
refused "count() @ uprobe:$dir:main" "it is no regular file"
refused "count() @ uprobe:/etc/passwd:main" "is not a program or library"
refused "count() @ uprobe:$calls:locked_first" "cannot probe the instruction"
refused "count() @ uprobe:$calls:measured+4096" "is outside"
strip -o "$dir/stripped" "$calls"
refused "count() @ uprobe:$dir/stripped:measured" "it is stripped"
refused "count() @ usdt:$load/called:weft:cal" "did you mean 'weft:call'?"
refused "count() @ usdt:$calls:weft:call" "has no USDT probes built in"
refused "sum(retval) @ usdt:$load/called:weft:call" "is known at a return only"
check "nothing was written by any of these" \
	"$(if [ -e "$dir/x.db" ]; then echo 0; else echo 1; fi)"

live_done

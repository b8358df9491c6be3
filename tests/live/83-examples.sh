#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Examples of measures: single events of buckets, with the request that the
# thread worked on. What each request was, and how long it took, the load tells;
# no example may name another. A flood sends no more than the limits, and what
# goes beyond is counted.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

requests="$load/requests"
calls="$load/calls"
threads=2
n=${EXAMPLES_REQUESTS:-60}

# measure FILE OPTION... -- COMMAND...
measure() {
	file=$1
	shift
	"$weft" record -q --no-samples --interval 0.5 -o "$file" "$@" \
		2>"$dir/log" || sed 's/^/# /' "$dir/log" >&2
}

# check_stored FILE
check_stored() {
	file=$1
	wrong=$(sql "$file" "SELECT count(*) FROM metric_interval i WHERE selected !=
		lost_exemplars + (SELECT count(*) FROM metric_exemplar x
		JOIN metric_key k ON k.id = x.key_id
		WHERE x.interval_id = i.interval_id AND k.metric_id = i.metric_id)")
	check "$(basename "$file" .db): each example is stored or counted as lost" \
		"$(is "$wrong" = 0)"
}

db=$dir/requests.db
measure "$db" --examples 3 \
	--measure "took = hist(elapsed) @ uretprobe:$requests:handle" \
	--measure "most = stats(elapsed) @ uretprobe:$requests:handle" \
	--measure "idle = lhist(arg0, 0, 1000, 10) @ uprobe:$requests:idle" \
	-- "$requests" $threads "$n" 10 20 >"$dir/truth"
check_stored "$db"
# With what the load says, in a database of its own.
sqlite3 "$dir/judge.db" <<END
CREATE TABLE truth (trace_id TEXT, tid INTEGER, number INTEGER, slow INTEGER,
	took_ns INTEGER);
.separator " "
.import $dir/truth truth
ATTACH '$db' AS recorded;
CREATE TABLE example AS SELECT * FROM recorded.metric_examples;
END
judge() {
	sqlite3 -readonly "$dir/judge.db" "$1"
}
judge "SELECT name, lo, hi, count(*), count(trace_id) FROM example
	GROUP BY name, bucket" | say
top=$(judge "SELECT max(lo) FROM example WHERE name = 'took'")
named=$(judge "SELECT count(*) FROM example WHERE name = 'took' AND lo = $top
	AND trace_id IS NOT NULL")
check "the highest bucket has examples, and they name requests" \
	"$(is "$named" -gt 0)"
same "a request that none was, or another thread's: 0" "$dir/judge.db" \
	"SELECT count(*) FROM example x WHERE trace_id IS NOT NULL AND NOT EXISTS
	(SELECT 1 FROM truth t WHERE t.trace_id = x.trace_id AND t.tid = x.tid)" 0
same "a request that did not take so long: 0" "$dir/judge.db" \
	"SELECT count(*) FROM example x JOIN truth t USING (trace_id)
	WHERE name IN ('took', 'most') AND t.took_ns < x.value" 0
same "a fast request in a bucket from 16 ms that was not slow all the same: 0" \
	"$dir/judge.db" "SELECT count(*) FROM example x JOIN truth t USING (trace_id)
	WHERE x.lo >= 16777216 AND NOT slow AND t.took_ns < 16777216" 0
same "values lie in their buckets" "$dir/judge.db" "SELECT count(*) FROM example
	WHERE value < lo OR value >= hi" 0
stacks=$(judge "SELECT count(*) FROM example WHERE name = 'took' AND
	trace_id IS NOT NULL AND ';' || folded || ';' LIKE '%;work_on;%'")
all=$(judge "SELECT count(*) FROM example WHERE name = 'took' AND
	trace_id IS NOT NULL")
echo "$stacks of $all examples have their caller on the stack" | say
check "stacks are where the request was handled" "$(is "$stacks" = "$all")"
same "between requests no example has one" "$dir/judge.db" \
	"SELECT count(trace_id), count(*) > 5 FROM example WHERE name = 'idle'" "0|1"
same "the highest value is at most a sixteenth above an example" "$db" \
	"SELECT sum(v.max > x.value * 17 / 16) FROM metric_value v
	JOIN metric_key k ON k.id = v.key_id JOIN metric m ON m.id = k.metric_id
	JOIN (SELECT key_id, interval_id, max(value) AS value FROM metric_exemplar
	GROUP BY key_id, interval_id) x USING (key_id, interval_id)
	WHERE m.name = 'most'" 0
"$weft" measure took -i "$db" --examples 2 >"$dir/out"
grep -A3 'from the' "$dir/out" | head -n 4 | say
check "weft measure prints them" "$(is "$(grep -c ' trace 0' "$dir/out")" -gt 1)"

# A flood: 60,000 calls; buckets of 100, so 300 at most in an interval and CPU.
db=$dir/flood.db
measure "$db" --examples 2 \
	--measure "x = lhist(arg0, 0, 30000, 100) @ uprobe:$calls:measured" \
	-- "$calls" plain 2 30000
check_stored "$db"
same "of each bucket no more than asked for, of each CPU and interval" "$db" \
	"SELECT max(n) FROM (SELECT count(*) AS n FROM metric_exemplar GROUP BY
	interval_id, key_id, bucket, cpu)" 2
same "and no event is lost for it" "$db" "SELECT counted, lost_busy, missed FROM
	metric_loss" "60000|0|0"

# More keys than may have examples.
db=$dir/keys.db
measure "$db" --examples 1 --max-keys 20000 --interval 60 \
	--measure "x = max(arg0) by arg0 @ uprobe:$calls:measured if arg0 > 0" \
	-- "$calls" plain 1 10001
check_stored "$db"
same "10,000 that could be: what goes beyond the limit is counted" "$db" \
	"SELECT selected, lost_exemplars >= selected - 1024 *
	(SELECT count(DISTINCT cpu) FROM metric_exemplar), lost_exemplars > 0
	FROM metric_loss" "10000|1|1"

# Keys that are of the thread: where it was, for what, in which cgroup.
db=$dir/thread.db
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=weft-measure-$$
mkdir "$root/$group" 2>/dev/null || root=
measure "$db" --measure "s = count() by stack @ uprobe:$requests:handle" \
	--measure "r = count() by attr.http.route @ uprobe:$requests:handle" \
	--measure "g = count() by cgroup @ uprobe:$requests:handle" \
	-- sh -c "[ -z '$root' ] || echo \$\$ >'$root/$group/cgroup.procs'
		exec '$requests' 2 30 10 10" >/dev/null
[ -z "$root" ] || rmdir "$root/$group" || true
sql "$db" "SELECT name, count, key_1 FROM metric_total" | say
same "by stack" "$db" "SELECT sum(t.count) FROM metric_total t
	JOIN stack_text x ON x.stack_id = t.key_1
	WHERE t.name = 's' AND x.folded LIKE '%work_on;handle%'" 60
same "by an attribute of the request" "$db" "SELECT key_1, count FROM metric_total
	WHERE name = 'r' ORDER BY key_1" "|2
/fast|54
/slow|6"
if [ -n "$root" ]; then
	same "by cgroup, by its path" "$db" "SELECT key_1, count FROM metric_total
		WHERE name = 'g'" "/$group|62"
else
	check "by cgroup # SKIP no tree of version 2 to make one in" 1
fi

# Every way in which a measure is attached, and nothing without the option. The
# reads alone may end without giving up their CPU once; who sleeps does.
read=tracepoint:syscalls
measure "$dir/ways.db" --examples 1 \
	--measure "a = hist(args.count) @ $read:sys_enter_read" \
	--measure "b = hist(elapsed) @ $read:sys_exit_read" \
	--measure "c = hist(args.prev_prio) @ tracepoint:sched:sched_switch" \
	-- sh -c "'$calls' reads 200; sleep 0.1; :"
check_stored "$dir/ways.db"
same "examples of system calls and tracepoints" "$dir/ways.db" "SELECT name,
	min(folded LIKE '%_[k]') FROM metric_examples GROUP BY name" "a|1
b|1
c|1"
measure "$dir/off.db" --measure "x = hist(arg0) @ uprobe:$calls:measured" \
	-- "$calls" plain 1 100
check_stored "$dir/off.db"
same "none without the option" "$dir/off.db" "SELECT count(*), (SELECT selected
	FROM metric_loss) FROM metric_exemplar" "0|0"
live_done

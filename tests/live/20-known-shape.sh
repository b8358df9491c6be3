#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A program with functions of known cost is seen as it is: the right names,
# shares within their intervals, complete stacks; and samples times period
# make up the CPU time that a spinner reads off its own clock.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

"$weft" record -q -F 4999 --detail off -o "$dir/shape.db" -- \
	"$load/shape" 8 >"$dir/truth" 2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/shape.db"
# Within a recording the sampled share of a function differs from its share
# of CPU time by the sampling error alone; the mended Wilson interval at three
# standard errors must hold it for all eight.
sqlite3 -readonly -separator ' ' "$dir/shape.db" "
	SELECT f.name, sum(t.count) FROM stack_total t
	JOIN stack_frame sf ON sf.stack_id = t.stack_id
	JOIN frame_function ff ON ff.frame_id = sf.frame_id
	JOIN function f ON f.id = ff.function_id
	WHERE f.name GLOB 'shape_leaf_[1-8]' GROUP BY 1" >"$dir/seen"
awk 'NR == FNR { truth[$1] = $3; next } { n += $2; seen[$1] = $2 }
	END {
		for (f in truth) {
			p = truth[f]
			e = 3 * sqrt(p * (1 - p) / n) + 3 / n
			s = seen[f] / n
			ok = s > p - e && s < p + e
			printf "%s true %.4f seen %.4f +- %.4f %s\n", f, p, s, e,
				ok ? "within" : "OUTSIDE"
		}
	}' "$dir/truth" "$dir/seen" | sort >"$dir/figures"
say <"$dir/figures"
check "shape: eight functions have their names and their shares" \
	"$(is "$(grep -c within "$dir/figures")" = 8)"
check "shape: at least 99 % of its samples have complete stacks" \
	"$(sql "$dir/shape.db" "SELECT total(t.count) FILTER
		(WHERE s.status = 'complete') >= 0.99 * total(t.count)
		FROM stack_total t JOIN stack s ON s.id = t.stack_id
		JOIN process p ON p.id = t.process_id WHERE p.comm = 'shape'" |
		sed 's/\.0$//')"

for hz in 997 4999 9999; do
	"$weft" record -q -F $hz --detail off -o "$dir/spin$hz.db" -- \
		"$load/spin" 3 >"$dir/clock" 2>"$dir/log" || say <"$dir/log"
	sampled=$(sql "$dir/spin$hz.db" "SELECT sum(value) FROM stack_total
		JOIN process p ON p.id = process_id WHERE p.comm = 'spin'")
	own=$(cut -d ' ' -f 1 "$dir/clock")
	pct=$(awk "BEGIN { printf \"%.2f\", 100 * $sampled / $own }")
	echo "$hz Hz: count x period is $pct % of the CPU time of its own clock" | say
	# The timer of a busy virtual machine may be late, so this is no measure
	# of exactness; a wrong period or unit is off by more.
	check "spin at $hz Hz: of the order of its own CPU clock" \
		"$(awk "BEGIN { print ($pct > 70 && $pct < 130) }")"
	check_ledger "$dir/spin$hz.db"
done

# Nothing to see is no empty answer.
background sleep 600
"$weft" record -d 0.5 -p $! -o "$dir/idle.db" 2>"$dir/log"
say <"$dir/log"
check "a target that sleeps: it is said that there are no samples, and why" \
	"$(is "$(grep -c 'no samples: the targets did not run' "$dir/log")" = 1)"

# A timer that never fires is no machine on which nothing runs.
status=0
LD_PRELOAD="$WEFT_BUILD/fault/no_timer.so" "$weft" record -a -o "$dir/mute.db" \
	-d 20 2>"$dir/log" || status=$?
say <"$dir/log"
check "a timer that never fires is an error, with advice (status $status)" \
	"$(both "$(is $status = 1)" "$(is "$(grep -c \
		'cpu-clock) has not fired once .* take another kernel' \
		"$dir/log")" = 1)")"

# A CPU that goes: that is said. The kernel's list alone changes, in a mount
# namespace, so that others keep their CPUs.
if [ "$(nproc)" -gt 1 ] && unshare -m true 2>/dev/null; then
	online=/sys/devices/system/cpu/online
	cp $online "$dir/online"
	# shellcheck disable=SC2016 # the inner shell's words
	background unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 &&
		exec "$@"' sh "$dir/online" $online \
		"$weft" record --interval 0.2 -o "$dir/cpus.db" 2>"$dir/cpus"
	recorder=$!
	# An idle CPU may have nothing to say for a while.
	background taskset -c 1 "$load/spin" 600 >/dev/null
	busy=$!
	wait_for 60 test -s "$dir/cpus.db" || true
	sleep 1
	before=$(grep -c offline "$dir/cpus" || true)
	cp "$dir/online" "$dir/all"
	echo 0 >"$dir/online"
	wait_for 60 grep -q offline "$dir/cpus" || true
	sleep 1
	cp "$dir/all" "$dir/online"
	wait_for 60 grep -q 'CPU 1 is back, and is sampled' "$dir/cpus" || true
	sleep 1
	kill -INT "$recorder"
	wait "$recorder" || true
	kill "$busy"
	say <"$dir/cpus"
	check "a CPU that goes offline is told of, once" \
		"$(both "$(is "$before" = 0)" \
			"$(is "$(grep -c 'CPU 1 went offline' "$dir/cpus")" = 1)")"
	# The very last interval may be too short for a sample.
	check "and that it is back; the last intervals have samples of it" "$(both \
		"$(is "$(grep -c 'CPU 1 is back' "$dir/cpus")" = 1)" \
		"$(is "$(sql "$dir/cpus.db" "SELECT sum(fired) > 0 FROM (
			SELECT fired FROM cpu_interval WHERE cpu = 1
			ORDER BY interval_id DESC LIMIT 3)")" = 1)")"
else
	echo "# skipped: no second CPU, or no mount namespace"
fi

# A process is all of its threads, a thread is itself.
background "$load/spin" 600 4 >/dev/null
pid=$!
wait_for 60 test -d "/proc/$pid/task" || true
# shellcheck disable=SC2317
has_threads() {
	[ "$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge 4 ]
}
wait_for 60 has_threads || true
tid=$(find "/proc/$pid/task" -mindepth 1 -maxdepth 1 -printf '%f\n' |
	sort -n | tail -n 1)
"$weft" record -q -d 1 --detail 1/1 -p "$pid" -o "$dir/pid.db"
"$weft" record -q -d 1 --detail 1/1 -t "$tid" -o "$dir/tid.db"
kill "$pid"
same "-p: samples of all four threads, and of no other process" \
	"$dir/pid.db" "SELECT count(DISTINCT tid) >= 4, count(DISTINCT pid),
	max(pid) FROM samples" "1|1|$pid"
same "-t: samples of that one thread" "$dir/tid.db" \
	"SELECT count(*) > 0, count(DISTINCT tid), max(tid), max(pid)
	FROM samples" "1|1|$tid|$pid"

live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Blocks are exact: of a program that sleeps, waits for a futex and a pipe,
# reads a disk, and is moved between CPUs while it sleeps, the time off its CPU
# by function is what the kernel counted for it; with run-queue recorded, too,
# the two add up to the same. What began before recording is in the ledger. So is
# the time that a thread runs.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# sums FILE: function, blocks, ns; of all events
sums() {
	sqlite3 -readonly -separator ' ' "$1" "
		SELECT n.name, sum(t.count), sum(t.value) FROM (
		  SELECT DISTINCT sf.stack_id, f.name FROM stack_frame sf
		  JOIN frame_function ff ON ff.frame_id = sf.frame_id
		  JOIN function f ON f.id = ff.function_id
		  WHERE f.name GLOB 'block_*') n
		JOIN stack_total t ON t.stack_id = n.stack_id GROUP BY 1"
}

# compare NAME: within 1 % and 5 us a block (of reading clocks) of the truth, which
# is between two clocks of the kernel
compare() {
	sums "$dir/$1.db" >"$dir/seen"
	awk 'NR == FNR { n[$1] = $2; least[$1] = $3; most[$1] = $4; next }
		{ seen[$1] = $3; blocks[$1] = $2 }
		END {
			for (f in least) {
				d = least[f] / 100 + 5000 * n[f]
				ok = seen[f] >= least[f] - d &&
					seen[f] <= most[f] + d &&
					(least[f] < 1e6 || blocks[f] > 0)
				printf "%s: %d blocks, %d ns of %d to %d ns: %s\n",
					f, blocks[f], seen[f], least[f], most[f],
					ok ? "equal" : "DIFFERENT"
			}
		}' "$dir/truth" "$dir/seen" | sort >"$dir/figures"
	say <"$dir/figures"
	check "$1: five functions were off their CPU as long as they say" \
		"$(is "$(grep -c equal "$dir/figures")" = 5)"
	check_ledger "$dir/$1.db"
}

# Preempted threads are off their CPU, too.
"$weft" record -q -e off-cpu --state R,S,D,T,X -o "$dir/off.db" -- \
	"$load/blocks" "$dir" 25 >"$dir/truth" 2>"$dir/log" || say <"$dir/log"
compare off
check "off: threads came back on other CPUs" \
	"$(is "$(sql "$dir/off.db" "SELECT count(DISTINCT cpu) > 1 OR
		(SELECT cpus FROM recording) = 1 FROM sample")" = 1)"

"$weft" record -q -e run-queue -e off-cpu -o "$dir/both.db" -- \
	"$load/blocks" "$dir" 25 >"$dir/truth" 2>"$dir/log" || say <"$dir/log"
compare both

# Long blocks are certain to be stored; each of the others stands for tau.
"$weft" record -q -e off-cpu,tau=0.01 --min-block 1ms -o "$dir/tau.db" -- \
	"$load/blocks" "$dir" 25 >/dev/null 2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/tau.db"
check "tau: detail is chosen by length, and weighs accordingly" \
	"$(is "$(sql "$dir/tau.db" "SELECT count(*) > 0 AND total(
		(value >= 10000000 AND weight <> 1) OR
		(value < 10000000 AND abs(weight * value - 1e7) > 1e3)) = 0
		FROM sample")" = 1)"
check "tau: no block of at least tau is missing" \
	"$(is "$(sql "$dir/tau.db" "SELECT sum(value >= 10000000) >= 25
		FROM sample")" = 1)"
check "tau: blocks that are too short are filtered, with their time" \
	"$(is "$(sql "$dir/tau.db" "SELECT sum(count) > 0 AND
		sum(value) < 1000000 * sum(count) FROM ledger
		WHERE entry = 'filtered'")" = 1)"

# It ends when 2 s of its CPU time are over, and says how long it was on a CPU.
"$weft" record -q -e on-cpu -o "$dir/on.db" -- "$load/spin" 2 >"$dir/ran"
check_ledger "$dir/on.db"
ran=$(cut -d ' ' -f 2 "$dir/ran")
seen=$(sql "$dir/on.db" "SELECT total(value) FROM stack_total t
	JOIN process p ON p.id = t.process_id WHERE p.comm = 'spin'" | cut -d . -f 1)
echo "on-cpu: $seen ns of $ran ns" | say
check "on-cpu: a thread ran as long as the kernel counted, within 1 % and 10 ms to start" \
	"$(is $((seen - ran)) -ge $((-ran / 100)))"
check "on-cpu: and no longer" "$(is $((seen - ran)) -le $((ran / 100 + 10000000)))"

# Of programs that are over before they are ever switched away from, too: as the
# shell's `times` says, in hundredths of a second each.
# shellcheck disable=SC2016 # of that shell
"$weft" record -q -e on-cpu -o "$dir/short.db" -- sh -c '
	for i in $(seq 40); do seq 200000 >/dev/null; done; times' >"$dir/times"
check_ledger "$dir/short.db"
ran=$(tr 'ms' '  ' <"$dir/times" | awk '{ s += $2 + $4 + 60 * ($1 + $3) }
	END { printf "%.0f", s * 1e9 }')
seen=$(sql "$dir/short.db" "SELECT sum(value) FROM stack_total")
echo "40 short programs: $seen ns of $ran ns" | say
check "on-cpu: short programs ran as long as times says, within 5 % and 40 ms" \
	"$(both "$(is $((seen - ran)) -le $((ran / 20 + 40000000)))" \
	"$(is $((ran - seen)) -le $((ran / 20 + 40000000)))")"

# What a thread went off for is told apart: none of these gave up its CPU unasked.
"$weft" record -q -e off-cpu --state R -o "$dir/state.db" -- \
	"$load/blocks" "$dir" 25 >"$dir/truth" 2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/state.db"
sums "$dir/state.db" >"$dir/seen"
say <"$dir/seen"
check "state: what they slept is not in the counts of preemptions" \
	"$(is "$(awk 'NR == FNR { truth += $3; next } { seen += $3 }
		END { print (truth > 0 && seen < truth / 2) }' \
		"$dir/truth" "$dir/seen")" = 1)"
check "state: they are filtered, with their time" \
	"$(is "$(sql "$dir/state.db" "SELECT sum(count) >= 125 AND
		sum(value) >= $(awk '{ s += $3 } END { printf "%.0f", s * 0.9 }' \
		"$dir/truth") FROM ledger WHERE entry = 'filtered'")" = 1)"

# Threads that work for a request sleep once in it; before, and between, they
# wait for work.
"$weft" record -q -e off-cpu --only-requests --detail 1/1 \
	-o "$dir/requests.db" -- "$load/requests" 2 60 10 20 >"$dir/truth" \
	2>"$dir/log" || say <"$dir/log"
check_ledger "$dir/requests.db"
sql "$dir/requests.db" "SELECT count(*), count(DISTINCT trace_id), max(value)
	FROM samples" | say
awk '$6 == 0 { print "never slept:", $0 }' "$dir/truth" | say
check "only-requests: the block of each request is there, and no other's" \
	"$(is "$(sql "$dir/requests.db" "SELECT
		count(DISTINCT trace_id) = $(awk '$6 > 0' "$dir/truth" | wc -l) AND
		count(trace_id) = count(*) AND max(value) < 1e9 FROM samples")" = 1)"
check "only-requests: idle threads are filtered, with their time" \
	"$(is "$(sql "$dir/requests.db" "SELECT sum(value) >= 3e9 FROM ledger
		WHERE entry = 'filtered'")" = 1)"

background sleep 600
"$weft" record -e off-cpu -p $! -d 1 -o "$dir/open.db" 2>"$dir/log"
say <"$dir/log"
check_ledger "$dir/open.db"
check "open: that it went on all the time is said" \
	"$(grep -c 'no samples: what there was went on all the time' "$dir/log")"
check "open: a block that began before recording is in the ledger" \
	"$(is "$(sql "$dir/open.db" "SELECT count = 1 AND value > 0 FROM (
		SELECT sum(count) AS count, sum(value) AS value FROM ledger
		WHERE entry = 'open_at_start')")" = 1)"
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A CPU goes offline, and comes back: both are said, and what runs on it from then
# on is recorded again; while it is away, intervals have no row of it. Where it is
# back before anybody has looked, the same. It really goes, for some seconds:
# what others measure meanwhile is worth nothing.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

switch=/sys/devices/system/cpu/cpu1/online
if [ ! -w $switch ] || [ "$(cat $switch)" != 1 ]; then
	live_skip "no second CPU that can be switched off"
fi
trap 'echo 1 >$switch; live_end' EXIT

db="$dir/cpus.db"
# On CPU 1, whenever there is one: it is moved off when that goes.
background "$load/spin" 600 1 >/dev/null
spin=$!
pin() {
	for task in "/proc/$spin/task"/*; do
		taskset -pc 1 "${task##*/}" >/dev/null
	done
}

# how many samples of CPU 1 there are
of_cpu() {
	sql "$db" "SELECT total(fired) FROM cpu_interval WHERE cpu = 1" |
		sed 's/\.0$//'
}

# Called through wait_for.
# shellcheck disable=SC2317
more_than() {
	[ "$(of_cpu)" -gt "$1" ]
}

# Called through wait_for.
# shellcheck disable=SC2317
said() {
	[ "$(grep -c "$1" "$dir/said")" -ge "$2" ]
}

background "$weft" record -a -F 997 --interval 0.5 -o "$db" 2>"$dir/said"
recorder=$!
wait_for 60 more_than 0 || true
before=$(of_cpu)

echo 0 >$switch
wait_for 30 said 'CPU 1 went offline' 1 || true
sleep 1.5
echo 1 >$switch
wait_for 30 said 'CPU 1 is back, and is sampled again' 1 || true
pin
now=$(of_cpu)
wait_for 30 more_than $((now + 100)) || true
after=$(of_cpu)
echo "$before firings of CPU 1 before it went, $((after - now)) since" | say
check "a CPU that is back is sampled again" \
	"$(both "$(is "$before" -gt 0)" "$(is "$after" -gt $((now + 100)))")"

# Between two looks.
echo 0 >$switch
echo 1 >$switch
wait_for 30 said 'CPU 1 is back, and is sampled again' 2 || true
now=$(of_cpu)
wait_for 30 more_than $((now + 100)) || true
check "also where nobody has seen that it went" \
	"$(is "$(of_cpu)" -gt $((now + 100)))"
# New programs there are seen by their own names.
cp "$load/spin" "$dir/late_spin"
taskset -c 1 "$dir/late_spin" 1 1 >/dev/null
sleep 1
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
say <"$dir/said"
check "recording ended as usual (status $status)" "$(is $status = 0)"
check "each was said once" "$(both \
	"$(is "$(grep -c 'went offline' "$dir/said")" -le 2)" \
	"$(is "$(grep -c 'CPU 1 is back' "$dir/said")" = 2)")"
check "while it was off, intervals have no row of it" "$(is "$(sql "$db" "
	SELECT count(*) > 0 FROM interval i WHERE NOT EXISTS (SELECT 1
	FROM cpu_interval c WHERE c.interval_id = i.id AND c.cpu = 1)")" = 1)"
check "that mappings may have been missed is in the ledger" \
	"$(is "$(entry "$db" sideband_lost)" -ge 2)"
check "what was started there later has its names" "$(is "$(sql "$db" "
	SELECT count(*) > 0 FROM stack_total t
	JOIN process p ON p.id = t.process_id
	JOIN stack_frame f ON f.stack_id = t.stack_id
	JOIN frame_function n ON n.frame_id = f.frame_id
	JOIN function u ON u.id = n.function_id
	WHERE p.comm = 'late_spin' AND u.name = 'spin_thread'")" = 1)"
live_done

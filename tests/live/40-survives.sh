#!/bin/sh
# SPDX-License-Identifier: MIT
#
# However a recording ends, its file is whole: by signals, by SIGKILL at any
# instant; with a reader that never ends; with targets whose files never
# answer or are cut short.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

kills=${SURVIVES_KILLS:-20}
background "$load/spin" 600 2 >/dev/null

integrity() {
	sqlite3 "$1" "PRAGMA integrity_check" 2>&1
}

# Called through wait_for.
# shellcheck disable=SC2317
has_intervals() {
	[ "$(sql "$1" "SELECT count(*) FROM interval")" -ge "$2" ]
}

# Called through wait_for.
# shellcheck disable=SC2317
is_log_full() {
	[ "$(stat -c %s "$db-wal")" -gt 1048576 ]
}

# begin NAME [OPTION...]: a recording in the background; $recorder, $db
begin() {
	db="$dir/$1.db"
	shift
	background "$weft" record -q --interval 0.1 -o "$db" "$@"
	recorder=$!
	wait_for 30 has_intervals "$db" 2
}

for name in INT TERM HUP; do
	begin "$name"
	kill -"$name" "$recorder"
	status=0
	wait "$recorder" || status=$?
	check "SIG$name: exit status 0 (is $status)" "$(is $status = 0)"
	check "SIG$name: the file is closed: no log beside it" \
		"$(if [ -e "$db-wal" ]; then echo 0; else echo 1; fi)"
	check "SIG$name: the recording has an end" "$(is "$(sql "$db" \
		"SELECT count(*) FROM recording WHERE ended_ns > started_ns")" = 1)"
	check_ledger "$db"
done

begin twice
kill -INT "$recorder"
kill -INT "$recorder" 2>/dev/null || true
status=0
wait "$recorder" || status=$?
check "two SIGINT: status 0 or 1 (is $status)" \
	"$(if [ $status -le 1 ]; then echo 1; else echo 0; fi)"
check "two SIGINT: the file is whole" "$(is "$(integrity "$db")" = ok)"

# At random instants. tests/fault/crash_at.c tells what SQLite said is committed:
# that is in the file. The time of death is by the clock of the file's intervals;
# one of them may be under way and one being written; how many more wait is a
# matter of how busy the machine is, and told only.
broken=0
forgot=0
late=0
missing_max=0
i=0
while [ $i -lt "$kills" ]; do
	i=$((i + 1))
	: >"$dir/log"
	export CRASH_LOG="$dir/log" LD_PRELOAD="$WEFT_BUILD/fault/crash_at.so"
	db="$dir/killed.db"
	background "$weft" record -q --interval 0.2 -o "$db"
	recorder=$!
	unset CRASH_LOG LD_PRELOAD
	wait_for 30 has_intervals "$db" 2
	sleep "0.$(shuf -i 100-999 -n 1)"
	died=$(awk '{ printf "%.0f", $1 * 1000000000 }' /proc/uptime)
	kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null || true
	[ "$(integrity "$db")" = ok ] || broken=$((broken + 1))
	has_intervals "$db" "$(grep -c stored "$dir/log")" ||
		forgot=$((forgot + 1))
	last=$(sqlite3 "$db" "SELECT max(end_ns) FROM interval")
	missing=$(((died - last) / 200000000))
	[ $missing -le 2 ] || late=$((late + 1))
	[ $missing -le $missing_max ] || missing_max=$missing
	rm -f "$db"*
done
echo "# figure: kills $kills"
echo "# figure: kills_damaged $broken"
echo "# figure: kills_committed_intervals_lost $forgot"
echo "# figure: kills_over_two_intervals_missing $late"
echo "# figure: kills_intervals_missing_at_most $missing_max"
check "SIGKILL: $kills times, the file is whole" "$(is $broken = 0)"
check "SIGKILL: what was committed is there" "$(is $forgot = 0)"

# A reader that holds a transaction: the log must not grow without limit. The
# load makes ever new stacks, so that there is much to write: what was begun below
# the cap is written whole, then nothing, for as long as the reader holds.
background "$load/stacks" 17 600 >/dev/null
begin held -F 9999 --detail 1/1 --max-wal 1M
mkfifo "$dir/hold"
(
	echo "BEGIN; SELECT count(*) FROM interval;"
	cat "$dir/hold"
) | sqlite3 -readonly "$db" >/dev/null &
reader=$!
live_children="$live_children $reader"
exec 9>"$dir/hold"
wait_for 30 is_log_full
sleep 2
full=$(stat -c %s "$db-wal")
sleep 2
largest=$(stat -c %s "$db-wal")
n=$(sql "$db" "SELECT count(*) FROM interval")
exec 9>&-
wait "$reader" || true
sleep 1
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
echo "# figure: log_bytes_with_a_reader $largest"
echo "log with a reader: $largest bytes (cap 1 MiB), $n intervals" | say
check "a reader: recording ended as usual" "$(is $status = 0)"
check "a reader: the log stays as it is above its cap ($full, $largest)" \
	"$(is "$largest" = "$full")"
check "a reader: what was discarded is counted" \
	"$(is "$(entry "$db" lost_discarded)" -gt 0)"
check_ledger "$db"

# A program on a file system that stops answering.
if [ -e /dev/fuse ] && [ -x "$load/stuck_fs" ]; then
	mkdir "$dir/mnt"
	background "$load/stuck_fs" "$dir/mnt" "$load/spin"
	fs=$!
	wait_for 20 test -x "$dir/mnt/program"
	background "$dir/mnt/program" 600 >/dev/null
	program=$!
	wait_for 20 grep -q mnt/program "/proc/$program/maps"
	sleep 0.5
	kill -USR1 "$fs"
	begin stuck
	wait_for 60 has_intervals "$db" 15
	kill -INT "$recorder"
	status=0
	wait "$recorder" || status=$?
	kill -KILL "$fs" "$program"
	umount -l "$dir/mnt" || true
	check "a stuck file system: recording ended as usual" "$(is $status = 0)"
	check "a stuck file system: its program is counted" \
		"$(is "$(sql "$db" "SELECT total(count) > 0 FROM stack_total
		JOIN process p ON p.id = process_id
		WHERE p.pid = $program")" = 1)"
	check "a stuck file system: other programs have their names" \
		"$(is "$(sql "$db" "SELECT count(*) FROM function
		WHERE name = 'main'")" -gt 0)"
	check_ledger "$db"
else
	echo "# skipped: no /dev/fuse for a file system that never answers"
fi

# A program of whose mapped files one is cut short while it runs: reading
# beyond its new end through a mapping would be a SIGBUS. (The kernel refuses
# to cut a running program itself.)
cp "$(ldd "$WEFT_BUILD/weft-record" | awk '/libz/ { print $3 }')" "$dir/libz.so"
background env LD_PRELOAD="$dir/libz.so" "$load/spin" 600 >/dev/null
program=$!
wait_for 20 grep -q "$dir/libz.so" "/proc/$program/maps"
truncate -s 100 "$dir/libz.so"
begin cut
wait_for 30 has_intervals "$db" 10
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
check "a truncated program: recording ended as usual" "$(is $status = 0)"
check_ledger "$db"

live_done

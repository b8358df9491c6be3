#!/bin/sh
# SPDX-License-Identifier: MIT
#
# However a recording ends, its file is whole: by signals, by SIGKILL at any
# instant and at each step of writing; with a reader that never ends; with
# targets whose files never answer or are cut short.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

kills=${SURVIVES_KILLS:-20}
background "$load/spin" 600 2 >/dev/null
spin=$!

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

# Has it its size since a second ago? What is under way on a busy machine takes a
# while. Called through wait_for.
# shellcheck disable=SC2317
is_log_still() {
	was=$(stat -c %s "$db-wal")
	sleep 1
	[ "$(stat -c %s "$db-wal")" = "$was" ]
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

# Killed at a random instant, or at a point by name (tests/fault/crash_at.c,
# which also tells what SQLite said is committed). The file is the same
# throughout: the next recording is added to what the killed one left. The time of
# death is by the clock of the file's intervals; one of them may be under way and
# one being written; how many more wait is a matter of how busy the machine is,
# and told only.
# The recorder goes before its targets, or most of the time is waiting.
kill "$spin"
background nice -n 19 "$load/stacks" 17 3600 >/dev/null
stacks=$!
kept="$dir/kept.db"

# Called through wait_for.
# shellcheck disable=SC2317
newest_has() {
	[ "$(sql "$kept" "SELECT count(*) FROM interval
		WHERE recording_id > $before")" -ge "$1" ]
}

# Called through wait_for.
# shellcheck disable=SC2317
has_begun() {
	newest_has 2 || grep -q died "$dir/log"
}

# when POINT: at which time of being there to die; some of the way into it
when() {
	case $1 in
	swap) shuf -i 4-20 -n 1 ;;
	batch) shuf -i 20-500 -n 1 ;;
	commit) shuf -i 20-400 -n 1 ;;
	checkpoint) shuf -i 1-9 -n 1 ;;
	names | seal) shuf -i 1-3 -n 1 ;;
	close | recover) shuf -i 1-2 -n 1 ;;
	esac
}

# crash POINT: one more recording, which dies there. $died is when, in ns; it is
# empty where the point was not met.
crash() {
	at=$(when "$1")
	: >"$dir/log"
	# A file that is new has no names yet.
	rm -f "$dir/unnamed"
	cp "$load/spin" "$dir/unnamed"
	background nice -n 19 "$dir/unnamed" 600 1 >/dev/null
	unnamed=$!
	background env ${at:+CRASH_AT="$1:$at"} CRASH_LOG="$dir/log" \
		LD_PRELOAD="$WEFT_BUILD/fault/crash_at.so" \
		"$weft" record -q --append --interval 0.2 -F 4999 \
		--detail 1/1 --max-wal 1M -p "$stacks,$unnamed" -o "$kept"
	recorder=$!
	case $1 in
	any)
		wait_for 60 has_begun
		sleep "0.$(shuf -i 100-999 -n 1)"
		awk '{ printf "died %.0f\n", $1 * 1000000000 }' /proc/uptime \
			>>"$dir/log"
		kill -KILL "$recorder"
		;;
	seal | close)
		wait_for 60 has_begun
		kill -INT "$recorder" 2>/dev/null || true
		;;
	esac
	wait_for 20 grep -q died "$dir/log" || kill -KILL "$recorder"
	wait "$recorder" 2>/dev/null || true
	kill "$unnamed"
	died=$(awk '$1 == "died" { print $2 }' "$dir/log")
}

# ask SQL: what the last crash left, which judge() has copied
ask() {
	sqlite3 "$dir/left" "$1" 2>&1
}

# Looked at in a copy: who opens what was killed mends it, and that is for the
# next recording to do. $before becomes the newest recording; one that died early
# is not in the file.
judge() {
	rm -f "$dir"/left*
	for part in "" -wal -journal; do
		[ ! -e "$kept$part" ] || cp "$kept$part" "$dir/left$part"
	done
	[ "$(ask "PRAGMA integrity_check")" = ok ] || broken=$((broken + 1))
	[ "$(ask "SELECT count(*) FROM interval WHERE recording_id > $before")" \
		-ge "$(grep -c stored "$dir/log" || true)" ] ||
		forgot=$((forgot + 1))
	[ "$(sqlite3 "$dir/left" <"$tests/live/ledger.sql" | ledger_differs)" = 0 ] ||
		wrong=$((wrong + 1))
	last=$(ask "SELECT max(end_ns) FROM interval WHERE recording_id > $before")
	before=$(ask "SELECT ifnull(max(id), 0) FROM recording")
	case $1 in
	seal | close | recover) return 0 ;; # no interval was under way
	esac
	[ -n "$died" ] && [ -n "$last" ] || return 0
	missing=$(((died - last) / 200000000))
	[ $missing -le 2 ] || late=$((late + 1))
	[ $missing -le $missing_max ] || missing_max=$missing
}

before=0
broken=0
forgot=0
wrong=0
late=0
missing_max=0
i=0
reached=
while [ $i -lt "$kills" ]; do
	for point in names any swap batch any commit checkpoint any seal close \
		recover; do
		[ $i -lt "$kills" ] || break
		i=$((i + 1))
		crash $point
		[ -z "$died" ] || reached="$reached $point"
		judge $point
	done
	echo "# $i: $broken damaged, $forgot forgot, $wrong do not add up, $late late"
	# It gets slow to look at.
	if [ $((i % 55)) = 0 ] && [ $i -lt "$kills" ]; then
		rm -f "$kept"*
		before=0
	fi
done
echo "$reached" | tr ' ' '\n' | sort | uniq -c | say
echo "# figure: kills $(echo "$reached" | wc -w)"
echo "# figure: kills_damaged $broken"
echo "# figure: kills_committed_intervals_lost $forgot"
echo "# figure: kills_ledgers_wrong $wrong"
echo "# figure: kills_over_two_intervals_missing $late"
echo "# figure: kills_intervals_missing_at_most $missing_max"
check "SIGKILL: $kills times, the file is whole" "$(is $broken = 0)"
check "SIGKILL: what was committed is there" "$(is $forgot = 0)"
check "SIGKILL: the ledger adds up in what is there" "$(is $wrong = 0)"
for point in any names swap batch commit checkpoint seal close recover; do
	check "SIGKILL: $point was met" "$(case " $reached " in
	*" $point "*) echo 1 ;; *) echo 0 ;; esac)"
done
status=0
"$weft" record -q --append --interval 0.1 -d 0.5 -o "$kept" || status=$?
check "SIGKILL: recording goes on in the same file, to its end" "$(both \
	"$(is $status = 0)" "$(is "$(sql "$kept" "SELECT count(*)
	FROM recording WHERE id > $before AND ended_ns > 0")" = 1)")"
check_ledger "$kept"
kill "$stacks"
background "$load/spin" 600 2 >/dev/null

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
wait_for 2 is_log_still || true
full=$(stat -c %s "$db-wal")
held=$(sql "$db" "SELECT count(*) FROM interval")
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
# Names that were asked for before still come.
check "a reader: no interval goes into a log above its cap, and names only ($full, $largest)" \
	"$(both "$(is "$n" = "$held")" "$(is $((largest - full)) -lt 1048576)")"
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

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A disk that is full: recording goes on and says once that it cannot write;
# intervals merge meanwhile, and are written when there is room again, without
# anything that is not counted. It also ends when it is told to, as where the
# disk does not answer at all: at the second signal, or (DISK_STUCK, two minutes)
# by itself.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

background "$load/stacks" 17 600 >/dev/null
target=$!
disk="$dir/disk"
mkdir "$disk"
mount -t tmpfs -o size=2M none "$disk" ||
	live_skip "needs a file system of its own"
trap 'umount -l "$disk" 2>/dev/null || true; live_end' EXIT

# begin NAME [VARIABLE=VALUE...]: $recorder, which says things in $dir/NAME.err;
# its files cannot be larger than $blocks of 512 bytes
blocks=unlimited
begin() {
	name=$1
	shift
	# shellcheck disable=SC2016 # the inner shell's words
	background sh -c 'ulimit -f "$0"; exec "$@"' "$blocks" env "$@" \
		"$weft" record -p $target --interval 0.1 -F 4999 --detail 1/1 \
		--health "$dir/$name.prom" -o "$disk/$name.db" \
		2>"$dir/$name.err"
	recorder=$!
}

# Called through wait_for, as the others.
# shellcheck disable=SC2317
says() {
	grep -qF "$2" "$dir/$1.err"
}

# shellcheck disable=SC2317
value() {
	awk -v key="$2" '$1 == key { print $2 }' "$dir/$1.prom"
}

# Called through wait_for.
# shellcheck disable=SC2317
fails() {
	[ "$(value "$1" weft_writer_failing)" = "$2" ]
}

# fills NAME COMMAND...: a recording meets a disk without room, until the
# command makes some
fills() {
	name=$1
	shift
	begin "$name"
	check "$name: it says that it cannot write" "$(if wait_for 120 says \
		"$name" "trying again each second"; then echo 1; else echo 0; fi)"
	check "$name: its health says so, too" \
		"$(if wait_for 60 fails "$name" 1; then echo 1; else echo 0; fi)"
	sleep 2
	"$@"
	check "$name: it writes again when there is room" "$(if wait_for 60 \
		says "$name" "writing again"; then echo 1; else echo 0; fi)"
	kill -INT "$recorder"
	status=0
	wait "$recorder" || status=$?
	say <"$dir/$name.err"
	check "$name: recording ended as usual" "$(is $status = 0)"
	check "$name: it was said once" \
		"$(is "$(grep -c "trying again" "$dir/$name.err")" = 1)"
	check "$name: intervals were merged" "$(is "$(sql "$disk/$name.db" \
		"SELECT max(end_ns - start_ns) > 1000000000 FROM interval")" = 1)"
	missing=$(sql "$disk/$name.db" "SELECT count(*) FROM interval a
		WHERE id > 1 AND NOT EXISTS (SELECT 1 FROM interval b
		WHERE b.end_ns = a.start_ns)")
	echo "# figure: disk_intervals_missing $missing"
	check "$name: none is missing" "$(is "$missing" = 0)"
	check "$name: the file is whole" "$(is "$(sqlite3 -readonly \
		"$disk/$name.db" "PRAGMA integrity_check" 2>&1)" = ok)"
	check_ledger "$disk/$name.db"
	rm -f "$disk/$name".db*
}

fills full mount -o remount,size=256M "$disk"

# A disk of blocks, of which root may have some that nobody else gets, or not.
for reserved in 0 20; do
	truncate -s 24M "$dir/image"
	mkfs.ext4 -q -m $reserved -O ^has_journal "$dir/image"
	mount -o loop "$dir/image" "$disk"
	# What takes the room is gone later.
	room=$(($(stat -f -c "%f * %S" "$disk") / 1024 - 2048))
	[ $reserved = 0 ] || room=$(($(stat -f -c "%a * %S" "$disk") / 1024 - 2048))
	dd if=/dev/zero of="$disk/taken" bs=1024 count=$room 2>/dev/null
	fills "blocks_$reserved" rm "$disk/taken"
	umount "$disk"
	rm "$dir/image"
done

# ended NAME: it was told to end; it fails, and what there is, is whole
ended() {
	status=0
	timeout 200 tail --pid="$recorder" -f /dev/null ||
		kill -KILL "$recorder"
	wait "$recorder" || status=$?
	say <"$dir/$1.err"
	check "$1: it ends all the same, and fails (status $status)" \
		"$(is $status = 1)"
	check "$1: what there is, is whole" "$(is "$(sqlite3 -readonly \
		"$disk/$1.db" "PRAGMA integrity_check" 2>&1)" = ok)"
	check_ledger "$disk/$1.db"
}

# stays_full NAME: what was begun finds no room until it is told to end
stays_full() {
	wait_for 120 says "$1" "trying again each second" || true
	kill -INT "$recorder" 2>/dev/null || true
	ended "$1"
	check "$1: it says why" \
		"$(is "$(grep -c "no space left" "$dir/$1.err")" -ge 2)"
	rm -f "$disk/$1".db*
}

# No room until the end.
mount -o remount,size=2M "$disk"
begin no_room
stays_full no_room
mount -o remount,size=256M "$disk"

# A limit of the size of files: the kernel's signal does not end it.
blocks=2000
begin small
blocks=unlimited
stays_full small

# Somebody else's transaction for longer than a write waits for it.
mkfifo "$dir/hold"
# lock FILE KIND: until the descriptor 9 is closed; $holder
lock() {
	sqlite3 "$1" <"$dir/hold" >"$dir/locked" &
	holder=$!
	live_children="$live_children $holder"
	exec 9>"$dir/hold"
	echo "BEGIN $2; SELECT 'held';" >&9
	wait_for 60 grep -q held "$dir/locked"
}
unlock() {
	exec 9>&-
	wait "$holder" || true
}
# Called through wait_for.
# shellcheck disable=SC2317
has_intervals() {
	[ "$(sql "$1" "SELECT count(*) FROM interval")" -ge 3 ]
}
begin locked
wait_for 60 has_intervals "$disk/locked.db" || true
lock "$disk/locked.db" IMMEDIATE
check "locked: it says that another program keeps the file locked" \
	"$(if wait_for 60 says locked "another program keeps it locked"; then
		echo 1; else echo 0; fi)"
unlock
check "locked: it writes again when that has ended" "$(if wait_for 60 \
	says locked "writing again"; then echo 1; else echo 0; fi)"
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
say <"$dir/locked.err"
check "locked: recording ended as usual" "$(is $status = 0)"
same "locked: no interval is missing, nothing was discarded" \
	"$disk/locked.db" "SELECT (SELECT count(*) FROM interval a WHERE id > 1
	AND NOT EXISTS (SELECT 1 FROM interval b WHERE b.end_ns = a.start_ns)),
	(SELECT sum(count) FROM ledger WHERE entry IN ('lost_discarded',
	'lost_counts_discarded'))" "0|0"
check_ledger "$disk/locked.db"
lock "$disk/locked.db" EXCLUSIVE
status=0
"$weft" record -q --append -d 1 -o "$disk/locked.db" 2>"$dir/append.err" ||
	status=$?
unlock
say <"$dir/append.err"
check "locked at the start: refused in words (status $status)" \
	"$(both "$(is $status = 1)" \
		"$(grep -c "another program keeps it locked" "$dir/append.err")")"
rm -f "$disk"/locked.db*

# A write that never comes back (tests/fault/crash_at.c).
stall() {
	begin "$1" CRASH_AT=batch:40 CRASH_STALLS=1 CRASH_LOG="$dir/$1.log" \
		LD_PRELOAD="$WEFT_BUILD/fault/crash_at.so"
	wait_for 120 grep -q died "$dir/$1.log" || true
	sleep 1
	kill -INT "$recorder"
}
for name in stuck${DISK_STUCK:+ stuck_long}; do
	stall "$name"
	# Once the first is on its way.
	if [ "$name" = stuck ]; then
		sleep 1
		kill -TERM "$recorder"
	fi
	ended "$name"
	check "$name: it says why" "$(if says "$name" "still being written"
		then echo 1; else echo 0; fi)"
done

live_done

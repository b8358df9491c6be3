#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A disk that is full: recording goes on and says once that it cannot write;
# intervals merge meanwhile, and are written when there is room again, without
# anything that is not counted.
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

# begin NAME: $recorder, which says things in $dir/NAME.err
begin() {
	name=$1
	background "$weft" record -p $target --interval 0.1 -F 4999 \
		--detail 1/1 --health "$dir/$name.prom" -o "$disk/$name.db" \
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

begin full
check "full: it says that it cannot write" "$(if wait_for 120 says full \
	"trying again each second"; then echo 1; else echo 0; fi)"
check "full: its health says so, too" \
	"$(if wait_for 60 fails full 1; then echo 1; else echo 0; fi)"
sleep 2
mount -o remount,size=256M "$disk"
check "full: it writes again when there is room" "$(if wait_for 60 says full \
	"writing again"; then echo 1; else echo 0; fi)"
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
say <"$dir/full.err"
check "full: recording ended as usual" "$(is $status = 0)"
check "full: it was said once" \
	"$(is "$(grep -c "trying again" "$dir/full.err")" = 1)"
check "full: intervals were merged" "$(is "$(sql "$disk/full.db" "SELECT
	max(end_ns - start_ns) > 1000000000 FROM interval")" = 1)"
missing=$(sql "$disk/full.db" "SELECT count(*) FROM interval a WHERE id > 1
	AND NOT EXISTS (SELECT 1 FROM interval b WHERE b.end_ns = a.start_ns)")
echo "# figure: disk_intervals_missing $missing"
check "full: none is missing" "$(is "$missing" = 0)"
check_ledger "$disk/full.db"

live_done

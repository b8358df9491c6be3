#!/bin/sh
# SPDX-License-Identifier: MIT
#
# SQLite before 3.51.3 can lose what was committed where two connections move a
# log into its file. Only the recorder does that: readers of ours, and people's
# shells that are opened, held open and closed beside it, do not. Recordings in
# memory and on disk whose logs are begun anew many times; at the end each is
# whole and has every row that the recorder says it has stored. SHELLS_SECONDS
# says how long.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

seconds=${SHELLS_SECONDS:-20}

mkdir "$dir/memory" "$dir/disk" "$dir/stop"
mount -t tmpfs -o size=4G none "$dir/memory" ||
	live_skip "needs a file system of its own"
trap 'umount -l "$dir/memory" 2>/dev/null || true; live_end' EXIT

# again NAME COMMAND...: over and over until the end; counts how often, and how
# often it failed
again() {
	name=$1
	shift
	while [ -d "$dir/stop" ]; do
		if "$@" >/dev/null 2>"$dir/said.$name"; then
			echo >>"$dir/times.$name"
		else
			cat "$dir/said.$name" >>"$dir/failed.$name"
			echo "failed: $*" >>"$dir/failed.$name"
		fi
		sleep 0.5
	done
}

readers=
reader() {
	again "$@" &
	readers="$readers $!"
}

# beside FILE NAME: four readers, a shell that comes and goes, and one that keeps
# a transaction open
beside() {
	reader "$2-top" "$weft" top -n 5 -i "$1"
	reader "$2-loss" "$weft" loss -i "$1"
	reader "$2-own" env WEFT_DB="$1" "$weft"
	reader "$2-export" "$weft" export -f folded -o "$dir/out.$2" "$1"
	reader "$2-shell" sqlite3 -cmd ".timeout 60000" "$1" \
		"SELECT count(*) FROM sample; SELECT count(*) FROM stack"
	reader "$2-held" sqlite3 -cmd ".timeout 60000" "$1" \
		"BEGIN; SELECT count(*) FROM interval;" ".shell sleep 1" \
		"SELECT count(*) FROM interval; COMMIT"
}

# Called through wait_for.
# shellcheck disable=SC2317
has_interval() {
	[ "$(sql "$1" "SELECT count(*) FROM interval")" -gt 0 ]
}

background "$load/stacks" 13 $((seconds + 120)) >/dev/null
targets=$!
background "$load/requests" 2 100000000 20 20 >/dev/null
targets=$targets,$!
recorders=
for where in memory disk; do
	background "$weft" record -q -p "$targets" -F 1999 --detail 1/1 \
		--interval 0.2 --max-wal 1M --health "$dir/$where.prom" \
		-o "$dir/$where/$where.db"
	recorders="$recorders $!"
	wait_for 120 has_interval "$dir/$where/$where.db"
	beside "$dir/$where/$where.db" "$where"
done
sleep "$seconds"
rmdir "$dir/stop"
ended=1
for pid in $recorders; do
	kill -INT "$pid"
	wait "$pid" || ended=0
done
check "both recordings ended as usual" "$ended"
for pid in $readers; do
	wait "$pid"
done
times=$(cat "$dir"/times.* | wc -l)
cat "$dir"/failed.* 2>/dev/null | sort | uniq -c | head -20 | say
check "$times times somebody read: all were answered" "$(both \
	"$(is "$times" -ge 24)" "$(is "$(cat "$dir"/failed.* 2>/dev/null |
		wc -l)" = 0)")"
echo "# figure: shells_seconds $seconds"
echo "# figure: shells_reads $times"

# told WHERE ENTRY: what the recorder itself has counted
told() {
	awk -v entry="entry=\"$2\"}" \
		'index($1, entry) { sum += $2 } END { printf "%d\n", sum }' \
		"$dir/$1.prom"
}

missing=0
for where in memory disk; do
	db=$dir/$where/$where.db
	same "$where: the file is whole" "$db" "PRAGMA integrity_check" ok
	rows=$(sql "$db" "SELECT count(*) FROM sample")
	counts=$(sql "$db" "SELECT sum(count) FROM stack_count")
	stored=$(told $where stored)
	counted=$(($(told $where counted) - $(told $where lost_counts_discarded)))
	echo "# $where: $rows of $stored samples, $counts of $counted counts"
	missing=$((missing + stored - rows + counted - counts))
	check "$where: every row that was stored is there" "$(both \
		"$(both "$(is "$rows" -gt 0)" "$(is "$rows" = "$stored")")" \
		"$(is "$counts" = "$counted")")"
done
echo "# figure: shells_missing $missing"
live_done

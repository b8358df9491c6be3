#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Recording for long, of a busy machine: 4,999 Hz of all CPUs, a hundred new
# processes a second, requests, very many stacks, and a reader every ten seconds.
# What the recorder holds of memory, descriptors and log is looked at once a
# second; once it has settled it must not grow. SOAK_SECONDS says how long. With
# SOAK_NEW=1 the same is asked of what would take weeks: 9,999 Hz, and nearly
# every stack is one that never was before. With SOAK_DAY=1, at the default rate,
# what a day would take on disk.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

seconds=${SOAK_SECONDS:-20}
hz=4999
levels=13
floods=1
if [ -n "${SOAK_DAY:-}" ]; then
	hz=997
elif [ -n "${SOAK_NEW:-}" ]; then
	hz=9999
	levels=24
	floods=4
fi
db=$dir/soak.db
looks=$dir/looks

# of_tree PID: it, and all that it started
of_tree() {
	echo "$1"
	# shellcheck disable=SC2013 # they are words of one line
	for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
		of_tree "$child"
	done
}

size_of() {
	stat -c %s "$1" 2>/dev/null || echo 0
}

# A line: second, resident kB and descriptors of the recorder, the same of all
# its processes, bytes of log and file.
look() {
	rss=0
	fds=0
	own=
	for pid in $(of_tree "$recorder"); do
		kb=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" \
			2>/dev/null) || kb=0
		n=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
		[ -n "$own" ] || own="${kb:-0} $n"
		rss=$((rss + ${kb:-0}))
		fds=$((fds + n))
	done
	echo "$1 $own $rss $fds $(size_of "$db-wal") $(size_of "$db")" >>"$looks"
}

# A reader: what people would ask for while it records.
read_once() {
	for command in "top -n 5" "traces -n 5" loss; do
		# shellcheck disable=SC2086
		"$weft" $command -i "$db" >"$dir/read" 2>&1 || {
			echo "$command" >>"$dir/unread"
			say <"$dir/read"
		}
		reads=$((reads + 1))
	done
}

background "$weft" record -q -a -F "$hz" -o "$db"
recorder=$!
background "$load/storm" 100 $((seconds + 120)) 2 >/dev/null
while [ $floods -gt 0 ]; do
	background "$load/stacks" $levels $((seconds * 2)) >/dev/null
	floods=$((floods - 1))
done
background "$load/requests" 2 100000000 20 20 >/dev/null
# From here on there is something to read.
# Called through wait_for.
# shellcheck disable=SC2317
has_request() {
	[ "$(sql "$db" "SELECT count(*) FROM trace")" -gt 0 ]
}
wait_for 120 has_request
reads=0
: >"$dir/unread"
begin=$(date +%s)
while now=$(($(date +%s) - begin)) && [ $now -lt "$seconds" ]; do
	look $now
	if [ $((now / 10)) -gt $((reads / 3)) ]; then
		read_once
	fi
	sleep 1
done
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
check "recording ended as usual" "$(is $status = 0)"
unread=$(wc -l <"$dir/unread")
check "$reads reads while it recorded: all were answered" \
	"$(is "$unread" = 0)"

# mean COLUMN FROM TO: of the looks in that part of the time, in percent
mean() {
	awk -v column="$1" -v from="$2" -v to="$3" -v all="$seconds" '
	$1 * 100 >= from * all && $1 * 100 < to * all {
		sum += $column; n++ }
	END { printf "%.0f\n", n ? sum / n : 0 }' "$looks"
}
most() {
	awk -v column="$1" '$column > most { most = $column }
		END { print most + 0 }' "$looks"
}
# Of the second half, by least squares: kB a minute.
slope() {
	awk -v column="$1" -v all="$seconds" '$1 * 2 >= all {
		n++; x += $1; y += $column
		xx += $1 * $1; xy += $1 * $column }
	END { d = n * xx - x * x
		printf "%.1f\n", d ? 60 * (n * xy - x * y) / d : 0 }' "$looks"
}
figure() {
	echo "# figure: soak_${SOAK_NEW:+new_}${SOAK_DAY:+day_}$1 $2"
}
figure seconds "$seconds"
figure looks "$(wc -l <"$looks")"
figure recorder_kb "$(mean 2 75 100)"
figure recorder_kb_a_minute "$(slope 2)"
figure all_kb "$(mean 4 75 100)"
figure all_kb_a_minute "$(slope 4)"
figure recorder_kb_most "$(most 2)"
figure descriptors_most "$(most 3)"
figure all_descriptors_most "$(most 5)"
figure log_bytes_most "$(most 6)"
figure file_bytes "$(size_of "$db")"
if [ -n "${SOAK_DAY:-}" ]; then
	# At most, where it goes on so: at first more is new than later.
	figure bytes_an_hour $(($(size_of "$db") * 3600 / seconds))
	figure bytes_a_day $(($(size_of "$db") * 86400 / seconds))
fi
figure counted "$(entry "$db" counted)"
figure stored "$(entry "$db" stored)"
figure processes "$(sql "$db" "SELECT count(*) FROM process")"
figure stacks "$(sql "$db" "SELECT count(*) FROM stack")"
figure nodes "$(sql "$db" "SELECT count(*) FROM stack_node")"
sql "$db" "SELECT entry || ' ' || sum(count) FROM ledger WHERE entry LIKE
	'lost%' OR entry LIKE '%\_lost' ESCAPE '\' OR entry = 'stack_lost'
	GROUP BY entry HAVING sum(count)" | say
# At its limit of 64 MiB nothing more is begun. But a batch is written whole, and
# one of a million counts, merged while a reader was slow, touches most pages.
check "the log stays below its limit and one batch (256 MiB)" \
	"$(is "$(most 6)" -lt $((256 << 20)))"
check "the recorder's memory stays below 512 MiB" \
	"$(is "$(most 2)" -lt $((512 << 10)))"
# Caches fill at first; a brief run is all first.
if [ "$seconds" -ge 300 ]; then
	check "memory: of the last quarter at most a tenth above the second" \
		"$(is $(($(mean 4 75 100) * 10)) -le $(($(mean 4 25 50) * 11)))"
	check "descriptors: of the last quarter no more than of the second" \
		"$(is "$(mean 5 75 100)" -le $(($(mean 5 25 50) + 4)))"
fi
live_done

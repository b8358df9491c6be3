#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What happens right before a recording ends is in it: of 10,000 calls that are
# over when a signal comes, the time is up or the command ends, 10,000 are
# counted, and each is stored in detail. LAST_ROUNDS: how often of each.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
rounds=${LAST_ROUNDS:-1}
event="uprobe:$load/called:counted_call"
db="$dir/last.db"

# Called through wait_for.
# shellcheck disable=SC2317
has_interval() {
	[ "$(sql "$db" "SELECT count(*) FROM interval")" -gt 0 ]
}

# begin [OPTION...]: a recording in the background, until it has an interval
begin() {
	background "$weft" record -q -e "$event" --detail 1/1 -a -o "$db" "$@"
	recorder=$!
	wait_for 60 has_interval
}

# record WAY: a recording that ends so, right after the calls
record() {
	case $1 in
	command)
		"$weft" record -q -e "$event" --detail 1/1 --interval 10 \
			-o "$db" -- "$load/called" 10000 >/dev/null
		return
		;;
	duration)
		begin --interval 1.5 -d 2
		"$load/called" 10000 >/dev/null
		# Else it was too late, on a machine that is too busy.
		kill -0 "$recorder"
		;;
	*)
		begin --interval 0.5
		"$load/called" 10000 >/dev/null
		kill -"$1" "$recorder"
		;;
	esac
	wait "$recorder"
}

of_all=0 lack=0
for way in INT TERM HUP duration command; do
	whole=0 tried=0
	while [ $whole -lt "$rounds" ] && [ $tried -lt $((rounds + 5)) ]; do
		tried=$((tried + 1))
		rm -f "$db" "$db".old
		record $way || continue
		got=$(sql "$db" "SELECT (SELECT sum(count) FROM stack_total)
			|| ' ' || (SELECT count(*) FROM sample)
			|| ' ' || (SELECT count(*) FROM recording
				WHERE ended_ns IS NOT NULL)")
		if [ "$got" != "10000 10000 1" ]; then
			echo "$way: counted, stored, ended: $got" | say
			lack=$((lack + 1))
			break
		fi
		whole=$((whole + 1))
	done
	of_all=$((of_all + whole))
	echo "$whole of $rounds, in $tried" | say
	check "$way right after 10,000 calls: all are counted and stored" \
		"$(is $whole = "$rounds")"
done
echo "figure: last_interval_whole $of_all" | say
echo "figure: last_interval_lacking $lack" | say
check_ledger "$db"
live_done

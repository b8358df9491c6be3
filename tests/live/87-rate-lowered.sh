#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The kernel's limit of rates is lowered while a recording runs, as the kernel
# does by itself where samples take long: what is held back is counted in its
# interval, and said. The limit is the machine's, and put back.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
limit=/proc/sys/kernel/perf_event_max_sample_rate
was=$(cat $limit)
trap 'echo "$was" >$limit; live_end' EXIT
db="$dir/lowered.db"

# throttled: how often, in the intervals so far; '' if that is not known
throttled() {
	sql "$db" "SELECT sum(count) FROM ledger WHERE entry = 'throttled'"
}

# Called through wait_for.
# shellcheck disable=SC2317
has_intervals() {
	[ "$(sql "$db" "SELECT count(*) FROM interval")" -ge 2 ]
}

# Called through wait_for.
# shellcheck disable=SC2317
is_throttled() {
	[ "$(throttled)" -gt 0 ]
}

background "$load/spin" 60 2 >/dev/null
background "$weft" record -F 4999 --interval 0.5 -o "$db" 2>"$dir/log"
recorder=$!
wait_for 30 has_intervals
before=$(throttled)
echo 300 >$limit
wait_for 30 is_throttled || true
during=$(throttled)
echo "$was" >$limit
kill -INT "$recorder"
wait "$recorder"
say <"$dir/log"
echo "held back before: $before, then: $during" | say
check "where nothing is held back that is measured, and 0" \
	"$(is "$before" = 0)"
check "below the rate: it is counted how often a timer was held back" \
	"$(is "$during" -gt 0)"
check "each CPU tells its own" "$(is "$(sql "$db" "SELECT count(*) FROM
	(SELECT cpu FROM cpu_interval GROUP BY cpu HAVING sum(throttled) > 0)")" \
	= "$(sql "$db" "SELECT cpus FROM recording")")"
check "the recorder names the limit" \
	"$(grep -c "kernel.perf_event_max_sample_rate" "$dir/log")"
check_ledger "$db"
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Nothing is lost silently: at a high rate, over many epoch swaps, with busy
# threads and a fork storm, every firing ends in one named entry; and where
# room is made too small on purpose, the losses are named.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# Two busy threads and 200 short processes a second for longer than a
# recording takes; ended with the test.
background "$load/spin" 600 2 >/dev/null
background "$load/storm" 200 600 2 >/dev/null

"$weft" record -q -F 4999 -d 8 --interval 0.25 -o "$dir/busy.db" 2>&1 | say
check_ledger "$dir/busy.db"
n=$(sql "$dir/busy.db" "SELECT count(*) FROM interval")
check "busy: at least 20 epoch swaps" "$(is "$n" -ge 20)"
check "busy: no sample was lost" \
	"$(is "$(sql "$dir/busy.db" "SELECT sum(count) FROM ledger
		WHERE entry LIKE 'lost%'")" = 0)"
check "busy: not_run is measured" \
	"$(is "$(sql "$dir/busy.db" "SELECT count(count) FROM ledger
		WHERE entry = 'not_run'")" -ge 20)"

# Its share of the stacks is all that one program gets; the counts are used up
# by very many.
background "$load/stacks" 14 600 >/dev/null
stacks=$!
background "$load/storm" 500 600 1 >/dev/null
storm=$!
"$weft" record -q -F 4999 -d 3 --interval 0.25 --max-stacks 16 \
	-o "$dir/few_stacks.db" 2>&1 | say
check_ledger "$dir/few_stacks.db"
check "few_stacks: samples without room for their stack are named" \
	"$(is "$(entry "$dir/few_stacks.db" stack_lost)" -gt 0)"
check "few_stacks: samples without room for their count are named" \
	"$(is "$(entry "$dir/few_stacks.db" lost_counts_full)" -gt 0)"
check "few_stacks: the lost stack is a stack of its own" \
	"$(is "$(sql "$dir/few_stacks.db" "SELECT sum(c.count)
		FROM stack_count c JOIN stack s ON s.id = c.stack_id
		WHERE s.status = 'lost'")" -gt 0)"
kill "$stacks" "$storm"

"$weft" record -q -F 4999 -d 3 --interval 1 --detail 1/1 --ring-size 4k \
	-o "$dir/small_ring.db" 2>&1 | say
check_ledger "$dir/small_ring.db"
check "small_ring: details without room are named" \
	"$(is "$(entry "$dir/small_ring.db" lost_ring_full)" -gt 0)"

background "$weft" record -q -F 4999 --interval 0.25 --detail 1/1 \
	--ring-size 64k -o "$dir/stopped.db"
recorder=$!
wait_for 20 test -s "$dir/stopped.db"
sleep 1
kill -STOP "$recorder"
sleep 2
kill -CONT "$recorder"
sleep 1
kill -INT "$recorder"
wait "$recorder" || true
check_ledger "$dir/stopped.db"
check "stopped: what a stopped collector could not take is named" \
	"$(is "$(entry "$dir/stopped.db" lost_ring_full)" -gt 0)"
check "stopped: the counts are whole all the same" \
	"$(is "$(sql "$dir/stopped.db" "SELECT count(*) FROM ledger
		WHERE entry IN ('lost_counts_full', 'lost_busy',
		'lost_counts_discarded') AND count > 0")" = 0)"

live_done

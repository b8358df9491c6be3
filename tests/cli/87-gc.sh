#!/bin/bash
# SPDX-License-Identifier: MIT
# weft gc: what is old goes and is named, sums stay, what is pinned stays, and
# the file gets smaller.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c

ask() {
	sqlite3 weft.db "$1"
}

# All that rolling up must not change, in plain SQL.
sums() {
	ask "SELECT event_id, process_id, stack_id, sum(count), sum(value)
		FROM stack_count GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
		SELECT event_id, entry, sum(count), sum(value) FROM ledger
		WHERE entry NOT IN ('stored', 'expired')
		GROUP BY 1, 2 ORDER BY 1, 2;
		SELECT sum(count), sum(value) FROM ledger
		WHERE entry IN ('stored', 'expired');
		SELECT sum(due), sum(fired) FROM cpu_interval;
		SELECT sum(end_ns - start_ns), min(start_ns) FROM interval"
}

balanced() {
	"$weft" loss --json --recording all >balance
	[ "$(json balance 'sum(abs(i["difference"] or 0)
		for i in j["identities"])')" = 0 ]
	[ "$(ask 'PRAGMA integrity_check; PRAGMA journal_mode')" = "ok
delete" ]
}

without_a_rule() {
	recording weft.db
	sums >before
	ask "SELECT count(*) FROM sample" >samples
	run "$weft" gc
	expect 0
	[ ! -s out ]
	has err 'writing it anew'
	sums | diff before -
	ask "SELECT count(*) FROM sample" | diff samples -
	balanced
	# what was made without it gives back room from now on
	[ "$(ask 'PRAGMA auto_vacuum')" = 2 ]
	run "$weft" gc
	expect 0
	lacks err 'writing it anew'
}

by_age() {
	local n
	recording weft.db
	n=$(ask "SELECT count(*) FROM sample")
	sums >before
	run "$weft" gc --keep-detail 24h --keep-shape 24h,24h
	expect 0
	has err "detail gone: $n samples"
	sums | diff before -
	balanced
	[ "$(ask "SELECT count(*) FROM sample")" = 0 ]
	[ "$(ask "SELECT sum(count) FROM ledger WHERE entry = 'expired'")" = "$n" ]
	# reports say so, and what they know exactly is as before
	run "$weft" top
	expect 0
	has out "^expired: 0 of the samples .*, $n of the detail samples"
	[ "$(json balance 'j["expired_detail_samples"]')" = "$n" ]
	run "$weft" traces
	expect 4
}

pinned() {
	local n
	recording weft.db
	n=$(ask "SELECT samples FROM trace WHERE hex = '$A'")
	"$weft" traces --json >before
	run "$weft" gc --pin "${A:0:31}"
	expect 0
	has err "$A is pinned"
	run "$weft" gc --pins
	has out "$A"
	"$weft" gc -q --keep-detail 1d
	balanced
	[ "$(ask "SELECT hex, samples FROM trace")" = "$A|$n" ]
	# its estimate is as it was: all of its samples are there
	"$weft" traces --json >after
	cat >estimate.py <<-END
		import json, sys
		for name in sys.argv[1:]:
		    print([r for r in json.load(open(name))["rows"]
		           if r["trace_id"] == "$A"])
	END
	[ "$(python3 estimate.py before)" = "$(python3 estimate.py after)" ]
	"$weft" gc -q --unpin "$A"
	"$weft" gc -q --keep-detail 1d
	[ "$(ask "SELECT count(*) FROM trace")" = 0 ]
	balanced
	run "$weft" gc --pin "$A"
	expect 4
	has err 'no trace in'
	run "$weft" gc --pin 12
	expect 1
	has err 'give 8 to 32'
}

counts() {
	recording weft.db
	run "$weft" gc --keep-shape 1d,1d,1d
	expect 0
	has err 'counted samples expired'
	[ "$(ask "SELECT (SELECT count(*) FROM stack_count),
		(SELECT count(*) FROM stack_total)")" = '0|0' ]
	balanced
	run "$weft" loss
	has out 'expired since:'
}

dry() {
	local size
	recording weft.db
	"$weft" gc -q
	size=$(stat -c %s weft.db)
	ask .dump >before
	run "$weft" gc --dry-run --keep-detail 1d --max-size 1
	expect 0
	has err 'detail that would go'
	has err 'would have'
	ask .dump | diff before -
	[ "$(stat -c %s weft.db)" = "$size" ]
	[ ! -e weft.db-wal ]
}

refused() {
	recording weft.db
	run "$weft" gc --keep-detail soon
	expect 2
	has err "--keep-detail takes a time, as 24h; not 'soon'"
	run "$weft" gc --keep-shape 2h,1h
	expect 2
	run "$weft" gc --pin "$A" --keep-detail 1h
	expect 2
	run "$weft" gc -i none.db
	expect 1
	has err 'name a recording with -i FILE'
	# whose lock another holds
	python3 -c '
import fcntl, struct, subprocess, sys
f = open("weft.db.lock", "w")
fcntl.fcntl(f, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
sys.exit(subprocess.run(sys.argv[1:]).returncode)' \
		"$weft" gc --keep-detail 1h 2>err && return 1
	has err 'weft record itself lets go'
}

it "without a rule, nothing is lost and the file can give back room" without_a_rule
it "by age: detail goes, shape rolls up, all sums stay" by_age
it "a pinned request stays, and its estimate" pinned
it "counts that go are named, and the ledger balances" counts
it "--dry-run leaves the file as it is" dry
it "what makes no sense is refused, and a file that is recorded" refused
finish

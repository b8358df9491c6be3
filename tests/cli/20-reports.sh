#!/bin/bash
# SPDX-License-Identifier: MIT
# What the reports print.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c

# report GOLDEN ARGUMENT...: text as the golden file, nothing on stderr, and
# --json that parses.
report() {
	local name=$1
	shift
	recording weft.db
	run "$weft" "$@"
	expect 0
	golden "$name" out
	[ ! -s err ]
	lacks out "$(printf '\033')"
	run "$weft" "$@" --json
	expect 0
	[ ! -s err ]
	is_json out
}

top_adds_up() {
	recording weft.db
	run "$weft" top -n 0 --json
	[ "$(json out 'sum(r["self_samples"] for r in j["rows"])')" = 300 ]
	[ "$(json out 'j["samples"]')" = 300 ]
	[ "$(json out '[r["total_samples"] for r in j["rows"]
		if r["function"] == "compress"]')" = '[160]' ]
	[ "$(json out 'round(j["named_share"], 4)')" = 0.9067 ]
	[ "$(json out 'all(r["self_share_lo"] <= r["self_share"]
		<= r["self_share_hi"] for r in j["rows"])')" = True ]
}

same_as_views() {
	recording weft.db
	"$weft" top -n 0 --json >out
	json out '"\n".join(sorted("%s %d %d" % (r["function"], r["self_samples"],
		r["total_samples"]) for r in j["rows"]
		if r["function"].isprintable() and r["binary"]))' >ours
	"$weft" sql --json "SELECT function, self, total FROM hot_functions" >out
	json out '"\n".join(sorted("%s %d %d" % (f, s, t)
		for f, s, t in j["results"][0]["rows"] if f.isprintable()))' >views
	diff -u views ours
	"$weft" top --by stack -n 0 --json >out
	json out '"\n".join(sorted("%d %d %s" % (r["stack_id"], r["self_samples"],
		r["stack"]) for r in j["rows"] if r["stack"].isprintable()))' >ours
	"$weft" sql --json "SELECT stack_id, count, folded FROM hot_stacks
		WHERE stack_id NOT IN (7, 8)" >out
	json out '"\n".join(sorted("%d %d %s" % tuple(r)
		for r in j["results"][0]["rows"]))' >views
	grep -v '^[78] ' ours >ours2
	diff -u views ours2
}

pid_filter() {
	recording weft.db
	run "$weft" top --pid 200 --json
	expect 0
	[ "$(json out 'j["samples"]')" = 18 ]
	run "$weft" top --pid 300
	expect 4
	[ ! -s out ]
	run "$weft" top --pid x
	expect 2
}

time_range() {
	recording weft.db
	for range in "--since +1" "--since -1" "--until +0.5" \
		"--since 2023-11-14T22:13:21Z"; do
		# shellcheck disable=SC2086
		run "$weft" top $range --json
		expect 0
		[ "$(json out 'j["samples"]')" = 150 ]
		[ "$(json out 'j["whole_recording"]')" = False ]
	done
	run "$weft" top --since +2
	expect 4
	has err 'no interval in that time'
	run "$weft" top --since yesterday
	expect 2
	has err "cannot read the time 'yesterday'"
	run "$weft" traces --since +1 --json
	expect 0
	[ "$(json out '[r["samples"] for r in j["rows"]]')" = '[8, 3]' ]
}

lossy_detail() {
	recording weft.db
	run "$weft" top --by thread --json
	expect 0
	# 15 selected, 14 stored: 28 samples of weight 10 stand for 300
	[ "$(json out 'round(sum(r["self_ns"] for r in j["rows"]))')" = 3000000000 ]
	run "$weft" traces --json
	[ "$(json out 'round(j["rows"][0]["estimate_ns"])')" = 1714285714 ]
	run "$weft" traces --on main --json
	[ "$(json out 'round(j["rows"][0]["estimate_ns"])')" = 1714285714 ]
}

several_recordings() {
	recording weft.db "
	INSERT INTO recording SELECT 2, started_ns + 9e9, NULL, host, kernel, arch,
	  cpus, weft_version, command, boot_id, detail_n, interval_ns FROM recording;
	INSERT INTO event VALUES (2, 2, 'cpu-clock', 'ns', 100),
	  (3, 2, 'faults', 'events', NULL);
	INSERT INTO interval SELECT id + 2, 2, start_ns + 9e9, end_ns + 9e9,
	  clock_offset_ns, clock_error_ns, self_cpu_ns, self_rss_bytes, NULL, NULL
	  FROM interval;
	INSERT INTO stack_count SELECT interval_id + 2, 2, process_id, stack_id,
	  count, value FROM stack_count WHERE stack_id = 4;
	INSERT INTO stack_count VALUES (3, 3, 1, 4, 7, 7);
	INSERT INTO stack_total SELECT event_id, process_id, stack_id, sum(count),
	  sum(value) FROM stack_count WHERE event_id > 1 GROUP BY 1, 2, 3;"
	run "$weft" top --json
	[ "$(json out 'j["samples"]')" = 120 ]
	[ "$(json out 'j["ended"]')" = False ]
	run "$weft" top --recording all --json
	[ "$(json out 'j["samples"]')" = 420 ]
	run "$weft" top --recording 1 --json
	[ "$(json out 'j["samples"]')" = 300 ]
	run "$weft" top --event faults --json
	[ "$(json out 'j["rows"][0]["self_events"]')" = 7 ]
	run "$weft" top --recording 9
	expect 2
	has err 'has no recording 9; its last is number 2'
	run "$weft" top --event nonesuch
	expect 2
	has err "has no event 'nonesuch'"
	run "$weft" traces --recording 2
	expect 4
	run "$weft" traces --recording 1 --json
	[ "$(json out 'j["rows"][0]["samples"]')" = 16 ]
}

on_function() {
	recording weft.db
	run "$weft" traces --on ksys_read
	expect 4
	has err "'ksys_read' has 48 counted samples, but none of the detail"
	run "$weft" traces --on compress --json
	expect 0
	[ "$(json out '[r["samples"] for r in j["rows"]]')" = '[12, 2, 1]' ]
	run "$weft" traces --on nonesuch
	expect 4
	has err "no sample on 'nonesuch': its share is under 0.99 % \(95 %\), under"
}

trace_ids() {
	recording weft.db
	run "$weft" trace 4bf92f35
	expect 0
	run "$weft" trace 4BF92F3577B34DA6A3CE929D0E0E4736
	expect 0
	for id in 4bf92f3 xyz "4bf92f35 " "" 4bf92f3577b34da6a3ce929d0e0e47360 \
		00000000000000000000000000000000 "4bf92f35' OR 1"; do
		run "$weft" trace "$id"
		expect 2
		has err 'is no trace ID'
		[ ! -s out ]
	done
	run "$weft" trace 11111111111111111111111111111111
	expect 4
	has err 'no sample of .* carries trace 1111'
	run "$weft" trace 0af76519
	expect 2
	has err 'trace ID 0af76519 is ambiguous'
	has err "^ *(.n *)?$A|$A"
	run "$weft" trace
	expect 2
	run "$weft" top --trace "$A" --json
	expect 0
	[ "$(json out 'j["samples"], j["estimated"]')" = "(16, True)" ]
	run "$weft" top --trace ffffffff
	expect 4
}

timelines() {
	recording weft.db
	run "$weft" timeline --tid 101 --json
	expect 0
	[ "$(json out 'sum(r["samples"] for r in j["runs"])')" = 16 ]
	run "$weft" timeline --tid 999
	expect 4
	run "$weft" timeline --trace "$A" --json
	expect 0
	[ "$(json out 'set(r["trace_id"] for r in j["runs"])')" = "{'$A'}" ]
	run "$weft" timeline -n 2 --json
	[ "$(json out 'len(j["runs"]), j["runs_left_out"]')" = "(2, True)" ]
}

it "top by function" report top.txt top
it "top by stack" report top-stack.txt top --by stack
it "top by process" report top-process.txt top --by process
it "top by thread says that it is estimated" report top-thread.txt top --by thread
it "top by binary" report top-binary.txt top --by binary
it "top of one request" report top-trace.txt top --trace "$A"
it "traces, by lower limit" report traces.txt traces
it "one request against everyone" report trace.txt trace "$A"
it "timeline folds runs, and marks gaps and other traces" \
	report timeline.txt timeline
it "loss prints the ledger and its identities" report loss.txt loss
it "top adds up to the samples, recursion counted once" top_adds_up
it "top and the views agree" same_as_views
it "--pid keeps to one process" pid_filter
it "--since and --until snap to intervals" time_range
it "estimates make up for detail that was lost" lossy_detail
it "several recordings and events keep apart" several_recordings
it "an absent function is bounded, not denied" on_function
it "trace IDs: prefixes, malformed, absent, ambiguous" trace_ids
it "timeline of a thread, a trace, a few rows" timelines
finish

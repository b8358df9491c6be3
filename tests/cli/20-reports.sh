#!/bin/bash
# SPDX-License-Identifier: MIT
# What the reports print.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c

# report GOLDEN ARGUMENT...: of the recording
report() {
	recording weft.db
	report_as "$@"
}

top_adds_up() {
	recording weft.db
	run "$weft" top -n 0 --json
	[ "$(json out 'sum(r["self_samples"] for r in j["rows"])')" = 300 ]
	[ "$(json out 'j["samples"]')" = 300 ]
	[ "$(json out '[r["total_samples"] for r in j["rows"]
		if r["function"] == "compress"]')" = '[160]' ]
	[ "$(json out 'round(j["named_share"], 4)')" = 0.9067 ]
	[ "$(json out 'round(sum(j["named_by"].values()), 4)')" = 0.9067 ]
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

# two_recordings FILE: the second has no sample that tells a trace.
two_recordings() {
	recording "$1" "
	INSERT INTO recording SELECT 2, started_ns + 9e9, NULL, host, kernel, arch,
	  cpus, weft_version, command, boot_id, detail_n, interval_ns FROM recording;
	INSERT INTO event (id, recording_id, name, unit, requested_hz)
		VALUES (2, 2, 'cpu-clock', 'ns', 100),
	  (3, 2, 'faults', 'events', NULL);
	INSERT INTO interval SELECT id + 2, 2, start_ns + 9e9, end_ns + 9e9,
	  clock_offset_ns, clock_error_ns, self_cpu_ns, self_rss_bytes, NULL, NULL
	  FROM interval;
	INSERT INTO stack_count SELECT interval_id + 2, 2, process_id, stack_id,
	  count, value FROM stack_count WHERE stack_id = 4;
	INSERT INTO stack_count VALUES (3, 3, 1, 4, 7, 7);
	INSERT INTO stack_total SELECT event_id, process_id, stack_id, sum(count),
	  sum(value) FROM stack_count WHERE event_id > 1 GROUP BY 1, 2, 3;"
}

several_recordings() {
	two_recordings weft.db
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
	run "$weft" top --event wall
	expect 2
	has err '-e wall records cpu-clock, on-cpu, off-cpu and run-queue'
	run "$weft" top --value nonesuch
	expect 4
	has err "no sample of value 'nonesuch'; .*--shape-by"
	run "$weft" traces --recording 2
	expect 4
	run "$weft" traces --recording 1 --json
	[ "$(json out 'j["rows"][0]["samples"]')" = 16 ]
}

# A trace that a report has no sample of: it says where there are some.
trace_elsewhere() {
	two_recordings weft.db
	for ask in "trace $A" "top --trace $A" "timeline --trace $A" \
		"export --trace $A"; do
		# shellcheck disable=SC2086
		run "$weft" $ask
		expect 4
		has err "recording 1 has 16 of it, of cpu-clock: --recording 1\$"
		[ ! -s out ]
	done
	for ask in "traces" "flame --trace $A" "diff --trace $A" \
		"diff --slow 99"; do
		# shellcheck disable=SC2086
		run "$weft" $ask
		expect 4
		has err 'carries a trace ID, but others do: .*--recording all'
	done
	run "$weft" trace "$A" --recording 1
	expect 0
	run "$weft" trace "$A" --recording all
	expect 0
	has out '^trace .*: 16 samples'
	run "$weft" trace "$A" --event faults
	expect 4
	has err 'of cpu-clock: --recording 1 --event cpu-clock$'
	run "$weft" trace "$A" --recording 1 --until +1
	expect 0
	recording one.db "UPDATE sample_sealed SET interval_id = 2
		WHERE trace = (SELECT id FROM trace WHERE hex = '$A');"
	run "$weft" trace "$A" --until +1 one.db
	expect 4
	has err 'of cpu-clock at another time: leave out --since and --until$'
	run "$weft" top --trace "$A" --pid 200 one.db
	expect 4
	has err "has no sample of that in 'one.db'\$"
	run "$weft" top --pid 99 one.db
	expect 4
	has err "'one.db' has no sample of process 99, of cpu-clock in recording 1;"
	run "$weft" timeline --tid 99 one.db
	expect 4
	has err "no detail sample of thread 99, of cpu-clock in recording 1;"
	# with spans there is something to print
	sqlite3 weft.db "INSERT INTO span SELECT id, x'0000000000000001', NULL,
		's', 'GET', 'server', 1699999995000000000, 1699999996000000000,
		'ok', '{}' FROM trace WHERE hex = '$A';"
	run "$weft" trace "$A"
	expect 0
	has out 'no sample of that; recording 1 has 16 of it, .*--recording 1$'
	lacks out 'may have used|nobody can say'
}

# Two processes of a name, one of a kernel thread, and several reasons.
ends() {
	recording weft.db "
	INSERT INTO process VALUES
	  (3, 1, 300, 3000, 1, 1, NULL, 'worker', NULL, NULL, NULL),
	  (4, 1, 400, 4000, 1, 1, NULL, 'kthread', NULL, NULL, NULL),
	  (5, 1, 500, 5000, 1, 1, NULL, NULL, NULL, NULL, NULL);
	INSERT INTO stack (id, status, depth, ended) VALUES
	  (20, 'broken', 1, 'fault'), (21, 'no_user', 1, 'no_user'),
	  (22, 'broken', 1, 'from the future'), (23, 'complete', 1, 'root');
	INSERT INTO stack_node VALUES
	  (20, -162, 3), (21, -19, 6), (22, -306, 3), (23, -48, 3);
	INSERT INTO stack_count VALUES (1, 1, 3, 20, 11, 1), (2, 1, 3, 23, 7, 1),
	  (1, 1, 4, 21, 50, 1), (1, 1, 1, 21, 5, 1), (2, 1, 5, 22, 3000, 1),
	  (2, 1, 5, 20, 2000, 1),
	  (2, 1, 5, 23, 1, 1);
	INSERT INTO stack_total SELECT event_id, process_id, stack_id, count, value
	  FROM stack_count WHERE stack_id >= 20;"
	run "$weft" loss --json
	expect 0
	row='"%s %s %d %d %.4f %.4f %.4f %.4f %s" % (r["comm"], r["processes"],
		r["user_samples"], r["no_user_samples"], r["complete_share"],
		r["truncated_share"], r["broken_share"], r["lost_share"],
		sorted((k, round(v, 4)) for k, v in r["broken_by_share"].items()))'
	json out "'\n'.join($row for r in j['stacks_by_process']
		if r['comm'] is None or r['comm'].isprintable())" >rows
	is rows "None 1 5001 0 0.0002 0.0000 0.9998 0.0000 [('fault', 0.4), ('other', 0.6)]
worker 2 300 5 0.8767 0.0333 0.0700 0.0200 [('fault', 0.5238), ('no_frame', 0.4762)]"
	[ "$(json out 'len(j["stacks_by_process"])')" = 3 ]
	[ "$(json out 'j["stacks"]["user_samples"],
		j["stacks"]["no_user_samples"]')" = '(5319, 55)' ]
	run "$weft" loss
	has out '^stacks: 5.3 % complete, 0.2 % truncated, 94.4 % broken \(most: other\), 0.1 % lost, of 5,319 samples with a user stack$'
	has out '^ +5,001 +< 0\.1 +0 +> 99\.9 +0 +1  - +other \(60\.0 %\)$'
	has out '^ +300 +87\.7 +3\.3 +7\.0 +2\.0 +2  worker +fault \(52\.4 %\)$'
	has out '^left out: 55 samples without a user stack'
	has out '^fault: stack memory'
	has out '^other: '
	lacks out '^no_frame: '
	lacks out 'kthread|more; -n'
	run "$weft" loss -n 1
	has out '^2 more; -n 0 prints all'
	lacks out '^fault: '
	run "$weft" loss --since +1 --json
	[ "$(json out '[(r["user_samples"], round(r["complete_share"], 4))
		for r in j["stacks_by_process"]][0]')" = '(5001, 0.0002)' ]
	[ "$(json out 'j["stacks"]["no_user_samples"]')" = 0 ]
	run "$weft" top --by process
	expect 0
	has out 'PID  COMM .* COMPLETE %  TRUNCATED %  BROKEN %  MOST BROKEN BY'
	has out '  300  worker +38\.9 +0 +61\.1  fault$'
	has out '  400  kthread +- +- +-  -$'
	run "$weft" top --by process --json
	[ "$(json out '[round(r["stacks"]["broken_share"], 4) for r in j["rows"]
		if r["pid"] == 300]')" = '[0.6111]' ]
	[ "$(json out '[r["stacks"]["broken_by_share"] for r in j["rows"]
		if r["pid"] == 500]')" = "[{'other': 0.6, 'fault': 0.4}]" ]
	[ "$(json out '[r["stacks"]["complete_share"] for r in j["rows"]
		if r["pid"] == 400]')" = '[None]' ]
	run "$weft" top --since +1 --by process --json
	[ "$(json out '[r["stacks"]["broken_share"] for r in j["rows"]
		if r["pid"] == 300]')" = '[0]' ]
	run "$weft" top --pid 400
	has out '^stacks: no sample has a user stack$'
}

# Each word that the collector stores is known here.
words() {
	sed -n '/ledger_names/,/^}/s/.*= "\([a-z_]*\)",$/\1/p' \
		"$root/collector/ledger.c" >entries
	sed -n '/walk_end_names/,/^}/s/.*= "\([a-z_]*\)",$/\1/p' \
		"$root/collector/ledger.c" >ended
	[ "$(wc -l <entries)" -gt 30 ]
	[ "$(wc -l <ended)" -gt 10 ]
	{
		sed "s/.*/INSERT OR IGNORE INTO ledger_entry (name) VALUES ('&');/" \
			entries
		echo "INSERT OR IGNORE INTO ledger_row
			SELECT 1, 1, id, 0, 0 FROM ledger_entry;"
		sed "s/.*/('broken', 0, '&');/; s/^/INSERT INTO stack (status, \
			depth, ended) VALUES /" ended
		echo "INSERT OR IGNORE INTO stack_count
			SELECT 1, 1, 1, id, 1, 1 FROM stack;
		INSERT OR IGNORE INTO stack_total SELECT event_id, process_id,
			stack_id, count, value FROM stack_count;"
	} >more.sql
	recording weft.db "$(cat more.sql)"
	run "$weft" loss
	expect 0
	while read -r word; do
		has out "^(not measured|[ 0-9]+)  $word +[a-z]"
	done <entries
	run "$weft" loss --json
	json out '"\n".join(sorted(j["stacks"]["broken_by_share"]))' >known
	sort ended | diff -u - known
}

# Sources and statuses of each process, as the file has them.
# Of two stacks one has many short blocks, the other few long ones.
blocks_by_time() {
	recording weft.db "
		INSERT INTO event (id, recording_id, name, unit)
		  VALUES (2, 1, 'off-cpu', 'ns');
		INSERT INTO stack_count
		  SELECT 1, 2, c.process_id, k.id, iif(k.id % 2, 90, 10),
		    iif(k.id % 2, 1, 9) * 1000000
		  FROM stack k JOIN stack_count c ON c.stack_id = k.id
		  WHERE c.interval_id = 1 GROUP BY k.id % 2;
		INSERT INTO stack_total
		  SELECT event_id, process_id, stack_id, count, value
		  FROM stack_count WHERE event_id = 2;"
	run "$weft" top --event off-cpu --by stack
	expect 0
	has out 'shares are of the time of 100 samples'
	run "$weft" top --event off-cpu --by stack --json
	[ "$(json out '[(r["self_share"], r["self_samples"])
		for r in j["rows"]]')" = '[(0.9, 10), (0.1, 90)]' ]
}

where_trace_ids_are_from() {
	recording weft.db "
		INSERT INTO context_source_word VALUES (2, 'go');
		UPDATE sample_sealed SET context_source = 2
		 WHERE trace IS NOT NULL AND id % 2;
		UPDATE sample_sealed SET context_status = 1
		 WHERE trace IS NULL AND id % 2"
	run "$weft" loss --json
	expect 0
	json out '"\n".join("%s %d %d %s %s" % (p["pid"], p["detail_samples"],
		p["with_trace_id"], sorted(p["with_by_source"].items()),
		sorted(p["without_by_status"].items()))
		for p in j["trace_ids_by_process"])' >ours
	cat ours
	[ "$(json out 'sum(p["detail_samples"]
		for p in j["trace_ids_by_process"])')" = 28 ]
	[ "$(json out 'j["trace_ids"]["with_trace_id"]')" = \
		"$("$weft" sql "SELECT count(trace_id) FROM samples" | tail -n 1 |
			tr -d ' ')" ]
	[ "$(json out 'sum(sum(p["with_by_source"].values()) +
		sum(p["without_by_status"].values())
		for p in j["trace_ids_by_process"])')" = 28 ]
	[ "$(json out 'j["trace_ids"]["with_by_source"]["go"]')" = \
		"$(sqlite3 weft.db "SELECT count(*) FROM samples
			WHERE context_source = 'go'")" ]
	[ "$(json out 'j["trace_ids"]["without_by_status"]["null"]')" = \
		"$(sqlite3 weft.db "SELECT count(*) FROM samples
			WHERE context_status = 'null'")" ]
	run "$weft" traces --json
	[ "$(json out 'j["trace_ids"]["with_trace_id"]')" = 22 ]
	[ "$(json out 'j["trace_ids"]["without_by_status"]')" = "{'zero': 6}" ]
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
	lacks err "did you mean"
	run "$weft" traces --on compres
	expect 4
	has err "was it; did you mean 'compress'\?"
}

# A request's stack is compared with all that read the same: other addresses in
# the same functions, here of the leaf, of a caller, and of one that only begins
# like it; whether stacks tell the frame of their leaf, as those of today do, or
# not.
everyones_share() {
	recording weft.db "
	INSERT INTO frame SELECT 900 + id, binary_id, address + 1000, in_kernel, 0
	  FROM frame;
	INSERT INTO frame_function SELECT 900 + frame_id, inline_depth,
	  function_id, line FROM frame_function;
	INSERT INTO stack_node SELECT 900 + id, parent_id, 900 + frame_id
	  FROM stack_node;
	INSERT INTO stack_node SELECT 1900 + id,
	  iif(parent_id > 0, 900 + parent_id, parent_id), frame_id FROM stack_node
	  WHERE id < 900;
	INSERT INTO stack_node SELECT 2900 + id, id, frame_id FROM stack_node
	  WHERE id < 900;
	INSERT INTO stack (id, status, depth, ended)
	  SELECT 900 + id, status, depth, ended FROM stack;
	INSERT INTO stack (id, status, depth, ended)
	  SELECT 1000 + id, status, depth, ended FROM stack
	   WHERE id > 900 AND depth;
	INSERT INTO stack (id, status, depth, ended)
	  SELECT 2000 + id, status, depth + 1, ended FROM stack
	   WHERE id BETWEEN 901 AND 1899 AND depth;
	INSERT INTO stack_total SELECT 1, 1, id, id % 89, 0 FROM stack
	  WHERE id > 900;
	UPDATE ledger_row SET count = count + (
	  SELECT sum(count) FROM stack_total WHERE stack_id > 900)
	  WHERE (interval_id, event_id, entry_id) = (
	    SELECT min(interval_id), 1, e.id FROM ledger_row r
	      JOIN ledger_entry e ON e.id = r.entry_id
	     WHERE e.name = 'counted' AND r.event_id = 1);"
	for id in $A:1=0 4bf92f35:1=0 $A:id%2 4bf92f35:id%2 $A:1 4bf92f35:1; do
		sqlite3 weft.db "UPDATE stack SET leaf_frame_id = (
			SELECT n.frame_id FROM stack_node n
			WHERE n.id = stack.id AND ${id#*:})"
		id=${id%:*}
		run "$weft" trace "$id" --json
		expect 0
		json out '"\n".join(sorted("%s %.12f" % (r["folded"],
			r["share_everyone"]) for r in j["stacks"]
			if r["folded"].isprintable()))' >ours
		sqlite3 weft.db "SELECT folded || printf(' %.12f',
			sum(count) * 1.0 / (SELECT sum(count) FROM stack_total))
			FROM hot_stacks GROUP BY folded" >everyone
		[ -s ours ]
		cat ours
		# each of ours is there to the last digit
		grep -vxFf everyone ours >missing || true
		[ ! -s missing ]
	done
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
	has err "trace ID 0af76519 is ambiguous; it begins $A, [0-9a-f]{32}\$"
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
	recording every.db "UPDATE recording SET detail_n = 1;"
	run "$weft" timeline every.db
	has out '^detail samples in the order of time; every sample was chosen$'
	run "$weft" timeline -n 2 --json
	[ "$(json out 'len(j["runs"]), j["runs_left_out"]')" = "(2, True)" ]
}

# Blocks and waits, as weft record -e wall has them, in a gap of thread 102: it
# lasts from 5.36 s to 5.7 s. One block ends after it, one is of another thread.
gaps() {
	local B=0af76519ffffffffffffffffffffffff
	recording weft.db "
		INSERT INTO event (id, recording_id, name, unit) VALUES
		 (2, 1, 'off-cpu', 'ns'), (3, 1, 'run-queue', 'ns');
		WITH b(id, event, thread, time_ms, ms, weight) AS (VALUES
		 (101, 2, 2, 5500, 100, 1.0), (102, 2, 2, 5650, 10, 5.0),
		 (103, 3, 2, 5690, 34, 1.0), (104, 2, 2, 5720, 20, 1.0),
		 (105, 2, 1, 5600, 90, 1.0))
		INSERT INTO sample_sealed SELECT id, 1, event, time_ms * 1000000, 0,
		 thread, 4, ms * 1000000, weight, NULL, NULL, NULL, 0, 2 FROM b;"
	run "$weft" timeline --tid 102
	expect 0
	has out ' 340 ms  gap, off-CPU 44 %, runnable 10 %  *102 '
	has out ' 580 ms  gap, not sampled, other trace  *102 '
	run "$weft" timeline --tid 102 --json
	[ "$(json out '[(round(r["gap_off_cpu_ns"]), round(r["gap_runnable_ns"]))
		for r in j["runs"] if r["gap"]]')" = \
		"[(150000000, 34000000), (0, 0), (0, 0)]" ]
	run "$weft" timeline --trace "$B" --json
	[ "$(json out '[(r["gap_off_cpu_ns"] > 0, r["gap_other_request_samples"])
		for r in j["runs"] if r["gap"]]')" = \
		"[(True, 0), (True, 1), (False, 0)]" ]
	run "$weft" timeline --trace "$B"
	has out 'gap, off-CPU 3 %, other request'
	run "$weft" trace "$B"
	has out ' 340 ms  gap  '
}

# The machine sleeps for two hours, and then its clock is set by an hour, to
# either side: order, gaps and lengths go by the time since boot, Unix times by
# what each interval says.
clocks() {
	local step hours=7200000000000
	for step in 3600000000000 -3600000000000; do
		recording weft.db "UPDATE interval SET start_ns = start_ns + $hours,
			end_ns = end_ns + $hours,
			clock_offset_ns = clock_offset_ns + $step WHERE id = 2;
			UPDATE sample_sealed SET time_ns = time_ns + $hours
			 WHERE interval_id = 2;
			UPDATE trace SET
			 first_ns = (SELECT min(time_ns) FROM sample_sealed s
			              WHERE s.trace = trace.id),
			 last_ns = (SELECT max(time_ns) FROM sample_sealed s
			             WHERE s.trace = trace.id)"
		run "$weft" sql --json "SELECT
			(SELECT count(*) FROM sample_order WHERE gap_ns < 0),
			(SELECT max(gap_ns) / $hours FROM sample_order),
			(SELECT count(DISTINCT s.unix_ns - s.time_ns)
			   FROM samples s),
			(SELECT count(*) FROM samples s JOIN sample x
			  ON x.id = s.sample_id JOIN interval i
			  ON i.id = x.interval_id
			 WHERE s.unix_ns <> s.time_ns + i.clock_offset_ns)"
		expect 0
		[ "$(json out 'j["results"][0]["rows"][0]')" = "[0, 1, 2, 0]" ]
		run "$weft" timeline --json -n 0
		expect 0
		[ "$(json out 'all(a["at_ns"] <= b["at_ns"] and
			b["for_ns"] >= 0 for a, b in zip(j["runs"], j["runs"][1:])
			if a["tid"] == b["tid"])')" = True ]
		run "$weft" trace "$A" --json
		expect 0
		[ "$(json out 'j["extent_ns"] // 7200000000000')" = 1 ]
	done
}

# A stack of which no frame is known is not one that found no room.
without_frames() {
	recording weft.db "
		INSERT INTO stack (id, status, depth, ended)
		 VALUES (990, 'broken', 0, 'no_frame');
		INSERT INTO stack_total SELECT 1, 1, 990, 1000, 1000;"
	run "$weft" top -n 0 --json
	expect 0
	[ "$(json out '[(f["function"], f["self_samples"]) for f in j["rows"]
		if f["function"] in ("[no frames]", "[stack lost]")]')" = \
		"[('[no frames]', 1000), ('[stack lost]', 6)]" ]
}

# Counts that no writer writes; one below 0, and two whose sum is beyond 2^63.
odd_ledger() {
	local count
	for count in -5 9223372036854775807; do
		recording weft.db "UPDATE ledger_row SET count = $count
			WHERE entry_id IN (SELECT id FROM ledger_entry
				WHERE name IN ('stored', 'expired'))"
		run "$weft" trace "$A" --json
		expect 0
		[ "$(json out 'j["samples"], j["estimate_ns"]')" = \
			"(16, 1600000000)" ]
	done
}

# wall_of SQL: how many ms a request ran of 100, its span's, from 5.3 s on; its
# part of thread 2's run lasts from 5.308 s, before which is another, to 5.407 s
wall_of() {
	recording weft.db "
		INSERT INTO event (id, recording_id, name, unit) VALUES
		 (2, 1, 'on-cpu', 'ns'), (3, 1, 'run-queue', 'ns'),
		 (4, 1, 'off-cpu', 'ns');
		INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum,
		 first_ns, last_ns) VALUES
		 (9, x'cccccccccccccccccccccccccccccccc', 2, 2, 0, 0, 0);
		INSERT INTO span (trace, span_id, name, start_ns, end_ns) VALUES
		 (9, x'0000000000000001', 'GET', 1700000000300000000, 1700000000400000000);
		WITH p(id, from_ms, until_ms, trace) AS (VALUES
		 (101, 5200, 5308, NULL), (102, 5308, 5407, 9))
		INSERT INTO sample_sealed SELECT id, 1, 2, until_ms * 1000000, 0, 2,
		 4, (until_ms - from_ms) * 1000000, 1.0, trace, NULL, NULL, 0, 2
		FROM p; $1"
	run "$weft" trace --json cccccccccccccccccccccccccccccccc
	expect 0
	json out 'round(j["wall"]["running_ns"] / 1e6)'
}

wall_ends_with_the_span() {
	local late="UPDATE sample_sealed SET (time_ns, value) =
		(5430000000, 122000000) WHERE id = 102;"
	local every="UPDATE recording SET detail_n = 1;"
	local look="INSERT INTO sample_sealed VALUES
		(103, 1, 1, 5420000000, 0, 2, 4, 10000000, 1.0, 9, NULL, NULL, 0, 2);"

	# A run is cut where the span changes, too: no time counts twice.
	local spans="UPDATE sample_sealed SET (time_ns, value) =
		(5390000000, 82000000) WHERE id = 102;
		INSERT INTO sample_sealed VALUES
		(104, 1, 2, 5407000000, 0, 2, 4, 17000000, 1.0, 9, NULL, NULL, 0, 2);"
	local first="UPDATE sample_sealed SET (time_ns, value) =
		(5290000000, 90000000) WHERE id = 101;
		UPDATE sample_sealed SET (time_ns, value) =
		(5310000000, 20000000) WHERE id = 102;
		INSERT INTO sample_sealed VALUES
		(104, 1, 2, 5407000000, 0, 2, 4, 97000000, 1.0, 9, NULL, NULL, 0, 2);"

	# Another request was seen there, by that thread: not even near is near.
	local others="INSERT INTO sample_sealed VALUES
		(105, 1, 1, 5304000000, 0, 2, 4, 10000000, 1.0, 1, NULL, NULL, 0, 2);"

	[ "$(wall_of "")" = 100 ]
	[ "$(wall_of "$others")" = 92 ]
	[ "$(wall_of "$spans")" = 100 ]
	[ "$(wall_of "$first")" = 100 ]
	# The thread came to its CPU only then.
	[ "$(wall_of "DELETE FROM sample_sealed WHERE id = 101;")" = 92 ]
	# More than two periods too late, and there were no looks to be stored; or
	# there were, and it was seen after its end.
	[ "$(wall_of "$late")" = 130 ]
	[ "$(wall_of "$late $every")" = 100 ]
	[ "$(wall_of "$late $every $look")" = 130 ]
}

# Another place in compress, called from the same: the stack reads the same.
same_text() {
	recording weft.db "
		INSERT INTO frame (id, binary_id, address, in_kernel)
		 VALUES (11, 1, 66, 0);
		INSERT INTO frame_function VALUES (11, 0, 4, NULL);
		INSERT INTO stack_node VALUES (15, 3, 11);
		INSERT INTO stack (id, status, depth, ended) VALUES (15, 'complete', 4, 'marked');
		UPDATE sample_sealed SET stack_id = 15 WHERE id = 2;
		UPDATE sample_sealed SET stack_id = 9 WHERE id = 4;"
	run "$weft" timeline --tid 101 --json
	expect 0
	[ "$(json out '[(r["samples"], r["function"]) for r in j["runs"][:3]]')" = \
		"[(3, 'compress'), (1, 'handle'), (1, 'compress')]" ]
}

# Of each kind of leaf another place that reads the same, and some that do not:
# everyone's share is that of all stacks with the text.
everyone_alike() {
	local alike
	recording weft.db "
		INSERT INTO binary VALUES (4, 'elf', '/opt/lib;c.so', 'cc', ''),
		 (5, 'kernel', '[kernel]', 'dd', '');
		INSERT INTO frame (id, binary_id, address, in_kernel) VALUES
		 (11, 1, 66, 0), (12, 2, 81, 1), (13, 4, 4660, 0),
		 (14, 5, 255, 1), (15, 1, 113, 0), (16, 1, 114, 0),
		 (17, 2, 67, 1), (18, 4, 4661, 0);
		INSERT INTO frame_function VALUES (11, 0, 4, NULL),
		 (12, 0, 5, NULL), (15, 0, 7, NULL), (15, 1, 8, NULL),
		 (16, 0, 7, NULL), (17, 0, 4, NULL);
		INSERT INTO stack_node VALUES (21, 3, 11), (22, 3, 12),
		 (23, 2, 13), (24, 3, 14), (25, 3, 15), (26, 3, 16),
		 (27, 3, 17), (28, 2, 18);
		INSERT INTO stack (id, status, depth, ended) SELECT id, 'complete', 4, 'marked'
		 FROM stack_node WHERE id > 20;
		UPDATE stack SET depth = 3 WHERE id IN (23, 28);
		INSERT INTO stack_total
		 SELECT 1, 1, id, 1, 10000000 FROM stack WHERE id > 20;
		UPDATE sample_sealed SET trace = 1,
		 stack_id = CASE id WHEN 1 THEN 4 WHEN 2 THEN 6 WHEN 3 THEN 7
		  WHEN 4 THEN 14 ELSE 13 END WHERE id <= 5;"
	alike=$(sqlite3 -readonly weft.db "
		SELECT t.folded || ' ' || sum(c.count)
		  FROM stack_text t JOIN stack_total c USING (stack_id)
		 WHERE c.event_id = 1 AND t.folded IN (
		  SELECT folded FROM stack_text WHERE stack_id IN (4, 6, 7, 13, 14))
		 GROUP BY t.folded HAVING count(DISTINCT stack_id) = 2 ORDER BY 1")
	[ "$(wc -l <<<"$alike")" = 5 ]
	sqlite3 -readonly weft.db "SELECT total(count) FROM ledger
		WHERE event_id = 1 AND entry = 'counted'" >counted
	run "$weft" trace "$A" --json
	expect 0
	json out '"\n".join(sorted("%s %d" % (r["folded"],
		round(r["share_everyone"] * float(open("counted").read())))
		for r in j["stacks"]))' >told
	while read -r line; do
		grep -qxF "$line" told || { cat told; return 1; }
	done <<<"$alike"
}

switches() {
	recording weft.db
	"$weft" sql --json "SELECT thread_id, from_trace_id, to_trace_id,
		after_ns, before_ns, previous_sample_id, sample_id
		FROM trace_switches" >out
	[ "$(json out '[[t, a and a[:12], b and b[:12]] + rest
		for t, a, b, *rest in j["results"][0]["rows"]]')" = \
"[[2, '0af76519ffff', '4bf92f3577b3', 5700000000, 5740000000, 11, 12], \
[2, '4bf92f3577b3', '0af76519ffff', 5740000000, 6320000000, 12, 23], \
[2, '0af76519ffff', None, 6700000000, 6740000000, 25, 26]]" ]
}

# A frame of three functions, of which the outermost is its caller, too.
inlined() {
	recording weft.db "INSERT INTO frame_function VALUES (9, 2, 3, 5)"
	sqlite3 -readonly weft.db "SELECT function, self, total
		FROM hot_functions
		WHERE function IN ('memcpy', 'fast_copy', 'handle')
		ORDER BY function" >out
	# handle: self 2 x (5 + 5); in all 2 x (60 + 20 + 15 + 9 + 10 + 5 + 5 + 12 + 1), each once, also
	# where it is in a stack twice
	is out 'fast_copy|0|24
handle|20|274
memcpy|24|24'
	"$weft" export >folded
	has folded '^worker;_start;main;handle;handle;fast_copy;memcpy 24$'
	"$weft" sql --json "SELECT DISTINCT folded FROM samples" >out
	"$weft" top >out
	has out ' memcpy '
}

shape_values() {
	recording weft.db "
INSERT INTO shape_attribute VALUES (1, 'http.route', '/a'),
  (2, 'http.route', NULL);
INSERT INTO stack_attribute_total
SELECT event_id, 1, stack_id, process_id, 10, 100000000 FROM stack_total
 WHERE event_id = 1 AND count >= 15;
INSERT INTO stack_attribute_total
SELECT event_id, 2, stack_id, process_id, 5, 50000000 FROM stack_total
 WHERE event_id = 1 AND count >= 15;"
	told=$(sqlite3 weft.db "SELECT sum(count) FROM stack_attribute_total")
	all=$(sqlite3 weft.db "SELECT sum(count) FROM stack_total
		WHERE event_id = 1")
	run "$weft" top --by attribute --json
	expect 0
	[ "$(json out 'sum(r["self_samples"] for r in j["rows"])')" = "$all" ]
	[ "$(json out '[r["self_samples"] for r in j["rows"]
		if r["attribute"] == "[none]"]')" = "[$((all - told))]" ]
	run "$weft" top --by attribute
	has out ' /a +http.route$'
	has out ' \[other values\] +http.route$'
	run "$weft" top --value /a --json
	expect 0
	[ "$(json out 'j["samples"] * 3')" = "$((told * 2))" ]
	run "$weft" top --value /none
	expect 4
	run "$weft" top --value /a --by thread
	expect 2
	run "$weft" top --by attribute --trace "$A"
	expect 2
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
it "counts of the ledger that cannot be multiply no estimate" odd_ledger
it "loss prints the ledger and its identities" report loss.txt loss
it "top adds up to the samples, recursion counted once" top_adds_up
it "top and the views agree" same_as_views
it "--pid keeps to one process" pid_filter
it "--since and --until snap to intervals" time_range
it "estimates make up for detail that was lost" lossy_detail
it "several recordings and events keep apart" several_recordings
it "says where a trace has samples, if not in what was asked for" \
	trace_elsewhere
it "of blocks, shares are of their time" blocks_by_time
it "loss and top say which stacks are whole, and why others are not" ends
it "loss explains every word that is stored" words
it "loss tells where trace IDs came from, and why there is none" \
	where_trace_ids_are_from
it "values of --shape-by: what each has, what none has, the profile of one" \
	shape_values
it "an absent function is bounded, not denied" on_function
it "everyone's share is of all stacks that read the same" everyones_share
it "a suspended machine, and a clock that is set, change no order" clocks
it "a stack without frames is not one that was lost" without_frames
it "trace IDs: prefixes, malformed, absent, ambiguous" trace_ids
it "timeline of a thread, a trace, a few rows" timelines
it "timeline says what was in a gap: off-CPU, runnable, another request" gaps
it "a request's run begins and ends with its span" wall_ends_with_the_span
it "timeline folds stacks that read the same" same_text
it "everyone's share is that of all that reads the same" everyone_alike
it "view trace_switches has where threads went on to other requests" switches
it "what was inlined is shown, caller first, and counted once" inlined
finish

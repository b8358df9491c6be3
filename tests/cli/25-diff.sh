#!/bin/bash
# SPDX-License-Identifier: MIT
# weft diff: what differs is found and sorted first, what does not is not
# reported, and where nothing can be said the rule is named.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# changed FILE [SQL...]: the recording of tests/data/changes.sql
changed() {
	local file=$1
	shift
	recording "$file" "$(cat "$root/tests/data/changes.sql")" "$@"
}

# row KIND FUNCTION EXPRESSION: of a row `r` of the report in out
row() {
	json out "[($3) for r in j['$1'] if r['function'] == '$2'][0]"
}

same_twice() {
	changed a.db
	cp a.db b.db
	run "$weft" diff a.db b.db
	expect 0
	has out '^SELF: .* 5 tested, 0 differ'
	has out '^A: 8,'
	run "$weft" diff a.db b.db --json
	expect 0
	is_json out
	[ "$(json out 'sum(r["differs"] for r in j["self"] + j["total"])')" = 0 ]
	[ "$(json out 'max(abs(r.get("difference", 0)) for r in j["self"])')" = 0 ]
	[ "$(json out 'j["first"]["clusters"], j["second"]["clusters"]')" = \
		'(20, 20)' ]
	[ "$(json out '[(j[side]["length_ns"], j[side]["requested_hz"])
		for side in ("first", "second")]')" = \
		'[(40000000000, 100), (40000000000, 100)]' ]
}

finds_the_change() {
	changed a.db
	run "$weft" diff a.db --after +20
	expect 0
	has out '^DIFF: after - before'
	# the first row of the first table
	awk '/^SELF/ { getline; getline; print; exit }' out >first
	has first ' compress '
	run "$weft" diff a.db --after +20 --json
	expect 0
	[ "$(json out 'j["self"][0]["function"]')" = compress ]
	[ "$(row self compress 'r["differs"], r["difference"] > 0.03,
		r["difference_lo"] > 0 < r["p"] < r["q"] < 1e-3')" = \
		'(True, True, True)' ]
	[ "$(row self compress 'round(r["first_share"], 2),
		round(r["second_share"], 2)')" = '(0.49, 0.53)' ]
	# seconds a second: 0.96 before, 1.14 after
	[ "$(row self compress 'round(r["first_rate"], 2),
		round(r["second_rate"], 2),
		r["ratio_lo"] < 1.18 < r["ratio_hi"]')" = '(0.96, 1.14, True)' ]
	# the others' shares fell, but nobody says that they use less
	[ "$(row self 'ksys_read_[k]' 'r["ratio_lo"] < 1 < r["ratio_hi"]')" = True ]
	# one sample of all
	[ "$(row self '[kernel+0xff]_[k]' 'r["nothing_said"][:15], r["differs"],
		"p" in r')" = "('too few samples', False, False)" ]
	# seen the other way round
	mv out after
	run "$weft" diff a.db --before +20 --json
	expect 0
	[ "$(json out 'j["second"]["word"]')" = before ]
	[ "$(row self compress '-r["difference"]')" = \
		"$(json after 'j["self"][0]["difference"]')" ]
}

cuts() {
	changed a.db
	# an interval with the cut in it is on neither side
	run "$weft" diff a.db --after +20.5 --json
	[ "$(json out 'j["intervals_left_out"],
		j["first"]["clusters"] + j["second"]["clusters"]')" = '(1, 39)' ]
	run "$weft" diff a.db --before +15 --after +25
	expect 0
	has out '^left out: 10 intervals'
	has out '^before: .* in 15 blocks of 1.00 s'
	run "$weft" diff a.db --before +25 --after +15
	expect 2
	has err 'on both sides'
	run "$weft" diff a.db --after yesterday
	expect 2
	has err "cannot read the time 'yesterday' of --after"
}

too_little() {
	changed a.db
	run "$weft" diff a.db --after +31
	expect 0
	has out 'nothing is said of the program: .*fewer than 10 blocks'
	has out 'record for longer, or with a shorter --interval'
	lacks out 'could have|9 times of 10'
	run "$weft" diff a.db --after +31 --json
	[ "$(json out 'any("p" in r or r["differs"] for r in j["self"]),
		"fewer than 10 blocks" in j["nothing_said"]')" = '(False, True)' ]
	changed b.db "INSERT INTO sample_attribute
		SELECT 4 * id, 'few', 'yes' FROM trace WHERE id <= 49;"
	run "$weft" diff b.db --where 'few = yes'
	expect 0
	has out 'too few requests: fewer than 50'
	run "$weft" diff a.db --after +100
	expect 0
	has out 'no samples on one side'
}

slowest() {
	changed a.db
	run "$weft" diff a.db --slow 85 --json
	expect 0
	[ "$(json out 'j["by_extent"], j["slow_from_ns"], j["second"]["clusters"],
		j["second"]["samples"], j["first"]["clusters"]')" = \
		'(True, 400000000, 100, 400, 500)' ]
	[ "$(json out 'j["self"][0]["function"], j["self"][0]["differs"],
		j["self"][0]["second_share"] > 0.5')" = \
		"('ksys_read_[k]', True, True)" ]
	# the same requests, by an attribute
	run "$weft" diff a.db --where 'http.route = /read' --json
	expect 0
	[ "$(json out 'j["second"]["samples"], j["self"][0]["function"]')" = \
		"(400, 'ksys_read_[k]')" ]
	run "$weft" diff a.db --where 'http.route = /none'
	expect 4
	for wrong in 0x10 -1 100 1e1 9.9.9 .; do
		run "$weft" diff a.db --slow "$wrong"
		expect 2
		has err '^weft: --slow takes a percentage'
	done
	run "$weft" diff a.db --slow 85
	has out '^slow: 400 samples of 100 requests, 0 of them without'
	has out 'REST USE  SLOW USE'
	# of requests with one sample each none is slower than the others
	changed b.db "DELETE FROM trace WHERE id > 9;
		UPDATE trace SET last_ns = first_ns;
		DELETE FROM sample_sealed WHERE id NOT IN (SELECT min(id)
		 FROM sample_sealed WHERE trace <= 9 GROUP BY trace);"
	run "$weft" diff b.db --slow 99
	expect 0
	has out '^slow: .*, which all requests are: none is left to compare'
	has out 'no samples on one side'
	# spans tell better: request 1 was the longest
	changed a.db "INSERT INTO span SELECT id, x'0000000000000001', NULL, 's',
		'GET', 'server', first_ns + 1699999995000000000,
		first_ns + 1699999995000000000 + 1000000 * (601 - id), 'ok', '{}'
		FROM trace;
		INSERT INTO trace (id, trace_id, samples, weight_sum, value_sum,
		first_ns, last_ns) VALUES (700, x'cccccccccccccccccccccccccccccccc',
		0, 0, 0, 9223372036854775807, 0);
		INSERT INTO span VALUES (700, x'0000000000000001', NULL, 's', 'GET',
		'server', 1700000001000000000, 1700000004000000000, 'ok', '{}');"
	run "$weft" diff a.db --slow 90 --json
	# 601 requests with the one that has no sample; the 61 slowest
	[ "$(json out 'j["by_extent"], j["second"]["clusters"],
		j["second"]["clusters_sampled"], j["slow_from_ns"]')" = \
		'(False, 61, 60, 541000000)' ]
}

one_request() {
	local id
	changed a.db
	id=$(sqlite3 a.db "SELECT hex FROM trace WHERE id = 6")
	run "$weft" diff a.db --trace "$id" --json
	expect 0
	[ "$(json out 'j["second"]["samples"], j["first"]["clusters"],
		j["peers"]')" = '(4, 599, 599)' ]
	# two of its four samples read; so do those of at least as many, counted
	# by SQL
	[ "$(json out '[(r["self_share"], r["self_peers_at_least"])
		for r in j["ranks"] if r["function"] == "ksys_read_[k]"]')" = \
		"[(0.5, $(sqlite3 a.db "SELECT count(*) FROM (SELECT trace FROM
			sample_sealed WHERE trace <> 6 GROUP BY trace
			HAVING sum(stack_id = 6) >= 2)"))]" ]
	[ "$(json out 'any(r["differs"] for r in j["self"])')" = False ]
	run "$weft" diff a.db --trace "$id"
	expect 0
	has out '^this: [0-9,]+ samples of 1 request, '
	has out 'there is no test'
	# two samples of what no other has are too few to be more of it
	sqlite3 a.db "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1
			FROM n WHERE i < 40)
		INSERT INTO sample_sealed SELECT id + 10000 + i, interval_id,
			event_id, time_ns + i, cpu, thread_id,
			iif(i > 1, iif(i % 3, 4, 7), 14), value, weight, trace, span_id,
			trace_flags, context_source, context_status
			FROM sample_sealed, n WHERE id = 24;"
	run "$weft" diff a.db --trace "$id"
	expect 0
	sed -n '/^SELF/{n;n;p;q}' out >first
	lacks first '<='
	has out '<= .* \[kernel\+0xff\]_\[k\] '
	run "$weft" diff a.db --trace ffffffffffffffff
	expect 4
	run "$weft" diff a.db --trace xyz
	expect 2
}

two_programs() {
	# elsewhere, built anew, run by another process, its rows in another order
	changed a.db
	changed b.db "UPDATE binary SET path = '/opt' || path, build_id = 'cc'
			WHERE path LIKE '/%';
		UPDATE process SET pid = pid + 1000;
		UPDATE function SET name = 'compress_2' WHERE name = 'compress';"
	run "$weft" diff a.db b.db --json
	expect 0
	[ "$(json out 'sorted((r["function"], round(r["difference"], 2))
		for r in j["self"] if r["differs"])')" = \
		"[('compress', -0.51), ('compress_2', 0.51)]" ]
	[ "$(row self 'ksys_read_[k]' 'r["difference"]')" = 0 ]
	run "$weft" diff a.db b.db --by stack --json
	[ "$(json out 'sorted((r["stack"].split(";")[-1], r["differs"])
		for r in j["self"] if "compress" in r["stack"])')" = \
		"[('compress', True), ('compress_2', True)]" ]
	# two of a name on one stack, in binaries of one name, count once
	changed b.db "INSERT INTO binary SELECT 9, kind, '/opt' || path, 'dd',
			'' FROM binary WHERE id = 1;
		UPDATE frame SET binary_id = 9 WHERE id = 2;
		UPDATE frame_function SET function_id = 3 WHERE frame_id = 2;"
	run "$weft" diff a.db b.db --json -n 0
	[ "$(row total handle 'r["second_samples"] == j["second"]["samples"],
		r["second_share"]')" = '(True, 1)' ]
	run "$weft" diff a.db b.db --pid 1100
	expect 0
	has out 'no samples on one side'
	run "$weft" diff a.db b.db --event faults
	expect 2
	has err "has no event 'faults'"
	run "$weft" diff a.db none.db
	expect 1
}

usage() {
	changed a.db
	run "$weft" diff a.db
	expect 2
	has err 'what is to be compared'
	run "$weft" diff a.db --after +2 --slow 99
	expect 2
	run "$weft" diff a.db --slow 100
	expect 2
	has err "not '100'"
	run "$weft" diff a.db --after +2 --by thread
	expect 2
	run "$weft" diff a.db a.db -i a.db
	expect 2
	run "$weft" diff --help
	expect 0
	has out '^  +--slow PERCENT'
}

hostile_names() {
	changed a.db
	run "$weft" diff a.db --after +20
	expect 0
	lacks out "$(printf '\033')"
	run "$weft" diff a.db --after +20 --json
	is_json out
}

it "of the same thing twice, nothing is reported" same_twice
it "a planted change comes first, with its size" finds_the_change
it "a cut leaves out the interval that it goes through" cuts
it "where nothing can be said the rule is named" too_little
it "the slowest requests, or those that are so, against the rest" slowest
it "one request is ranked, and not tested" one_request
it "functions of two files are matched by name and program" two_programs
it "a question that is none is refused" usage
it "hostile names reach neither terminal nor JSON as they are" hostile_names
finish

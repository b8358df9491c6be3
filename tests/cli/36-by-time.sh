#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of programs without trace context, joined by process and time: only
# where it is certain.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# id NUMBER: the trace ID that by-time.sql gives to a trace
id() {
	printf %016d "$1" | od -An -tx1 | tr -d ' \n'
}

by_time() {
	recording weft.db "$(cat "$root/tests/data/by-time.sql")" "$@"
}

ask() {
	sqlite3 weft.db "$1"
}

# By hand: a sample in the middle of each 10 ms.
view() {
	by_time
	[ "$(ask "SELECT pid, outcome, samples FROM time_join
		ORDER BY pid, outcome")" = "1100|ambiguous|5
1100|between|50
1100|joined|45
1200|ambiguous|10
1200|between|120
1200|joined|70" ]
	[ "$(ask "SELECT p.name, s.thread_id, count(*) FROM samples_by_time b
		JOIN sample s ON s.id = b.sample_id
		JOIN trace t ON t.hex = b.trace_id
		JOIN span p ON p.trace = t.id AND lower(hex(p.span_id)) = b.span_id
		GROUP BY p.name, s.thread_id ORDER BY p.name, s.thread_id")" = \
		"anywhere|21|10
anywhere|22|10
call|11|9
call back|11|1
first|11|7
inner|11|3
late|11|5
left|11|5
on a|21|25
on b|22|25
right|11|5
second|11|10" ]
	[ "$(ask "SELECT count(*) FROM samples_by_time
		WHERE (outcome = 'joined') <> (trace_id IS NOT NULL)")" = 0 ]
}

# A process of which one sample says a trace ID is not one that says none.
not_where_ids_are_told() {
	by_time "UPDATE sample_sealed SET trace = 1 WHERE id = 12005"
	[ "$(ask 'SELECT DISTINCT pid FROM time_join')" = 1200 ]
}

# An interval in which the clock was set: nobody knows its times.
clock() {
	by_time 'UPDATE interval SET clock_error_ns = 1000001 WHERE id = 1'
	[ "$(ask 'SELECT DISTINCT outcome FROM time_join')" = clock ]
	run "$weft" traces
	has out '300 while the clock was set'
}

# Two intervals whose clocks differ: each sample goes by that of its own.
two_clocks() {
	by_time "UPDATE interval SET clock_offset_ns = clock_offset_ns + 30000000000
		WHERE id = 2;
	UPDATE sample_sealed SET interval_id = 2 WHERE time_ns >= 5200000000;
	UPDATE span SET start_ns = start_ns + 30000000000,
		end_ns = end_ns + 30000000000
		WHERE start_ns >= 1700000000300000000;
	UPDATE span SET end_ns = 1700000000250000000 WHERE name LIKE 'on _'"
	# all that is after the step is as it was; what is across it is lost
	[ "$(ask "SELECT p.name, count(*) FROM samples_by_time b
		JOIN trace t ON t.hex = b.trace_id
		JOIN span p ON p.trace = t.id AND lower(hex(p.span_id)) = b.span_id
		WHERE p.attributes LIKE '%1100%'
		GROUP BY p.name ORDER BY p.name")" = "call|9
call back|1
first|7
inner|3
late|5
left|5
right|5
second|5" ]
}

# Put back, Unix times come twice: nobody knows which was meant.
times_come_twice() {
	by_time 'UPDATE interval SET clock_offset_ns = clock_offset_ns - 500000000
		WHERE id = 2'
	[ "$(ask 'SELECT DISTINCT outcome FROM time_join')" = clock ]
}

# Put forward while a request ran: its end is of another clock than its start.
astride() {
	by_time "UPDATE interval SET clock_offset_ns = clock_offset_ns + 30000000000
		WHERE id = 2;
	UPDATE span SET end_ns = start_ns + 40000000000 WHERE name = 'first'"
	[ "$(ask "SELECT outcome, samples FROM time_join
		WHERE pid = 1100 AND outcome <> 'ambiguous'")" = 'clock|55' ]
}

commands() {
	by_time
	"$weft" trace "$(id 201)" --json >out
	[ "$(json out 'j["samples"], j["samples_by_time"]')" = '(10, 10)' ]
	[ "$(json out '[(s["name"], s["self_samples"], s["total_samples"])
		for s in j["spans"]]')" = "[('first', 7, 10), ('inner', 3, 3)]" ]
	run "$weft" trace "$(id 201)"
	has out '^10 of them by process and time'
	"$weft" trace "$(id 211)" --json >out
	[ "$(json out 'j["samples"], j["pool"]')" = "(0, 'name = one of two')" ]
	"$weft" traces -n 0 --json >out
	[ "$(json out 'sum(r["samples_by_time"] for r in j["rows"])')" = 115 ]
	[ "$(json out 'j["coverage"]')" = "{'spans': 15, 'requests_with_spans': \
12, 'requests_with_spans_unsampled': 12, 'requests_without_spans': 3, \
'samples_without_spans': 23, 'by_time_joined': 115, 'by_time_ambiguous': 15, \
'by_time_between': 170, 'by_time_clock': 0}" ]
	run "$weft" traces
	has out '115 samples in one request, 15 in one of several .*, 170 between'
	has out '15 of 12 requests, 12 .* 3 requests \(23 samples\) have no span'
	"$weft" top --where 'name = second' --json >out
	[ "$(json out 'j["samples"], j["joined_by_time"]')" = '(10, True)' ]
	# eight requests of 5 to 25 samples, all of them on one function
	"$weft" top --where 'service.name = shop' --json >out
	[ "$(json out 'round(j["rows"][0]["self_share_lo"], 3)')" = 0.527 ]
	"$weft" traces --on compress -n 0 --json >out
	[ "$(json out 'sum(r["samples_by_time"] for r in j["rows"])')" = 115 ]
	# the file is as it was
	cp weft.db before
	"$weft" trace "$(id 201)" >/dev/null
	cmp weft.db before
}

# Of an older weft: it has no such view.
without_the_view() {
	by_time 'DROP VIEW time_join; DROP VIEW samples_by_time'
	run "$weft" traces
	expect 0
	lacks out 'by time'
	"$weft" trace "$(id 201)" --json >out
	[ "$(json out 'j["samples"]')" = 0 ]
}

# Of a request with many spans, each sample finds its own without a look at
# all others: steps of SQLite's machine, some 30 for a span and 12 for a sample.
# Looking at all of them is 7 for each pair, 280000.
many_spans() {
	by_time "DELETE FROM span WHERE trace BETWEEN 201 AND 206;" \
		"WITH RECURSIVE n(i) AS (
			SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 399)
		INSERT INTO span
		SELECT 201, CAST(printf('%08d', i) AS BLOB), NULL, 'shop', 'part',
		       'server', 1700000000000000000 + iif(i, i * 2500000, 0),
		       1700000000000000000 + iif(i, i * 2500000 + 2000000, 1000000000),
		       'ok', '{\"process.pid\":1100}' FROM n"
	{
		echo "CREATE TEMP TABLE time_found AS
			SELECT sample_id, outcome, trace, span_id FROM samples_by_time
			WHERE process_id = 11;"
		echo ".stats vmstep"
		awk '/^-- name: / { on = $3 == "by_time_make"; next }
			on && !/^--/' "$root/query/by_time.sql"
		echo ".stats off"
		echo "SELECT count(*) FROM time_sample;"
	} | sqlite3 -bail weft.db >out
	[ "$(tail -n 1 out)" = 100 ]
	steps=$(sed -n 's/^VM-steps: *//p' out)
	[ "$steps" -gt 0 ] && [ "$steps" -lt 50000 ]
}

it "the view has what is certain, and says what is not" view
it "not where a process tells IDs" not_where_ids_are_told
it "not where the clock was set" clock
it "each interval's samples go by its own clock" two_clocks
it "not where Unix times come twice" times_come_twice
it "not in a request that ran while the clock was set" astride
it "weft trace, traces and top have them" commands
it "a request may have many spans" many_spans
it "files of an older weft have none" without_the_view
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft sql: reads, never writes; named questions.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c

reads() {
	recording weft.db
	run "$weft" sql "SELECT tid, count(*) AS n FROM samples GROUP BY tid"
	expect 0
	is out "tid   n
101  16
102   8
200   4"
	echo "SELECT 1 AS a; SELECT NULL AS b, x'00ff' AS c -- end" >query
	run "$weft" sql <query
	expect 0
	is out "a
1

b     c
NULL  00ff"
}

refuses_to_write() {
	local before query
	recording weft.db
	before=$(sha256sum weft.db)
	while read -r query; do
		run "$weft" sql "$query"
		expect 1
		[ ! -s out ]
		has err "weft sql only reads 'weft.db'"
		[ "$(wc -l <err)" = 1 ]
	done <<-'END'
	DELETE FROM trace
	DROP VIEW samples
	INSERT INTO event (recording_id, name, unit) VALUES (1, 'x', 'ns')
	UPDATE trace SET samples = 0
	CREATE TEMP TABLE t (a)
	ATTACH 'other.db' AS other
	VACUUM INTO 'copy.db'
	PRAGMA user_version = 9
	PRAGMA journal_mode = WAL
	BEGIN
	SELECT 1; DELETE FROM trace
	END
	[ "$(sha256sum weft.db)" = "$before" ]
	[ "$(ls)" = "$(printf 'err\nout\nweft.db')" ]
}

bad_queries() {
	recording weft.db
	run "$weft" sql "SELEKT 1"
	expect 1
	has err 'near "SELEKT": syntax error'
	lacks err schema
	run "$weft" sql 'SELECT 1 FROM nonesuch'
	expect 1
	has err 'no such table: nonesuch; .*sqlite3 FILE .schema'
	run "$weft" sql "SELECT * FROM nonesuch"
	expect 1
	run "$weft" sql ""
	expect 2
	run "$weft" sql @hot_stakcs
	expect 2
	has err "did you mean '@hot_stacks'"
}

named() {
	local name
	local -a value
	recording weft.db "$(cat "$root/tests/data/spans.sql")" \
		"INSERT INTO event (id, recording_id, name, unit)
			VALUES (2, 1, 'off-cpu', 'ns');
		INSERT INTO stack_total VALUES (2, 1, 4, 3, 9000000000);"
	"$weft" sql --list >list
	while read -r name _; do
		value=()
		case $name in
		@callers | @on_function | @share) value=(function=compress) ;;
		@attribute) value=(key=http.route) ;;
		@trace_* | @shared_cpu) value=("trace=$A") ;;
		@stack_traces) value=(stack=4) ;;
		@before) value=(sample=7) ;;
		@around) value=(unix_ns=1700000000320000000) ;;
		esac
		run "$weft" sql "$name" "${value[@]}"
		expect 0
		[ "$(wc -l <out)" -ge 2 ]
		run "$weft" sql "$name" "${value[@]}" --json
		expect 0
		is_json out
	done <list
	run "$weft" sql --list --json
	is_json out
}

parameters() {
	recording weft.db
	run "$weft" sql @hot_stacks n=2
	[ "$(wc -l <out)" = 3 ]
	run "$weft" sql @trace_samples
	expect 2
	has err 'needs a value: give trace=VALUE'
	run "$weft" sql @hot_stacks m=2
	expect 2
	has err "'m=2' fits no parameter"
	# a value is a value, whatever stands in it
	run "$weft" sql "SELECT :x AS x" "x='; DROP TABLE trace; --"
	expect 0
	is out "x
'; DROP TABLE trace; --"
	run "$weft" sql --json "SELECT typeof(:a), typeof(:b), typeof(:c)" \
		a=12 b=012 c=12345678901234567890
	[ "$(json out 'j["results"][0]["rows"]')" = \
		"[['integer', 'text', 'text']]" ]
}

hostile_names() {
	recording weft.db
	run "$weft" sql "SELECT name FROM function; SELECT comm FROM thread;
		SELECT 1 AS [$(printf '\033')[2J]"
	expect 0
	lacks out "$(printf '\033')"
	run "$weft" sql --json "SELECT name FROM function WHERE id = 6"
	expect 0
	is_json out
	json out '__import__("re").sub(r"\\x([0-9a-f]{2})",
		lambda m: chr(int(m[1], 16)),
		j["results"][0]["rows"][0][0]).encode("latin-1").hex()' >got
	sqlite3 weft.db "SELECT lower(hex(CAST(name AS BLOB))) FROM function
		WHERE id = 6" >want
	diff want got
	run "$weft" sql --json "SELECT 9007199254740993, -5, 0.25, NULL"
	[ "$(json out 'j["results"][0]["rows"]')" = \
		"[['9007199254740993', -5, 0.25, None]]" ]
}

untrusted_schema() {
	recording weft.db "CREATE VIEW trap AS
		SELECT load_extension('/tmp/x') AS a;"
	run "$weft" sql "SELECT * FROM trap"
	expect 1
	[ ! -s out ]
}

it "a query's result is a table" reads
it "a query that writes is refused, and changes nothing" refuses_to_write
it "a bad query says what is wrong" bad_queries
it "every named question has an answer" named
it "parameters are bound, and checked" parameters
it "hostile names reach neither terminal nor JSON as they are" hostile_names
it "a view of the file cannot call dangerous functions" untrusted_schema
finish

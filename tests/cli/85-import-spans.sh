#!/bin/bash
# SPDX-License-Identifier: MIT
# weft import-spans: files of every form, all or nothing, twice is once.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c

# span TRACE ID NAME [MORE]: one message with one span
span() {
	printf '{"resourceSpans":[{"resource":{"attributes":[{"key":%s,%s}]},%s' \
		'"service.name"' '"value":{"stringValue":"shop"}' \
		'"scopeSpans":[{"spans":[{'
	printf '"traceId":"%s","spanId":"%s","name":"%s","kind":2,' "$1" "$2" "$3"
	printf '"startTimeUnixNano":"1700000000000000000",'
	printf '"endTimeUnixNano":"1700000001300000000"%s}]}]}]}\n' "${4-}"
}

ask() {
	sqlite3 weft.db "$1"
}

joined() {
	recording weft.db
	span "$A" 00f067aa0ba902b7 'GET /cart' \
		',"attributes":[{"key":"http.route","value":{"stringValue":"/cart"}}]' \
		>spans
	run "$weft" import-spans -i weft.db spans
	expect 0
	has err "1 spans added to 'weft.db'; 0 were there already"
	[ ! -s out ]
	"$weft" traces --where http.route=/cart --json >out
	[ "$(json out '[(r["service"], r["name"], r["duration_ns"], r["samples"])
		for r in j["rows"]]')" = "[('shop', 'GET /cart', 1300000000, 16)]" ]
	[ "$(ask "SELECT count(*) FROM span_samples WHERE joined_by = 'span_id'")" = 16 ]
	# the file is as readable, and as whole, as before
	[ "$(ask 'PRAGMA integrity_check; PRAGMA journal_mode')" = "ok
delete" ]
	[ "$(ask 'SELECT count(*) FROM recording')" = 1 ]
	[ ! -e weft.db-wal ]
}

# A span of a request that was never sampled is kept, too.
unsampled() {
	recording weft.db
	span 11111111111111111111111111111111 0000000000000001 quick |
		WEFT_DB=weft.db "$weft" import-spans -q -
	[ "$(ask "SELECT name, samples FROM requests
		WHERE trace_id LIKE '1111%'")" = 'quick|0' ]
}

twice() {
	recording weft.db
	span "$A" 0000000000000001 one >a
	{
		span "$A" 0000000000000001 renamed
		span "$A" 0000000000000002 two
	} | gzip >b.gz
	"$weft" import-spans -q a
	run "$weft" import-spans a b.gz
	expect 0
	has err '1 spans added .* 2 were there already'
	[ "$(ask 'SELECT group_concat(name) FROM span')" = one,two ]
}

# Nothing of what was asked for is in the file after an error.
all_or_nothing() {
	recording weft.db
	cp weft.db before
	span "$A" 0000000000000001 fine >good
	{
		span "$A" 0000000000000002 good
		echo '{"resourceSpans":[{]}'
		span "$A" 0000000000000003 good
	} >bad
	for files in 'good bad' 'bad good' 'good absent' 'good /'; do
		# shellcheck disable=SC2086
		run "$weft" import-spans $files
		expect 1
		cmp weft.db before
	done
	run "$weft" import-spans good bad
	has err 'bad, line 2: this is no JSON: byte 20'
	run "$weft" import-spans good absent
	has err "cannot open 'absent'"
}

left_out() {
	recording weft.db
	{
		span "$A" 0000000000000001 good
		span "${A}00" 0000000000000001 long
		echo '{"resourceMetrics":[]}'
		printf '{"resourceSpans":[{"sco'
	} >spans
	run "$weft" import-spans spans
	expect 0
	has err "'spans' is cut short"
	has err '1 spans were left out: of the first \(spans, line 2, span 1\), its trace ID'
	has err '1 batches of metrics or logs'
	# gzip that lacks its end, though what is there are whole lines
	span "$A" 0000000000000002 good | gzip | head -c -8 >cut.gz
	run "$weft" import-spans cut.gz
	expect 0
	has err "'cut.gz' is cut short"
	span "$A" 0000000000000002 good | gzip >whole.gz
	run "$weft" import-spans whole.gz
	lacks err 'cut short'
	[ "$(ask 'SELECT count(*) FROM span')" = 2 ]
	echo '{"resourceMetrics":[]}' >other
	run "$weft" import-spans other
	expect 4
	: >empty
	run "$weft" import-spans empty
	expect 4
}

refused() {
	span "$A" 0000000000000001 fine >good
	run "$weft" import-spans good
	expect 1
	has err "cannot open '.*weft.db'"
	[ ! -e weft.db ]
	echo text >weft.db
	run "$weft" import-spans good
	expect 1
	[ "$(cat weft.db)" = text ]
	rm weft.db
	recording weft.db
	for bad in '' '--frob good' '-i'; do
		# shellcheck disable=SC2086
		run "$weft" import-spans $bad
		expect 2
		[ -s err ]
	done
	run "$weft" import-spans --help
	expect 0
	has out 'usage: weft import-spans'
	run "$weft" import-spans --proto good
	expect 1
	has err 'protobuf'
}

# What an attacker would send: it ends, and says why.
hostile() {
	recording weft.db
	cp weft.db before
	head -c 200000 /dev/zero | tr '\0' '[' >deep
	{
		printf '{"resourceSpans":[{"scopeSpans":[{"spans":[{"attributes":['
		printf '{"key":"k","value":'
		for _ in $(seq 3000); do
			printf '{"arrayValue":{"values":['
		done
	} >deep_values
	span "$A" 0000000000000001 whole | head -c 150 >short
	{
		span "$A" 0000000000000001 good
		span "$A" 0000000000000002 good | sed 's/"kind":2/"attributes":2/'
	} >mistyped
	# 100 MB of a list that never ends
	{
		printf '{"resourceSpans":['
		head -c 100000000 /dev/zero | tr '\0' '\n'
		printf '{},'
	} | gzip -1 >large.gz
	head -c 3000000 /dev/urandom >noise
	head -c 100000000 /dev/zero | tr '\0' ' ' | gzip >blank.gz
	printf '\012\377\377\377\377\377\377\377\377\377\377\001' >varint
	head -c 5000000 /dev/urandom | gzip -1 | head -c 4000000 >cut.gz
	for file in deep deep_values noise varint mistyped large.gz cut.gz short; do
		run "$weft" import-spans "$file"
		cat err
		expect 1
		has err "$file"
		cmp weft.db before
	done
	run "$weft" import-spans deep deep_values
	has err 'deep, line 1: this is no JSON: byte 2049: maximum parsing depth'
	run "$weft" import-spans deep_values
	has err 'deep_values, line 1: this is no JSON: byte [0-9]+: maximum parsing depth'
	run "$weft" import-spans mistyped
	has err 'mistyped, line 2: this JSON is no OTLP: at resourceSpans 0, scopeSpans 0, spans 0 .*: its attributes are no list'
	run "$weft" import-spans large.gz
	has err 'large.gz: this is no JSON: byte 100000'
	run "$weft" import-spans short
	has err 'short, line 1: this is no JSON: byte 1[0-9]+: '
	run "$weft" import-spans blank.gz
	expect 4
}

# A journal beside the file hides what is in it until it is taken back.
triggers_never_run() {
	echo '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"00000000000000aa"}]}]}]}' >spans
	recording weft.db "CREATE TRIGGER t AFTER INSERT ON span BEGIN
		DELETE FROM stack_count; END;"
	run "$weft" import-spans spans
	expect 1
	has err 'it has triggers'
	head -c 2000 /dev/zero | tr '\0' x >weft.db-journal
	run "$weft" import-spans spans
	cat err
	[ "$(sqlite3 weft.db 'SELECT count(*) > 0 FROM stack_count')" = 1 ]
}

it "spans join the samples of their requests" joined
it "spans of a request without a sample" unsampled
it "what is there already stays; gzip" twice
it "all or nothing" all_or_nothing
it "what is left out is told" left_out
it "what is refused" refused
it "hostile files" hostile
it "triggers of a foreign file never run" triggers_never_run
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft measure on a file; and what it says of texts that are no measure.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

measures() {
	recording weft.db "$(cat "$root/tests/data/measures.sql")"
}

printed() {
	measures
	run "$weft" measure
	expect 0
	[ ! -s err ]
	lacks out "$(printf '\033')"
	golden measure.txt out
}

one() {
	measures
	run "$weft" measure calls -n 1
	expect 0
	has out '^   40  make'
	has out '^1 more keys'
	lacks out 'sizes'
	run "$weft" measure call
	expect 4
	has err "no measure 'call'; did you mean 'calls'?"
	run "$weft" measure sizes --div 2 --unit none
	expect 0
	has out '^\[1K, 2K\) +1 \|@+\|$'
	has out 'avg 1005, '
	run "$weft" measure --since +1
	expect 0
	has out '^    5  bash'
}

json() {
	measures
	run "$weft" measure --json
	expect 0
	is_json out
	python3 - <<-'END'
	import json
	m = {x["name"]: x for x in json.load(open("out"))["measures"]}
	assert m["calls"]["keys"] == [{"key": ["make"], "count": 40},
	    {"key": ["bash"], "count": 15}], m["calls"]["keys"]
	assert m["calls"]["events"]["filtered"] == 8
	h = m["sizes"]["keys"][0]
	assert (h["count"], h["sum"], h["min"], h["max"]) == (6, 6030, 0, 3000)
	assert h["buckets"] == [{"lo": 0, "hi": 1, "count": 1},
	    {"lo": 2, "hi": 4, "count": 2}, {"lo": 1024, "hi": 2048, "count": 2},
	    {"lo": 2048, "hi": 4096, "count": 1}], h["buckets"]
	assert m["took"]["keys"][0]["buckets"] == [{"hi": 0, "count": 1},
	    {"lo": 100, "hi": 200, "count": 2}, {"lo": 200, "hi": 250, "count": 1},
	    {"lo": 250, "count": 1}]
	assert m["took"]["keys"][0]["key"] == ["a\x1b[2J", 7]
	# exact, beyond what a double can tell
	assert m["spread"]["keys"][0]["max"] == "9007199254740993"
	END
}

# Nobody knows what was counted since the last interval that is stored.
cut_short() {
	measures
	run "$weft" measure calls
	expect 0
	has out '; none lost$'
	sqlite3 weft.db "UPDATE recording SET ended_ns = NULL"
	run "$weft" measure calls
	expect 0
	has out '; none lost in what is stored so far$'
}

views() {
	measures
	sqlite3 weft.db "SELECT key_1, count, sum, min, max FROM metric_total
		WHERE name IN ('calls', 'sizes') ORDER BY count;
		SELECT bucket, lo, hi, count FROM metric_histogram;
		SELECT name, fired, counted, keys_full FROM metric_loss" >out
	cat >want <<-'END'
	|6|6030|0|3000
	bash|15|||
	make|40|||
	1|0|1|1
	3|2|4|2
	12|1024|2048|2
	13|2048|4096|1
	0||0|1
	2|100|200|2
	3|200|250|1
	4|250||1
	calls|120|100|0
	sizes|120|100|0
	took|120|100|4
	spread|120|100|0
	END
	diff want out
}

examples() {
	measures
	run "$weft" measure sizes --examples 1
	expect 0
	sed -n '/from the/,$p' out >some
	golden measure-examples.txt some
	run "$weft" measure sizes --examples 2
	expect 0
	[ "$(grep -c '/' out)" -gt 2 ]
	has out 'no trace'
	run "$weft" measure sizes --bucket 1500
	expect 0
	[ "$(grep -c 'from the' out)" = 1 ]
	[ "$(grep -cE '^ .* (no )?trace ' out)" = 2 ]
	has out 'from the \[1K, 2K) bucket'
	run "$weft" measure sizes --bucket 3k
	expect 0
	has out 'from the \[2K, 4K) bucket'
	lacks out 'from the \[1K, 2K) bucket'
	run "$weft" measure sizes --bucket 1M
	expect 0
	lacks out 'from the'
	run "$weft" measure sizes --bucket big
	expect 2
	has err "takes a value in the bucket, as 100ms or 64K, not 'big'"
	run "$weft" measure spread --examples 1 --json
	expect 0
	is_json out
	has out '"trace_id": *null'
	sqlite3 weft.db "SELECT name, lo, hi, value, trace_id, span_id, pid, stack_id
		FROM metric_examples" >out
	cat >want <<-'END'
	sizes|1024|2048|1030|||100|4
	sizes|1024|2048|1024|4bf92f3577b34da6a3ce929d0e0e4736|00f067aa0ba902b7|100|4
	sizes|2048|4096|3000|||200|-4
	spread|||9007199254740993|||200|9
	END
	diff want out
}

none() {
	recording weft.db
	run "$weft" measure
	expect 4
	has err 'has no measures; weft record --measure'
	# One that was made before there were any.
	rm weft.db
	{
		cat "$root"/store/sql/schema/00[1-5]*.sql
		echo "PRAGMA user_version = 5;"
		echo "CREATE VIEW sample AS SELECT * FROM sample_sealed;"
		cat "$root/tests/data/small.sql"
	} | sqlite3 -bail weft.db
	run "$weft" measure
	expect 4
	has err 'has no measures'
}

# refused TEXT WORDS: weft record refuses the text as a usage error, and says
# WORDS; it needs no privilege to do so
refused() {
	run "$weft" record --measure "$1"
	expect 2
	has err "$2"
	has err 'weft measure --help` has the language'
	lacks err '^usage: weft record'
}

texts() {
	local read='@ tracepoint:syscalls:sys_enter_read'
	refused "cuont() $read" "no aggregate 'cuont'; did you mean 'count'\?"
	refused "sum(comm) $read" 'comm is no number'
	refused "hist(elapsd) $read" "did you mean 'elapsed'"
	refused "lhist(arg0, 0, 100, 0) $read" 'the step of lhist\(\) is 0'
	refused "lhist(arg0, 100, 0, 1) $read" 'must be above its minimum'
	refused "count()" "expected 'by KEY' or '@ PROBE', at its end"
	refused "count() @ uprob:/bin/true:main" "did you mean 'uprobe'"
	refused "count() @ uprobe:true:main" 'must be a whole path'
	refused "count() by comm $read if comm < \"a\"" 'compared by == or !='
	run "$weft" record --no-samples
	expect 2
	has err 'leaves nothing to record without --measure'
	run "$weft" record --measure "count() $read" --max-keys 0
	expect 2
	has err '--max-keys takes a number from 1'
	run "$weft" record --examples 3
	expect 2
	has err '--examples goes with --measure'
}

usage() {
	run "$weft" measure -d 1
	expect 2
	has err 'nothing to measure: TEXT is missing'
	# Without its probe it is no name of a measure in a file.
	run "$weft" measure 'hist(args.count)'
	expect 2
	has err "expected 'by KEY' or '@ PROBE', at its end"
	run "$weft" measure 'count() @ tracepoint:a:b' -i weft.db
	expect 2
	run "$weft" measure 'count() @ tracepoint:a:b' --clear
	expect 2
	run "$weft" measure 'count() @ tracepoint:a:b' --every 0
	expect 2
	run "$weft" measure --unit miles
	expect 2
	has err 'ns, bytes or none'
	run "$weft" measure a b
	expect 2
	has err "unexpected 'b'"
}

# The short form runs weft-record beside it, hands on its status, and leaves
# nothing behind.
short() {
	mkdir bin tmp
	cp "$weft" bin/weft
	cat >bin/weft-record <<-'END'
	#!/bin/sh
	printf '%s\n' "$@" >args
	for a; do [ "$last" = -o ] && out=$a; last=$a; done
	[ -f seed.db ] && cp seed.db "$out"
	exit 7
	END
	chmod +x bin/weft-record
	run env TMPDIR="$PWD/tmp" bin/weft measure 'count() @ tracepoint:a:b' -p 5
	expect 7
	[ ! -s out ]
	measures
	mv weft.db seed.db
	run env TMPDIR="$PWD/tmp" bin/weft measure 'count() @ tracepoint:a:b' \
		'sum(args.x) @ tracepoint:c:d' -d 3 -- prog --each -n
	expect 7
	has out '^   40  make'
	[ -z "$(ls tmp)" ]
	grep -A1 -x -e --measure args | grep -v -e '^--' >texts
	printf '%s\n' 'count() @ tracepoint:a:b' \
		'sum(args.x) @ tracepoint:c:d' | diff - texts
	tail -n 4 args >end
	printf '%s\n' -- prog --each -n | diff - end
	run env TMPDIR="$PWD/tmp" bin/weft measure 'count() @ tracepoint:a:b' \
		-o kept.db
	expect 7
	[ -s kept.db ]
}

# It records for nobody: once who reads has gone, it ends. What cannot be printed
# is a failure.
unread() {
	mkdir bin tmp
	cp "$weft" bin/weft
	cat >bin/weft-record <<-'END'
	#!/bin/sh
	for a; do [ "$last" = -o ] && cp seed.db "$a"; last=$a; done
	[ -f waits ] || exit 0
	trap 'echo >ended; exit 0' TERM
	for i in $(seq 100); do sleep 0.1; done
	END
	chmod +x bin/weft-record
	measures
	mv weft.db seed.db
	run env TMPDIR="$PWD/tmp" sh -c "bin/weft measure \
		'count() @ tracepoint:a:b' >/dev/full"
	expect 1
	has err 'cannot write the output: No space left'
	touch waits
	run env TMPDIR="$PWD/tmp" sh -c "bin/weft measure --every 0.1 \
		'count() @ tracepoint:a:b' | head -n 1"
	expect 0
	[ -e ended ]
	[ -z "$(ls tmp)" ]
}

it "measures print as histograms and tables" printed
it "one measure is chosen by name, and cut, divided, limited in time" one
it "JSON is exact" json
it "a recording without an end is not said to have lost nothing" cut_short
it "views tell totals, edges and losses" views
it "examples are told with their request, and requests first" examples
it "a file without measures says so" none
it "a text that is no measure is a usage error with the reason" texts
it "options that do not go together are refused" usage
it "the short form records, prints, and cleans up" short
it "the short form ends when nobody reads, and fails when it cannot print" unread
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# Names are chosen by what is recorded. Whatever they are, no command brings a
# control character, a bidirectional override or a byte that is no UTF-8 to its
# output: not in a report, not in JSON, not in a message, on a terminal or not.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
bad=$(printf 'x\033[2J\302\2331m\342\200\256\233\r\007')

hostile() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")" \
		"$(cat "$root/tests/data/measures.sql")" \
		"$(cat "$root/tests/data/hostile.sql")"
}

# is_safe FILE...: a terminal would show it, and do nothing else; bold is ours
is_safe() {
	python3 - "$@" <<-'END'
	import re, sys
	for name in sys.argv[1:]:
	    text = open(name, "rb").read().decode("utf-8", "strict")
	    text = re.sub("\033\\[[01]m", "", text)
	    text = text.replace("\r\n", "\n")  # csv; no name has that
	    m = re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
	                  "\u2028-\u202e\u2066-\u2069]", text)
	    if m:
	        at = max(0, m.start() - 60)
	        sys.exit("%s: %r" % (name, text[at:m.start() + 60]))
	END
}

# The commands that read a file: a line each.
reports() {
	cat <<-END
	top -n 0
	top --by stack -n 0
	top --by process
	top --by thread
	top --by binary
	top --by attribute
	top --trace $A
	traces -n 0
	traces --sort duration
	traces --where status!=x
	trace $A -n 0
	timeline -n 0
	measure
	loss -n 0
	sql --list
	export --format folded
	export --format csv
	export --format json
	export --format speedscope
	flame
	diff --slow 50
	END
	"$weft" sql --list | while read -r name _; do
		case $name in
		@callers | @on_function | @share)
			echo "sql $name function=handle" ;;
		@attribute) echo "sql $name key=http.route" ;;
		@trace_* | @shared_cpu) echo "sql $name trace=$A" ;;
		@stack_traces) echo "sql $name stack=4" ;;
		@before) echo "sql $name sample=8" ;;
		@around) echo "sql $name unix_ns=1700000000320000000 ms=99" ;;
		*) echo "sql $name" ;;
		esac
	done
	for table in process thread binary function span sample_attribute \
		context_status_word ledger_entry metric samples stack_text; do
		echo "sql SELECT*FROM[$table]"
	done
}

in_reports() {
	local line answered=0 n=0
	hostile
	{ reports; echo; } >lines
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # its words
		run "$weft" $line </dev/null
		mv out "out.$n"
		mv err "err.$n"
		echo "$n $line: $status"
		[ "$status" -ne 2 ]
		[ "$status" -lt 128 ]
		[ "$status" -ne 0 ] || answered=$((answered + 1))
	done <lines
	echo "$answered of $n answered"
	[ $((answered * 10)) -ge $((n * 9)) ]
	is_safe out.* err.*
}

in_json() {
	local line n=0
	hostile
	reports | grep -Ev '^(flame|export)' >lines
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # its words
		run "$weft" $line --json </dev/null
		echo "$n $line --json: $status"
		mv out "out.$n"
		[ "$status" -eq 0 ] || rm "out.$n"
	done <lines
	is_safe out.*
	python3 -c 'import json, sys
for name in sys.argv[1:]:
    assert isinstance(json.load(open(name)), dict), name' out.*
}

terminals() {
	local file
	hostile
	{ reports | grep -Ev '^(flame|sql @)'; echo 'top --follow'; echo; } \
		>lines
	grep -n '' lines
	on_terminals 100 lines
	# what --follow clears the screen with
	sed -i '1s/^\x1b\[H\x1b\[J//' out.*
	for file in out.*; do
		echo "$file"
		[ -s "$file" ]
	done
	is_safe out.*
}

in_messages() {
	local line n=0
	recording weft.db
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # its words
		run "$weft" $line "$bad" </dev/null
		echo "$n $line: $status"
		[ "$status" -ne 0 ]
		[ -s err ]
		cp err "err.$n"
	done <<-'END'

	top -i
	top --by
	top --trace
	top --where
	top --follow
	top --pid
	top --recording
	top --event
	top --since
	traces --sort
	traces --on
	trace
	timeline --tid
	measure
	loss --fail-above
	sql
	sql @hot_stacks
	export --format
	export -o /nonesuch/
	symbolize -i
	import-spans
	list
	list symbols
	record -e
	record -F
	record -p
	record --cgroup
	record --measure
	doctor --pid
	END
	is_safe err.*
}

# The file's own name.
in_paths() {
	local line n=0
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
	mv weft.db "$bad.db"
	cp "$bad.db" "$bad.2"
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # its words
		run "$weft" $line "$bad.db"
		echo "$n $line: $status"
		expect 0
		mv out "out.$n"
		mv err "err.$n"
	done <<-END
		top
		traces
		timeline
		hist
		loss
		export
		export --format json
		diff --slow 50
		diff $bad.2
		diff --json $bad.2
	END
	WEFT_DB=$bad.db run "$weft"
	is_safe out out.* err.*
}

# An ID of another length, words that are NULL: what a schema forbids can still
# be in a file.
ids() {
	local line n=0
	recording weft.db "PRAGMA ignore_check_constraints = 1;
		UPDATE trace SET trace_id = CAST(substr(trace_id, 1, 4 + id) AS BLOB);
		CREATE TEMP TABLE kept AS SELECT sql FROM sqlite_schema
		 WHERE name = 'ledger_entry';
		PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '')
		 WHERE name = 'ledger_entry';
		PRAGMA writable_schema = RESET;
		INSERT INTO ledger_entry VALUES (98, NULL);
		INSERT INTO ledger_row VALUES (1, 1, 98, 1, 1);
		PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET sql = (SELECT sql FROM kept)
		 WHERE name = 'ledger_entry';"
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086 # its words
		run "$weft" $line </dev/null
		echo "$n $line: $status"
		expect 0
		mv out "out.$n"
	done <<-END

		top --trace 4bf92f35
		traces
		trace 4bf92f35
		timeline
		timeline --trace 4bf92f35
		flame
		export --format speedscope --trace 4bf92f35
	END
	is_safe out.*
	python3 -m json.tool "out.$n" >/dev/null
}

# Names out of a file of anybody's.
in_list() {
	printf 'int f(void) __asm__("%s"); int f(void) { return 1; }\n' \
		'e\033[31m\302\233\342\200\256v' >bad.c
	gcc -shared -o bad.so bad.c || return 0
	run "$weft" list symbols "$PWD/bad.so"
	expect 0
	[ -s out ]
	is_safe out err
}

it "reports, exports and pages" in_reports
it "JSON" in_json
it "IDs" ids
it "paths" in_paths
it "a terminal" terminals
it "messages about what was typed" in_messages
it "symbols of a file" in_list
finish

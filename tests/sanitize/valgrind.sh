#!/bin/bash
# SPDX-License-Identifier: MIT
# What reads and mends recordings, under valgrind: no wrong access, no decision
# on what was never written, no leak. Every command, in each of its formats, on
# recordings that hold what it can say, and on hostile ones.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
ERRORS=99

command -v valgrind >/dev/null || {
	echo "1..0 # SKIP no valgrind: tools/setup.sh valgrind"
	exit 0
}

# watch COMMAND...: run it; those that it becomes or starts are watched, too
watch() {
	run valgrind -q --error-exitcode="$ERRORS" --leak-check=full \
		--errors-for-leak-kinds=definite,indirect,possible \
		--show-leak-kinds=definite,indirect,possible \
		--num-callers=24 --trace-children=yes \
		--suppressions="$root/tests/sanitize/valgrind.supp" "$@"
}

# clean STATUS: of each line of stdin, words of weft, it ends so and without an
# error
clean() {
	local expected=$1 line failed=0
	while read -r line; do
		# shellcheck disable=SC2086 # the words
		watch "$weft" $line </dev/null
		if [ "$status" != "$expected" ] || grep -q '^==[0-9]*==' err; then
			echo "weft $line: status $status"
			cat err
			failed=1
		fi
	done
	return "$failed"
}

# all that small.sql, spans.sql and measures.sql hold
full() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")" \
		"$(cat "$root/tests/data/measures.sql")" "$@"
}

# What must be seen: a read beyond what was asked for, and a leak.
sees_errors() {
	cat >wrong.c <<-'END'
	#include <stdlib.h>
	int main(int argc, char **argv)
	{
		char *p = malloc(8);
		if (argc == 2)
			return p[argc + 6] != 0 && argv[0] == p;
		p = NULL;
		return p == argv[0];
	}
	END
	cc -O0 -g -o wrong wrong.c
	watch ./wrong read
	[ "$status" = "$ERRORS" ]
	watch ./wrong
	[ "$status" = "$ERRORS" ]
}

reports() {
	full
	clean 0 <<-END

		--help
		top
		top --json
		top --by stack
		top --by process --json
		top --by thread
		top --by binary
		top --trace $A
		top --pid 200
		top --where service.name~*
		traces
		traces --json
		traces --sort duration --where http.route~*
		traces --on compress
		trace $A
		trace $A --json
		loss
		loss --json
		loss --prometheus
	END
}

times() {
	full
	clean 0 <<-END
		timeline
		timeline --json
		timeline --trace $A
		hist
		hist --of duration
		hist --of cpu --json
		measure
		measure --json
		measure calls -n 1
		top --since +1
	END
}

differences() {
	recording a.db "$(cat "$root/tests/data/changes.sql")"
	cp a.db b.db
	full
	clean 0 <<-END
		diff a.db b.db
		diff a.db --after +20
		diff a.db --after +20 --by stack --json
		flame a.db --against b.db -o page.html
		flame --trace $A
		flame -o page.html
	END
}

exports() {
	full
	clean 0 <<-END
		export
		export -f pprof -o x.pb.gz
		export -f speedscope
		export -f otlp -o x.otlp
		export -f csv --only detail
		export -f json
		export -f json --only detail
		export --trace $A
	END
}

questions() {
	full
	clean 0 <<-END
		sql --list
		sql @hot_functions
	END
	for format in table csv json; do
		watch "$weft" sql -f "$format" "SELECT s.*, t.folded,
			trace_hex(s.trace_id), wilson_low(3, 10) FROM samples s
			JOIN stack_text t USING (stack_id)"
		[ "$status" != "$ERRORS" ]
		lacks err '^==[0-9]+=='
	done
	watch "$weft" sql "SELECT nothing FROM nothing"
	expect 1
}

by_time() {
	recording weft.db "$(cat "$root/tests/data/by-time.sql")"
	clean 0 <<-END
		traces
		traces --json
		flame -o page.html
		timeline
	END
}

hostile() {
	full "$(cat "$root/tests/data/hostile.sql")"
	clean 0 <<-END

		top
		top --json
		traces
		loss
		timeline
		hist
		measure
		export -f pprof -o x.pb.gz
		export -f speedscope
		flame -o page.html
	END
}

refused() {
	full
	head -c 20000 weft.db >cut.db
	echo no recording >text.db
	clean 1 <<-END
		top -i cut.db
		top -i text.db
		top -i none.db
		trace -i text.db $A
	END
	clean 2 <<-END
		top --nothing
		export -f nothing
		diff
		gc --keep-detail no
		record --nothing
	END
	clean 4 <<-END
		trace ffffffffffffffff
		top --pid 1
	END
}

changes() {
	cat >spans.json <<-END
	{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name",
	"value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[{"traceId":"$A",
	"spanId":"00f067aa0ba902b7","name":"GET /","kind":2,
	"startTimeUnixNano":"1500000000000000000",
	"endTimeUnixNano":"1500000001000000000"}]}]}]}
	END
	full
	clean 0 <<-END
		import-spans -i weft.db spans.json
		gc --pin $A
		gc --pins
		gc --dry-run --keep-detail 1h
		gc --keep-detail 0s --keep-shape 1s,2s
		top
	END
}

# Not `weft list symbols`: its child is confined by seccomp(2), which valgrind 3.19
# does not know.
names() {
	full
	watch "$weft" symbolize -q --again
	[ "$status" -le 4 ]
	lacks err '^==[0-9]+=='
	lacks out '^==[0-9]+=='
	watch "$weft" doctor
	lacks err '^==[0-9]+=='
	watch "$weft" doctor -p $$
	lacks err '^==[0-9]+=='
	watch "$weft" list events
	expect 0
}

it "errors that there are, are seen" sees_errors
it "reports" reports
it "what is printed along time, and measures" times
it "differences, flame graphs" differences
it "exports, each format" exports
it "SQL and questions by name" questions
it "requests joined by time" by_time
it "names and values made to mislead" hostile
it "what is refused" refused
it "what changes a file: spans, pins, retention" changes
it "names, doctor, lists" names
finish

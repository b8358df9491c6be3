#!/bin/bash
# SPDX-License-Identifier: MIT
# Questions by trace, time and stack seek an index; nothing of them scans the
# samples. The plans themselves are golden: a difference is for a reviewer.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

plans() {
	local query
	recording weft.db
	while read -r query; do
		echo "$query"
		sqlite3 weft.db "EXPLAIN QUERY PLAN $query" | grep -v '^QUERY PLAN'
	done <<-END >out
	SELECT sample_id, pid, leaf, folded FROM samples WHERE trace_id = 'x'
	SELECT sample_id FROM samples WHERE time_ns BETWEEN 5 AND 6
	SELECT sample_id FROM samples WHERE stack_id = 4
	SELECT * FROM trace_stacks WHERE trace_id = 'x'
	SELECT * FROM trace_profile WHERE trace_id = 'x'
	SELECT * FROM stack_traces WHERE stack_id = 4
	SELECT * FROM stack_frame WHERE stack_id = 4
	SELECT * FROM stack_text WHERE stack_id = 4
	SELECT * FROM stack_function WHERE stack_id = 4
	END
	lacks out 'SCAN (sample|trace|t|stack_node|frame|stack|s)( |$)'
	golden plans.txt out
}

# The function that weft gives a statement, as one that everybody has.
others_function() {
	sed 's/take_sample(/group_concat(trace) + max(/'
}

# plans_of NAME...: of statements, as they stand in query/, into file out
plans_of() {
	local name
	recording weft.db
	for name in "$@"; do
		awk -v want="$name" '
			/^-- name: / { on = $3 == want; next }
			on && !/^--/' "$root"/query/*.sql \
			"$root"/query/*/*.sql | others_function >query
		[ -s query ]
		{ echo "EXPLAIN QUERY PLAN"; cat query; } |
			sqlite3 weft.db >plan
		echo "$name"
		grep -v '^QUERY PLAN' plan
	done >out
}

# The statements of the reports that must be quick.
statements() {
	plans_of top_stacks_trace trace_processes sequence_trace \
		sequence_time traces_on_stack traces_lossy report_traces \
		trace_everyone_on stacks_one stacks_way \
		stacks_frame stacks_frames_named stacks_frames_at \
		stacks_leaves_on spans_of_trace spans_root spans_samples \
		traces_hex pool_samples flame_trace wall_parts wall_ends
	lacks out 'SCAN (sample|sample_sealed|s|trace|stack_node|frame)( |$)'
	lacks out 'SCAN (span|stack_total)( |$)'
	golden plans-reports.txt out
}

# What is of a whole file comes from its sums.
sums() {
	plans_of traces_totals top_stacks_whole top_processes_whole \
		flame_whole trace_everyone ledger_whole ledger_cpus_whole
	lacks out 'sample'
	golden plans-sums.txt out
}

# What needs every sample reads each once, in the order of the file: to seek
# them by request, or to sort them, takes several times as long.
passes() {
	plans_of diff_samples diff_samples_sealed traces_samples top_samples
	cat out
	[ "$(grep -cx '.--SCAN sample_sealed' out)" = 4 ]
	[ "$(wc -l <out)" = 8 ]
}

# The named questions about a trace, a time, a sample, a stack or a function.
questions() {
	plans_of ask_trace_samples ask_trace_functions ask_trace_gaps \
		ask_trace_threads ask_shared_cpu ask_before ask_around \
		ask_stack_traces ask_on_function
	lacks out 'SCAN (sample|sample_sealed|s|trace|t|stack_node|frame|f)( |$)'
	lacks out 'sample.* AUTOMATIC '
	golden plans-named.txt out
}

prepared() {
	recording weft.db
	# the tables that by_time.sql makes for its connection
	echo "CREATE TEMP TABLE time_found (sample_id, outcome, trace, span_id);
		CREATE TEMP TABLE time_sample AS SELECT * FROM sample;" >own
	# a statement that cannot be prepared fails here, not at a customer
	for file in "$root"/query/*.sql "$root"/query/*/*.sql; do
		awk '/^-- name: / { print ";"; on = 1; next }
			on && !/^--/ { sub(/;$/, ""); print }
			on == 1 && !/^--/ && NF { on = 2 }' "$file" |
			others_function |
			awk 'BEGIN { RS = ";" } NF {
				printf "EXPLAIN %s;\n", $0 }' >all
		sed -i 's/TABLE time_/TABLE new_/' all
		cat own all | sqlite3 -bail weft.db >out 2>err || { cat err; return 1; }
	done
}

it "the views seek by trace, time and stack" plans
it "the reports' statements seek" statements
it "what is of all samples comes from sums" sums
it "what needs all samples reads them in the order of the file" passes
it "the named questions about a trace, a time or a stack seek" questions
it "every statement can be prepared" prepared
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# A recording can be anybody's file. Whatever its schema and its rows are made
# to be, each command ends, with an answer or a sentence; what is not ours in a
# schema is refused or not used; who writes to such a file refuses it untouched.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
endless="WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
writers=1
for program in record symbolize import gc; do
	[ -x "$(dirname "$weft")/weft-$program" ] || writers=
done

# ends COMMAND...: it does, within a minute, by itself; the watchdog's limit is
# far from what it takes
ends() {
	run timeout -s KILL 60 "$@"
	[ "$status" -lt 124 ] && return 0
	echo "$*: status $status"
	return 1
}

# no_writer FILE: each program that writes into files refuses this one, and it
# stays as it is
no_writer() {
	[ -n "$writers" ] || return 0
	echo '{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"'"$A"'",
		"spanId":"00f067aa0ba902b7","name":"x",
		"startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}' >spans.json
	sha256sum "$1" >before
	for command in "symbolize -i $1" "import-spans -i $1 spans.json" \
		"gc -i $1 --keep-detail 1d"; do
		# shellcheck disable=SC2086 # its words
		ends "$weft" $command
		expect 1
		has err "'[^']*$1' "
	done
	sha256sum -c --quiet before
}

# refused PATTERN SQL: readers and writers say so
refused() {
	recording bad.db "$2"
	for command in top "trace $A" loss "export" "sql @hot_stacks"; do
		# shellcheck disable=SC2086 # its words
		ends "$weft" $command -i bad.db
		expect 1
		[ ! -s out ]
		has err "$1"
	done
	no_writer bad.db
}

# forge TABLE FROM TO: the text of its schema, where SQLite does not look twice
forge() {
	echo "PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET sql = replace(sql, '$2', '$3')
		 WHERE name = '$1';"
}

# bare TABLE: its columns, without what they may be; own SQL can then put
# anything there, and `clothe TABLE` makes the schema look like ours again
bare() {
	echo "CREATE TEMP TABLE kept_$1 AS SELECT sql FROM sqlite_schema
		 WHERE name = '$1';"
	forge "$1" "NOT NULL" ""
	echo "PRAGMA writable_schema = RESET; PRAGMA ignore_check_constraints = 1;"
}

clothe() {
	echo "PRAGMA writable_schema = ON;
		UPDATE sqlite_schema SET sql = (SELECT sql FROM kept_$1)
		 WHERE name = '$1'; PRAGMA writable_schema = RESET;"
}

# The view names and what they read are ours; the file's own views are endless.
views() {
	local view sql='' commands=(top "top --by stack" "trace $A" traces
		timeline loss "export --format csv" "sql @hot_stacks"
		"sql @top_functions")
	recording good.db
	for view in $(sqlite3 good.db "SELECT name FROM sqlite_schema
			WHERE type = 'view'"); do
		sql="$sql DROP VIEW $view; CREATE VIEW $view AS $endless SELECT n FROM t;"
	done
	recording bad.db "$sql"
	for command in "${commands[@]}"; do
		# shellcheck disable=SC2086 # its words
		run "$weft" $command -i good.db
		sed 's/good\.db/bad.db/g' out >want
		was=$status
		# shellcheck disable=SC2086 # its words
		ends "$weft" $command -i bad.db
		expect "$was"
		diff -u want out
	done
}

one_view() {
	recording bad.db "DROP VIEW frame_text; CREATE VIEW frame_text AS
		$endless SELECT n AS frame_id, 0 AS in_kernel, '' AS binary,
		'' AS name, '' AS folded FROM t"
	ends "$weft" top --by stack -i bad.db
	expect 0
	ends "$weft" sql -i bad.db "SELECT count(*) FROM samples WHERE leaf > ''"
	expect 0
}

# A view that is a table in the file, and views that a person added.
others() {
	recording bad.db "DROP VIEW samples; CREATE TABLE samples (a);
		CREATE VIEW mine AS SELECT count(*) AS n FROM stack;
		CREATE TABLE notes (text); CREATE INDEX i ON stack_count (count)"
	ends "$weft" sql -i bad.db "SELECT count(*) > 0, (SELECT n FROM mine) > 0
		FROM samples"
	expect 0
	has out '^ *1 +1$'
	ends "$weft" top -i bad.db
	expect 0
}

sums= # what then becomes of the sums of the ledger

# each SQL: reports end, and what lets go of old rows; the statuses are 0, or 1 or
# 4 with a sentence
each() {
	local n=0
	recording bad.db "$(cat "$root/tests/data/spans.sql")" \
		"$(cat "$root/tests/data/measures.sql")" "$@"
	sqlite3 bad.db "$sums"
	for command in top "top --by stack" "top --by thread" "top --by attribute" \
		"top --trace $A" \
		traces "trace $A" timeline loss "hist --of cpu" measure \
		"export --format pprof -o out.pb.gz" "export --format csv" flame \
		"diff --slow 50" "diff --after +1" "sql @hot_stacks"; do
		# shellcheck disable=SC2086 # its words
		ends "$weft" $command -i bad.db </dev/null
		case $status in
		0) n=$((n + 1)) ;;
		1 | 4) [ -s err ] ;;
		*) expect 0 ;;
		esac
		rm -f out.pb.gz
	done
	echo "$n of 17 answered"
	for command in "gc --keep-detail 1d --keep-shape 1d,2d" \
		"gc --max-size 1"; do
		[ -n "$writers" ] || continue
		cp bad.db old.db
		# shellcheck disable=SC2086 # its words
		ends "$weft" $command -i old.db
		echo "$command: $status"
		case $status in
		0) ;;
		1) [ -s err ] ;;
		*) expect 0 ;;
		esac
	done
}

numbers() {
	local table sql=
	for table in stack_total stack_count; do
		sql="$sql UPDATE $table SET count = -9223372036854775807 - 1,
			value = 9223372036854775807 WHERE stack_id % 2;
			UPDATE $table SET count = 1e300, value = 'x'
			 WHERE stack_id % 2 = 0;"
	done
	sums="UPDATE ledger_sum SET value = 'x', unmeasured = -1,
		count = iif(entry_id % 2, -5, 9223372036854775807);
		UPDATE event SET cpu_ns = iif(id % 2, -1, 9223372036854775807);"
	each "$sql UPDATE ledger_row SET count = -1, value = -1 WHERE entry_id % 2;
		UPDATE sample_sealed SET weight = -1e308, value = -5 WHERE id % 3 = 0;
		UPDATE sample_sealed SET weight = 1e308, cpu = -7,
			value = 9223372036854775807 WHERE id % 3 = 1;
		UPDATE cpu_interval SET period = 0, due = -1, fired = -1, cpu = cpu + 1000000000000000000;
		UPDATE metric_value SET count = -1;
		UPDATE metric_bucket SET bucket = bucket + 1000000000000, count = -1;
		UPDATE recording SET cpus = -1, detail_n = -1, interval_ns = 0;"
	sums=
	# weights whose squares are no numbers are none
	for weight in 1e308 -1e308 1e60 1e37 1e-200; do
		recording bad.db "$(cat "$root/tests/data/spans.sql")" "UPDATE
			sample_sealed SET weight = $weight,
				value = 9223372036854775807 WHERE id % 3"
		ends "$weft" diff --slow 50 --json -i bad.db
		expect 0
		is_json out
		lacks out null
	done
	# times that are none have no rate
	recording bad.db "UPDATE interval SET end_ns = start_ns"
	ends "$weft" diff --after +0 --json -i bad.db
	lacks out ': -?(inf|nan)'
}

times() {
	each "UPDATE interval SET start_ns = 9223372036854775807 - id,
			end_ns = -9223372036854775807,
			clock_offset_ns = 9223372036854775807, clock_error_ns = -1;
		UPDATE sample_sealed SET time_ns = 9223372036854775807 WHERE id % 2;
		UPDATE span SET start_ns = 9223372036854775807, end_ns = -1;
		UPDATE recording SET started_ns = -1, ended_ns = 9223372036854775807;"
}

# NULL and texts where there can be none.
nulls() {
	local table sql=
	for table in process thread sample_sealed stack frame interval event \
		trace function binary; do
		sql="$sql $(bare "$table")"
	done
	sql="$sql
		UPDATE process SET pid = NULL, start_ns = 'x';
		UPDATE thread SET tid = 'x', start_ns = NULL;
		UPDATE sample_sealed SET cpu = NULL, weight = NULL, stack_id = 'a',
			thread_id = NULL WHERE id % 2;
		UPDATE stack SET status = NULL, depth = 'x' WHERE id % 2;
		UPDATE frame SET address = NULL, in_kernel = 77;
		UPDATE interval SET end_ns = NULL, clock_offset_ns = 'x';
		UPDATE event SET name = NULL, unit = x'00';
		UPDATE trace SET trace_id = zeroblob(id), samples = NULL, weight_sum = 'x'
		 WHERE id % 2;
		UPDATE shape_attribute SET key = NULL, value = NULL;
		UPDATE function SET name = NULL, source = NULL;
		UPDATE binary SET path = NULL, kind = 'x';"
	for table in process thread sample_sealed stack frame interval event \
		trace function binary; do
		sql="$sql $(clothe "$table")"
	done
	each "$sql"
}

# Circles, a depth without end, ids that lead nowhere.
circles() {
	each "UPDATE stack_node SET parent_id = id;
		UPDATE stack SET depth = 9223372036854775807;
		UPDATE frame_function SET inline_depth = inline_depth + 4000000000;
		UPDATE span SET parent_span_id = span_id;
		UPDATE sample_sealed SET trace = 99, thread_id = -1 WHERE id % 2;"
	ends "$weft" sql -i bad.db "SELECT max(length(folded)) < 1000000,
		max((SELECT count(*) FROM stack_frame f
		      WHERE f.stack_id = t.stack_id)) FROM stack_text t"
	expect 0
	has out '^ *1 +1024$'
}

# A version that is another's tables', and below all.
versions() {
	local version
	# Of 5 the tables are the same: there are more, of which nothing is read.
	for version in 1 7; do
		refused "not as weft makes its files" \
			"PRAGMA user_version = $version"
	done
	refused "it has no schema" "PRAGMA user_version = 0"
	refused "it has no schema" "PRAGMA user_version = -2147483648"
}

it "endless views of our names are not used" views
it "nor is one of them" one_view
it "what has no name of ours may be there" others
it "a view in place of a table" refused "by its table|lacks the table" \
	"DROP TABLE stack_total; CREATE VIEW stack_total AS $endless
	SELECT 1 AS event_id, n AS process_id, 4 AS stack_id, n AS count,
	n AS value FROM t"
it "a virtual table in place of one" refused "by its table process" \
	"DROP TABLE process; CREATE VIRTUAL TABLE process USING fts5(pid, comm)"
it "a generated column" refused "by its table function" \
	"DROP TABLE function; CREATE TABLE function (id INTEGER PRIMARY KEY,
	linkage_name, file, line, source,
	name AS (printf('%.*c', 900000000, 'x')))"
it "a table of other columns" refused "by its table ledger_entry" \
	"DROP TABLE ledger_entry; CREATE TABLE ledger_entry AS
	SELECT 1 AS id, 'fired' AS name"
it "one word is not two" refused "by its table stack" \
	"$(forge stack 'status TEXT NOT' 'statusTEXT NOT')"
it "a trigger" refused "it has triggers" \
	"CREATE TRIGGER t AFTER INSERT ON recording BEGIN
	DELETE FROM process; END"
it "a table that is gone" refused "lacks the table stack_node" \
	"DROP TABLE stack_node"
it "schemas of other versions" versions
it "numbers that are none" numbers
it "times that are none" times
it "NULL and text where a number is due" nulls
it "circles, and depths without end" circles
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# What weft export writes in each format, read by a decoder of the tests' own.
# That real readers take them: tests/interop/60-export.sh.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# export_to OUT OPTION...: export to OUT, read it into OUT.read
export_to() {
	local out=$1 format
	shift
	run "$weft" export -o "$out" "$@"
	expect 0
	[ ! -s err ]
	[ ! -s out ]
	case $out in
	*.pb.gz) format=pprof ;;
	*.otlp) format=otlp ;;
	*.json) format=speedscope ;;
	*) format=folded ;;
	esac
	python3 "$root/tests/cli/read_profile.py" "$format" "$out" >"$out.read"
}

# tells FILE EXPRESSION TEXT: what was read, as Python prints it
tells() {
	local got
	got=$(json "$1" "$2")
	[ "$got" = "$3" ] && return 0
	echo "$1: $2 is $got, not $3"
	return 1
}

# Samples and ns of shape, and what detail stands for, of weft.db by SQL.
of_file() {
	"$weft" sql --json "
		SELECT sum(count), sum(value) FROM stack_total;
		SELECT count(*), sum(weight), sum(weight * value) FROM sample;" >got
	json got '*(r["rows"][0] for r in j["results"]),'
}

sums() {
	recording weft.db
	[ "$(of_file)" = "([300, 3000000000], [28, 280, 2800000000])" ]
	export_to a.folded
	tells a.folded.read 'j["count"]' 300
	export_to a.pb.gz
	tells a.pb.gz.read 'j["sums"]' '[300, 3000000000]'
	export_to a.speedscope.json
	tells a.speedscope.json.read 'j["value"]' 3000000000
	export_to a.otlp
	tells a.otlp.read 'sum(p["sum"] for p in j["profiles"]),
		sum(p["sum"] * p["period"] for p in j["profiles"]),
		sum(p["points"] * p["period"] for p in j["profiles"]
			if p["scope"] == "weft.detail")' \
		'(300, 3000000000, 2800000000)'
	export_to b.folded --only detail
	tells b.folded.read 'j["count"]' 280
	export_to b.pb.gz --only detail
	tells b.pb.gz.read 'j["sums"]' '[280, 2800000000]'
	export_to b.speedscope.json --only detail
	tells b.speedscope.json.read 'j["samples"], j["value"]' \
		'(28, 2800000000)'
}

pprof() {
	recording weft.db "UPDATE function SET linkage_name = '_Z6handlev',
			file = '/src/handle.c', line = 5 WHERE id = 3;
		UPDATE process SET exe = '/usr/lib/lib;c.so' WHERE id = 1;"
	export_to a.pb.gz
	tells a.pb.gz.read 'j["types"], j["default"], j["period_type"],
		j["period"], j["time_ns"], j["duration_ns"]' \
		"([['samples', 'count'], ['cpu', 'nanoseconds']], 'cpu', ['cpu', 'nanoseconds'], 10000000, 1700000000000000000, 2000000000)"
	# the program that used most is the first
	tells a.pb.gz.read 'j["mappings"]' \
		"[['/usr/lib/lib;c.so', 'bb'], ['/usr/bin/worker', 'aa'], ['[kernel.kallsyms]', '']]"
	tells a.pb.gz.read 'j["inlined"]' "[['memcpy', 'fast_copy']]"
	tells a.pb.gz.read '[f for f in j["functions"] if f[0] == "handle"]' \
		"[['handle', '_Z6handlev', '/src/handle.c', 5]]"
	tells a.pb.gz.read 'j["labels"]["pid"]' '[100, 200]'
	tells a.pb.gz.read '"trace_id" in j["labels"]' False
	tells a.pb.gz.read '"lost_counts_full=4" in j["comments"],
		"throttled: not measured" in j["comments"]' '(True, True)'
	export_to b.pb.gz --only detail
	tells b.pb.gz.read 'j["labels"]["trace_id"]' \
		"['0af7651916cd43dd8448eb211c80319c', '0af76519ffffffffffffffffffffffff', '4bf92f3577b34da6a3ce929d0e0e4736']"
	tells b.pb.gz.read 'j["labels"]["span_id"], j["labels"]["thread_id"]' \
		"(['00f067aa0ba902b7'], [101, 102, 200])"
}

otlp() {
	# a sample whose trace has no span ID, and one whose span has no trace
	recording weft.db \
		"UPDATE sample_sealed SET span_id = NULL WHERE id = 1;
		 UPDATE sample_sealed SET trace = NULL WHERE id = 2;"
	export_to a.otlp
	tells a.otlp.read '[(p["pid"], p["scope"], p["type"][0], p["points"],
		p["linked"], p["period"]) for p in j["profiles"]]' \
		"[(100, 'weft', 'samples', 10, 0, 10000000), (100, 'weft.detail', 'trace_samples', 24, 21, 100000000), (200, 'weft', 'samples', 1, 0, 10000000), (200, 'weft.detail', 'trace_samples', 4, 0, 100000000)]"
	tells a.otlp.read 'j["resources"][0]["service.name"],
		j["resources"][0]["process.executable.path"]' \
		"('shop', '/usr/bin/worker')"
	tells a.otlp.read 'j["mappings"][0]' \
		"['/usr/bin/worker', [['process.executable.build_id.gnu', 'aa']]]"
	tells a.otlp.read '"lost_ring_full=2" in
		j["profiles"][0]["comments"][0][1]' True
	export_to b.otlp --only shape
	tells b.otlp.read '[p["scope"] for p in j["profiles"]]' \
		"['weft', 'weft']"
	export_to c.otlp --only detail
	tells c.otlp.read '[p["scope"] for p in j["profiles"]]' \
		"['weft.detail', 'weft.detail']"
}

# Blocks are chosen by their length: each stands for a number of ns of its own.
by_size() {
	recording weft.db "UPDATE event SET name = 'off-cpu',
			requested_hz = NULL, tau_ns = 20000000;
		UPDATE sample_sealed SET weight = 1.3, value = 1;"
	export_to a.otlp
	tells a.otlp.read '{(p["type"][0], p["type"][1], p["period"])
		for p in j["profiles"]}' "{('off_cpu', 'nanoseconds', 0)}"
	tells a.otlp.read 'sum(p["sum"] for p in j["profiles"]
		if p["scope"] == "weft")' 3000000000
	"$weft" sql --json "SELECT CAST(round(sum(weight)) AS INT),
		CAST(round(sum(weight * value)) AS INT) FROM sample" >got
	json got 'j["results"][0]["rows"][0]' >want
	# rounding is owed to the next sample of the process, so the sum fits
	tells a.otlp.read 'abs(sum(p["sum"] for p in j["profiles"]
		if p["scope"] == "weft.detail") -
		'"$(json want 'j[1]')"') <= 1' True
	export_to a.pb.gz --only detail
	tells a.pb.gz.read 'j["sums"], j["default"], j["period"]' \
		"($(cat want), 'off_cpu', 0)"
}

chosen() {
	recording weft.db
	export_to a.pb.gz --trace 0af76519ff
	tells a.pb.gz.read 'j["sums"], j["labels"]["trace_id"]' \
		"([60, 600000000], ['0af76519ffffffffffffffffffffffff'])"
	export_to b.pb.gz --pid 200
	tells b.pb.gz.read 'j["sums"], j["labels"]["pid"]' \
		'([18, 180000000], [200])'
	export_to c.pb.gz --until +1
	tells c.pb.gz.read 'j["sums"]' '[150, 1500000000]'
	export_to d.pb.gz --until +1 --only detail
	tells d.pb.gz.read 'j["sums"]' '[140, 1400000000]'
	export_to e.otlp --pid 200 --only detail
	tells e.otlp.read '[(p["pid"], p["points"]) for p in j["profiles"]]' \
		'[(200, 4)]'
	run "$weft" export --pid 300 -o f.pb.gz
	expect 4
	[ ! -e f.pb.gz ]
	run "$weft" export --trace 0af76519ff --only shape
	expect 2
	has err 'shape knows no traces'
	run "$weft" export --only both
	expect 2
}

inlined() {
	recording weft.db
	export_to a.speedscope.json --pid 100
	tells a.speedscope.json.read '"memcpy" in j["frames"],
		"fast_copy" in j["frames"], j["first"]' \
		"(True, True, ['worker'])"
	tells a.speedscope.json.read '"ksys_read_[k]" in j["frames"]' True
}

formats() {
	recording weft.db
	run "$weft" export --format pproff
	expect 2
	has err "did you mean 'pprof'"
	# what it is called says what it is, unless --format does
	export_to a.pb.gz
	run "$weft" export -o b.folded --format pprof
	expect 0
	cmp a.pb.gz b.folded
	"$weft" export --format pprof >c
	cmp a.pb.gz c
	run "$weft" export -o /dev/full --format pprof
	expect 1
	has err 'cannot write'
	run "$weft" export -o /dev/full --format otlp
	expect 1
	# an older export stays where there is nothing to write
	recording weft.db "DELETE FROM stack_count; DELETE FROM stack_total;
		DELETE FROM sample_sealed;"
	for out in a.pb.gz b.otlp c.speedscope.json d.csv; do
		echo old >"$out"
		run "$weft" export -o "$out"
		expect 4
		is "$out" old
	done
}

tiny() {
	recording weft.db "DELETE FROM stack_count WHERE stack_id <> -4
			OR interval_id <> 1;
		DELETE FROM stack_total WHERE stack_id <> -4;
		UPDATE stack_total SET count = 3, value = 30000000;
		DELETE FROM sample_sealed WHERE id <> 1;"
	export_to a.folded
	is a.folded 'worker;[stack lost] 3'
	export_to a.pb.gz
	tells a.pb.gz.read 'j["sums"], j["mappings"]' '([3, 30000000], [])'
	export_to a.speedscope.json
	tells a.speedscope.json.read 'j["deepest"]' "['worker', '[stack lost]']"
	export_to a.otlp
	tells a.otlp.read '[p["points"] for p in j["profiles"]]' '[1, 1]'
	export_to b.pb.gz --only detail
	tells b.pb.gz.read 'j["sums"]' '[10, 100000000]'
}

# No user frame, no name, an address beyond 2^63 (SQLite has it as a negative
# number), counts of 0, the deepest stack that is walked.
extremes() {
	recording weft.db "DELETE FROM stack_count; DELETE FROM stack_total;
		DELETE FROM sample_sealed;
		INSERT INTO binary VALUES (4, 'unknown', '', NULL, '');
		INSERT INTO frame (id, binary_id, address, in_kernel) VALUES
		(20, 4, -10485760, 0), (21, 4, 4096, 0);
		INSERT INTO stack_node VALUES (20, -32, 20), (21, 20, 21),
		(22, -33, 6);
		INSERT INTO stack (id, status, depth, ended) VALUES (21, 'complete', 2, 'marked'),
		(22, 'no_user', 1, 'no_user'), (1126, 'complete', 127, 'marked');
		INSERT INTO stack_node VALUES (1000, -32, 2);
		WITH RECURSIVE n(i) AS (SELECT 1001 UNION ALL
		SELECT i + 1 FROM n WHERE i < 1126)
		INSERT INTO stack_node SELECT i, i - 1, 3 FROM n;
		CREATE TEMP TABLE t (stack, n);
		INSERT INTO t VALUES (21, 7), (22, 8), (1126, 9), (4, 0);
		INSERT INTO stack_total SELECT 1, 1, stack, n, n * 10000000 FROM t;
		INSERT INTO stack_count SELECT 1, 1, 1, stack, n, n * 10000000
		FROM t"
	export_to a.folded
	tells a.folded.read 'j["count"]' 24
	has a.folded '^worker;\[unknown\+0xffffffffff600000\];\[unknown\+0x1000\] 7$'
	has a.folded '^worker;ksys_read_\[k\] 8$'
	[ "$(awk -F ';' 'NF == 128' a.folded | wc -l)" = 1 ]
	[ "$(wc -l <a.folded)" = 3 ]
	export_to a.pb.gz
	tells a.pb.gz.read 'j["sums"], j["samples"], j["depth"]' \
		'([24, 240000000], 3, 127)'
	export_to a.speedscope.json
	tells a.speedscope.json.read 'j["value"], len(j["deepest"])' \
		'(240000000, 128)'
	export_to a.otlp
	tells a.otlp.read 'sum(p["sum"] for p in j["profiles"])' 24
	run "$weft" export --format csv
	expect 0
	has out '\[unknown\+0xffffffffff600000\]'
	run "$weft" top
	expect 0
	has out ' \[unknown\+0xffffffffff600000\]$'
}

# Names that would break a line, a terminal or a reader; read_profile.py fails
# for any control character, and for what is not UTF-8.
hostile() {
	local bad="'#' || char(27) || '[2J' || char(0x9b) || char(13, 10) || ';'
		|| '\"\\' || CAST(x'fffe' AS TEXT) || char(0x202e) || ' 12'"
	recording weft.db "UPDATE function SET name = name || $bad,
			linkage_name = $bad || id, file = $bad;
		UPDATE process SET comm = $bad, exe = $bad || pid, service = $bad;
		UPDATE thread SET comm = $bad;
		UPDATE binary SET path = $bad || id, build_id = $bad;"
	for only in shape detail; do
		for out in a.folded a.pb.gz a.speedscope.json a.otlp; do
			export_to "$out" --only "$only"
		done
		for format in csv json; do
			"$weft" export --only "$only" --format "$format" >out
			python3 - <<-'END'
			import unicodedata
			data = open("out", "rb").read().decode("utf-8", "strict")
			assert not [c for c in data if c not in "\r\n" and
			            unicodedata.category(c) == "Cc"]
			END
		done
	done
}

# An event is called after a file; a weight is what a file says.
odd() {
	recording weft.db "UPDATE event SET name = 'uprobe:/x\"y\\z:f' ||
			char(27);
		UPDATE sample_sealed SET weight = 9e999 WHERE id = 1;
		UPDATE sample_sealed SET weight = -5 WHERE id = 2;
		UPDATE sample_sealed SET weight = 1e90 WHERE id = 3;
		DELETE FROM sample_sealed WHERE id = 3;
		UPDATE function SET name = printf('%.*c', 100000, 'x')
			WHERE id = 4;"
	export_to a.speedscope.json
	tells a.speedscope.json.read 'j["value"]' 3000000000
	export_to b.speedscope.json --only detail
	tells b.speedscope.json.read 'j["value"]' 2500000000
	export_to b.pb.gz --only detail
	tells b.pb.gz.read 'j["sums"]' '[250, 2500000000]'
	export_to b.folded --only detail
	tells b.folded.read 'j["count"]' 250
	export_to b.otlp --only detail
	# no name is longer than a recorder makes them
	[ "$(wc -L <b.folded)" -lt 40000 ]
	[ "$(tr -cs x '\n' <b.folded | wc -L)" = 16384 ]
}

rows() {
	recording weft.db
	"$weft" export --format csv >a.csv
	"$weft" export --format json >a.json
	"$weft" export --format csv --only detail >b.csv
	"$weft" export --format json --only detail >b.json
	python3 - <<-'END'
	import csv, json
	for name, rows, sums in ("a", 11, (300, 3000000000)), ("b", 28, (
	        280, 2800000000)):
	    data = open(name + ".csv", "rb").read()
	    assert data.count(b"\r\n") == data.count(b"\n") == rows + 1
	    a = list(csv.DictReader(data.decode().splitlines()))
	    b = json.load(open(name + ".json"))
	    assert len(a) == len(b) == rows
	    for x, y in zip(a, b):
	        # CSV has escapes for what JSON keeps, and JSON one for \x
	        want = {k: "" if v is None else str(v).replace("\\x5c", "\\")
	                .replace("\n", "\\x0a").replace("\x1b", "\\x1b")
	                for k, v in y.items()}
	        assert x == want, (x, want)
	    if name == "a":
	        got = (sum(x["count"] for x in b), sum(x["value"] for x in b))
	    else:
	        got = (sum(x["weight"] for x in b),
	               sum(x["weight"] * x["value"] for x in b))
	    assert got == sums, got
	assert {x["trace_id"] for x in b} >= {None,
	    "4bf92f3577b34da6a3ce929d0e0e4736"}
	END
}

sql_rows() {
	recording weft.db
	run "$weft" sql --format csv "SELECT NULL AS a, '' AS 'b,\"', 'x' AS c,
		1.5 AS d, x'00ff' AS e, 'a' || char(10) || '\"' AS f"
	expect 0
	printf 'a,"b,""",c,d,e,f\r\n,"",x,1.5,00ff,"a\\x0a"""\r\n' | cmp - out
	run "$weft" sql --format json "SELECT 1 AS one"
	expect 0
	tells out 'j["results"][0]["rows"]' '[[1]]'
	run "$weft" sql --format xml "SELECT 1"
	expect 2
	run "$weft" sql --format csv --json "SELECT 1"
	expect 2
}

it "sums of shape and detail are the file's, in each format" sums
it "pprof has types, period, mappings, lines, names, labels and losses" pprof
it "OTLP keeps shape and detail apart, and links only where both IDs are" otlp
it "what is chosen by its size has values, and no period" by_size
it "a trace, a process or a stretch of time can be exported" chosen
it "speedscope has inlined functions and the process as frames" inlined
it "the format follows the name, and nothing is written over nothing" formats
it "a file with one stack, and that lost, can be exported" tiny
it "kernel alone, no names, addresses beyond 2^63, counts of 0, 127 frames" \
	extremes
it "no name brings control characters or broken UTF-8 into an export" hostile
it "odd names of events, damaged weights, endless names" odd
it "csv and json have the same rows, and the file's sums" rows
it "weft sql writes CSV as RFC 4180 has it" sql_rows
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# The named questions of weft sql, on a recording whose answers are known. What
# is not here is in 30-sql.sh, which asks all of them.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
B=0af76519ffffffffffffffffffffffff
C=4bf92f3577b34da6a3ce929d0e0e4736

# answers QUESTION [KEY=VALUE...]: its rows are standard input's, fields apart
# by |
answers() {
	run "$weft" sql --json "$@"
	expect 0
	python3 -c '
import json
for row in json.load(open("out"))["results"][0]["rows"]:
    print("|".join("%.6g" % f if isinstance(f, float) else str(f)
                   for f in row))' >got
	diff -u - got
}

on_function() {
	recording weft.db
	answers @on_function function=compress <<-END
	$A|cpu-clock|12|16|1200000000|ns
	$B|cpu-clock|2|6|200000000|ns
	$C|cpu-clock|1|1|100000000|ns
	END
	# inlined
	answers @on_function function=memcpy <<-END
	$A|cpu-clock|2|16|200000000|ns
	END
	# one of the kernel is named as the reports name it, and no other way
	sqlite3 weft.db "UPDATE sample_sealed SET trace = 3 WHERE id = 13"
	answers @on_function 'function=ksys_read_[k]' <<-END
	$C|cpu-clock|1|1|100000000|ns
	END
	answers @on_function function=ksys_read </dev/null
	answers @on_function function=compress n=1 <<-END
	$A|cpu-clock|12|16|1200000000|ns
	END
}

moments() {
	recording weft.db
	answers @before sample=7 n=2 <<-END
	-40|6|$A|cpu-clock|compress
	-80|5|$A|cpu-clock|compress
	END
	answers @before sample=7 ms=50 <<-END
	-40|6|$A|cpu-clock|compress
	END
	# its own thread only
	answers @before sample=11 <<-END
	-340|10|$B|cpu-clock|[lib;c.so+0x1234]
	-380|9|$B|cpu-clock|compress
	END
	answers @around unix_ns=1700000000330000000 <<-END
	-10|0|100|102|worker/2|$B|cpu-clock|compress
	END
	answers @around unix_ns=1700000000330000000 ms=60 <<-END
	-10|0|100|102|worker/2|$B|cpu-clock|compress
	-50|1|100|101|worker/1|$A|cpu-clock|memcpy
	30|1|100|102|worker/2|$B|cpu-clock|[lib;c.so+0x1234]
	END
}

only_slow() {
	recording weft.db
	# B lasted longest: two of its three stacks are no other request's
	answers @only_slow <<-END
	cpu-clock|1|1|2|200000000|ns|7|_start;main;[lib:c.so+0x1234]
	cpu-clock|1|1|2|200000000|ns|11|[truncated];main;handle
	END
	answers @only_slow percent=100 n=1 <<-END
	cpu-clock|3|3|13|1300000000|ns|4|_start;main;handle;compress
	END
	# by its spans A lasted longer
	sqlite3 weft.db "INSERT INTO span (trace, span_id, start_ns, end_ns)
		VALUES (1, x'0000000000000001', 0, 9000000000)"
	run "$weft" sql --json "SELECT 1"
	"$weft" sql @only_slow >out
	has out ' 5  _start;main;handle;compress;compress$'
	lacks out 'lib:c.so'
	# what ties with the last of the slow is slow
	recording weft.db "UPDATE trace SET first_ns = 0, last_ns = 7"
	answers @only_slow percent=34 n=1 <<-END
	cpu-clock|3|3|13|1300000000|ns|4|_start;main;handle;compress
	END
}

slowest() {
	# a request that has spans alone has no first and last sample
	recording weft.db "INSERT INTO trace (id, trace_id, samples, weight_sum,
		value_sum, first_ns, last_ns) VALUES (4, randomblob(16), 0, 0, 0,
		9223372036854775807, 0)"
	answers @slowest_traces <<-END
	$B|1380|6|600
	$A|1280|16|1600
	$C|0|1|100
	END
}

requests() {
	recording weft.db
	answers @shared_cpu "trace=$A" <<-END
	$B|0,1|cpu-clock|3|300000000|ns
	$C|1|cpu-clock|1|100000000|ns
	END
	answers @trace_functions "trace=$B" n=2 <<-END
	cpu-clock|handle|2|4|200000000|400000000|ns
	cpu-clock|[lib;c.so+0x1234]|2|2|200000000|200000000|ns
	END
	answers @trace_gaps "trace=$A" n=2 <<-END
	1000|720|101|memcpy|compress
	40|40|101|compress|compress
	END
	answers @trace_threads "trace=$B" <<-END
	100|102|worker|worker/2|cpu-clock|6|600000000|ns|0|1380|0,1
	END
	answers @untraced <<-'END'
	200|e;vil
	 7|None|zero|4
	100|worker|shop|zero|1
	END
}

spans() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
	answers @failed <<-END
	$B|shop|GET /cart|1500|6|600
	END
	answers @routes <<-END
	shop|/cart|4|2|1|2200|550|950.5|1500
	END
}

# The same interval as the reports print, for many, few and no samples.
share() {
	local function
	recording weft.db "UPDATE function SET name = 'plain' WHERE id = 6;
		INSERT INTO stack_total VALUES (1, 2, 13, 7, 0);
		DELETE FROM stack_total WHERE stack_id = 9;
		UPDATE stack_total SET count = 4 WHERE stack_id = 7;"
	"$weft" top --json -n 0 >top.json
	for function in compress plain handle memcpy '[lib;c.so+0x1234]' main \
		'ksys_read_[k]' _start; do
		"$weft" sql --json @share "function=$function" >share.json
		python3 - "$function" <<-'END'
		import json, sys
		top = json.load(open("top.json"))
		row = [r for r in top["rows"] if r["function"] == sys.argv[1]][0]
		rows = json.load(open("share.json"))["results"][0]["rows"]
		assert len(rows) == 2, rows
		for r in rows:
		    what = r[1]
		    want = [row[what + "_samples"], top["samples"]] + [
		        100 * row[what + "_share" + end]
		        for end in ("", "_lo", "_hi")]
		    print(sys.argv[1], r, want)
		    for a, b in zip(r[2:], want):
		        assert abs(a - b) < 1e-9, (a, b)
		END
	done
	answers @share function=nonesuch <<-END
	cpu-clock|self|0|281|0|0|1.34863
	cpu-clock|total|0|281|0|0|1.34863
	END
	# of two binaries on the same stacks
	recording weft.db
	"$weft" sql @share function=handle >one
	sqlite3 weft.db "INSERT INTO frame (id, binary_id, address, in_kernel)
		VALUES (99, 3, 7, 0); INSERT INTO frame_function VALUES
		(99, 0, 3, NULL);
		UPDATE stack_node SET frame_id = 99 WHERE id = 1"
	"$weft" sql @share function=handle >two
	awk '$2 == "self"' one >self
	awk '$2 == "self"' two | diff -u self -
	awk '$2 == "total" { exit !($3 > 0 && $3 <= $4) }' two
}

profiler() {
	recording weft.db
	answers @cost <<-END
	1|2|5|0.125|9000000|None|None|None
	END
	sqlite3 weft.db "UPDATE interval SET bpf_run_ns = 4000000,
		bpf_run_count = 2000"
	answers @cost <<-END
	1|2|5|0.125|9000000|8|0.2|2000
	END
	answers @losses <<-END
	1|cpu-clock|broken|10|counted|300|3.33333
	1|cpu-clock|truncated|10|counted|300|3.33333
	1|cpu-clock|stack_lost|6|counted|300|2
	1|cpu-clock|lost_counts_full|4|fired|396|1.0101
	1|cpu-clock|not_run|4|due|400|1
	1|cpu-clock|lost_ring_full|2|selected|30|6.66667
	END
}

machine() {
	recording weft.db "INSERT INTO event (id, recording_id, name, unit)
		VALUES (2, 1, 'off-cpu', 'ns');
		INSERT INTO stack_total VALUES (2, 1, 4, 3, 9000000000),
			(2, 1, 6, 30, 6000000000);"
	answers @off_cpu <<-END
	off-cpu|3|9000|3000|_start;main;handle;compress
	off-cpu|30|6000|200|_start;main;handle;ksys_read_[k]
	END
	answers @kernel n=2 <<-'END'
	cpu-clock|100|worker|282|32|11.3475
	cpu-clock|200|e;vil
	 7|18|18|100
	END
}

list() {
	"$weft" sql --list >list
	[ "$(wc -l <list)" -ge 25 ]
	# one line each that ends as a question, or with what it needs
	[ "$(grep -Ec '^@[a-z_]+ +[A-Z].*\?( \(.*\))?$' list)" = \
		"$(wc -l <list)" ]
	[ "$(sort list | uniq -d | wc -l)" = 0 ]
}

it "which requests were on a function, inlined and kernel ones too" on_function
it "what ran on a thread before a sample, and on all CPUs at a moment" moments
it "stacks that only the slowest requests have" only_slow
it "the longest requests" slowest
it "one request: CPUs, functions, gaps, threads" requests
it "failed requests and routes, by their spans" spans
it "a share has the interval that weft top prints" share
it "what recording cost, and what it lost" profiler
it "blocks, and what was in the kernel" machine
it "each has a question of one line" list
finish

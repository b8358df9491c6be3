#!/bin/bash
# SPDX-License-Identifier: MIT
# The functions that weft adds to SQL: in weft sql, and in other programs by
# weft.so.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

extension=${weft%/*}/weft

questions="SELECT printf('%.9f', wilson_low(3, 10)),
	printf('%.9f', wilson_high(3, 10)),
	printf('%.6f', wilson_low(3, 10, 'listed')),
	printf('%.9f', poisson_low(2)), printf('%.9f', poisson_high(2)),
	printf('%.4f', poisson_low(2, 'listed'));
SELECT printf('%.9f', weighted_low(50, 500, 10)),
	printf('%.9f', weighted_high(50, 500, 10)),
	wilson_low(NULL, 4) IS NULL, wilson_low(0, 0), wilson_high(0, 0);
SELECT trace_hex(trace_id) = hex, trace_hex(x'00Ff') FROM trace LIMIT 1;
SELECT count(*) FROM stack_text WHERE folded(stack_id) IS NOT folded;
SELECT folded(4), folded(999) IS NULL;
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000)
SELECT percentile(x, 50), percentile(x, 99), percentile(x, 0),
	percentile(x, 100), median(1001 - x), percentile_low(x, 50),
	percentile_high(x, 50) FROM n;
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 100)
SELECT percentile(x, 99), percentile_high(x, 99) IS NULL,
	percentile(NULL, 50) IS NULL, median(NULL) IS NULL FROM n;
SELECT median(x) IS NULL FROM (SELECT 1 AS x WHERE 0);
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 381)
SELECT percentile_high(x, 99), percentile(x, NULL) IS NULL,
	percentile_low(x, 0) IS NULL,
	(SELECT percentile_high(x, 99) IS NULL FROM n WHERE x < 381) FROM n;"

# Of 1000 the ranks are 500 -+ 1.96 sqrt(250): 469.01 and 530.99, one more
# above. The 99th percentile of 381 has an upper limit, of 380 it has none.
answers="0.060297257|0.719556931|0.040830|0.224625211|7.220869001|0.0504
16.113477157|116.681641234|1|0.0|1.0
1|00ff
0
_start;main;handle;compress|1
500.0|990.0|1.0|1000.0|500.0|469.0|532.0
99.0|1|1|1
1
381.0|1|1|1"

in_the_shell() {
	recording weft.db
	echo "$questions" | sqlite3 -bail -cmd ".load $extension" weft.db >out
	is out "$answers"
}

in_python() {
	recording weft.db
	python3 - "$extension" "$questions" >out <<-'END'
	import sqlite3, sys
	db = sqlite3.connect("weft.db")
	if not hasattr(db, "enable_load_extension"):
	    print("no extensions")
	    sys.exit()
	db.enable_load_extension(True)
	db.load_extension(sys.argv[1])
	for question in sys.argv[2].split(";\n"):
	    for row in db.execute(question):
	        print("|".join(str(x) for x in row))
	END
	[ "$(cat out)" = "no extensions" ] || is out "$answers"
}

in_weft() {
	recording weft.db
	run "$weft" sql --json "$questions"
	expect 0
	json out '"\n".join("|".join(repr(float(x)) if isinstance(x, float)
		else str(x) for x in row) for r in j["results"]
		for row in r["rows"])' >got
	sed 's/\.0\b//g' got >ours
	echo "$answers" | sed 's/\.0\b//g' | diff -u - ours
}

refuses() {
	local question
	recording weft.db
	while read -r question; do
		run sqlite3 -bail -cmd ".load $extension" weft.db \
			"SELECT $question FROM trace"
		expect 1
		[ -s err ]
		run "$weft" sql "SELECT $question FROM trace"
		expect 1
		[ ! -s out ]
	done <<-'END'
	wilson_low(5, 4)
	wilson_high(-1, 4)
	wilson_high(1, 4, 'lst')
	poisson_low(-1)
	poisson_low(2, 3)
	weighted_low(-1, 1, 1)
	trace_hex(zeroblob(33))
	percentile(id, 101)
	percentile_low(id, -1)
	wilson_low(1)
	END
}

it "sqlite3 loads them, and they give what the reports print" in_the_shell
it "Python's sqlite3 loads them" in_python
it "weft sql has them" in_weft
it "what makes no sense is refused" refuses
finish

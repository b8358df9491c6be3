#!/bin/bash
# SPDX-License-Identifier: MIT
# The report of the benchmark: what its parts note becomes a table, JSON, and
# text in a document; what does not run is said.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

bench=$root/tools/bench

# row KIND FIELD...: as measure.sh notes it
row() {
	local IFS=$'\t'
	echo "$*"
}

note_some() {
	echo "== kernel: ns" >kernel.txt
	{
		row fact date 2026-01-02
		row goal kernel "of a sample" 900 7000 0.129 0.2 ns bpftrace
		row goal kernel "of another" 3000 7000 0.429 0.333 ns bpftrace ""
		row goal rows "rows" 400000 300000 1.333 "at least 1" 1/s goal
		row goal rows "nothing" - 300000 - 0.5 1/s goal
		row figure kernel "statistics" 101.5 ns "90 to 110"
		row part kernel 61 kernel.txt
		row fact seconds 130
	} >figures
	cat >doc.md <<-END
		before
		<!-- bench: begin -->
		old figures
		<!-- bench: end -->
		after
	END
}

report() {
	"$bench/report.py" "$@"
}

goals_are_told() {
	note_some
	report --figures figures >out
	grep -qE '^of a sample +900 ns +7,000 ns \(bpftrace\) +0\.13 +0\.2 +yes$' out
	grep -qE '^of another .* 0\.333 +no$' out
	grep -qE '^rows .* at least 1 +yes$' out
	grep -qE '^nothing +\? .* 0\.5$' out
}

json_has_all() {
	note_some
	report --figures figures --json out.json >out
	python3 - <<-END
		import json
		r = json.load(open("out.json"))
		assert r["facts"]["date"] == "2026-01-02"
		assert [g["ratio"] for g in r["goals"]] == [0.129, 0.429, 1.333, None]
		assert r["figures"][0] == {"part": "kernel", "what": "statistics",
		    "value": 101.5, "unit": "ns", "note": "90 to 110"}, r["figures"]
		assert r["parts"][0]["text"] == "== kernel: ns\n"
	END
}

a_document_is_filled() {
	note_some
	report --figures figures --json out.json --write doc.md >out
	grep -qx before doc.md
	grep -qx after doc.md
	grep -qxF '| of a sample | 900 ns | 7,000 ns (bpftrace) | 0.13 | 0.2 | yes |' \
		doc.md
	grep -qx '### kernel (61 s)' doc.md
	! grep -q 'old figures' doc.md || return 1
	# From JSON it is the same, and again.
	cp doc.md first.md
	"$bench/bench.sh" --from out.json --write doc.md >out
	cmp first.md doc.md
}

a_document_without_a_place_is_left() {
	note_some
	echo "no place" >doc.md
	run report --figures figures --write doc.md
	[ "$status" -ne 0 ]
	grep -q 'lacks the lines' err
	[ "$(cat doc.md)" = "no place" ]
}

what_does_not_exist_is_refused() {
	run "$bench/bench.sh" kernle
	[ "$status" -eq 2 ]
	grep -q "no part 'kernle'; there are: all, kernel" err
	run "$bench/bench.sh" --fast
	[ "$status" -eq 2 ]
	run "$bench/bench.sh" --json
	[ "$status" -eq 2 ]
	grep -q -e '--json needs a file' err
}

it "tells which goals are met" goals_are_told
it "writes all of it as JSON" json_has_all
it "fills a document, from JSON as well" a_document_is_filled
it "leaves a document that has no place for it" \
	a_document_without_a_place_is_left
it "refuses what it does not know" what_does_not_exist_is_refused
finish

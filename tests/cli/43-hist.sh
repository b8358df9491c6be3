#!/bin/bash
# SPDX-License-Identifier: MIT
# weft hist.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

over_time() {
	recording weft.db "UPDATE stack_count SET count = 2 * count,
		value = 2 * value WHERE interval_id = 2;"
	run "$weft" hist
	expect 0
	has out '^ +0\.0 s +150 +1\.50 \|@{20} {20}\|$'
	has out '^ +1\.0 s +300 +3\.00 \|@{40}\|$'
	run "$weft" hist --json --pid 200
	expect 0
	[ "$(json out '[(s["start_ns"], s["length_ns"], s["count"], s["value"])
		for s in j["slices"]]')" = \
		"[(0, 1000000000, 9, 90000000), (1000000000, 1000000000, 18, 180000000)]" ]
	# fewer rows than intervals: they are joined
	run "$weft" hist --json -n 1
	[ "$(json out '[(s["length_ns"], s["count"])
		for s in j["slices"]]')" = '[(2000000000, 450)]' ]
}

requests() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
	run "$weft" hist --of duration
	expect 0
	has out '^duration of 3 requests, by their root spans; of 1 it is not'
	has out '^\[1M, 2M\) +1 \|'
	has out '^\[1G, 2G\) +2 \|'
	has out '^p50 in \[1G, 2G\), p90'
	# 16, 6 and 1 samples that stand for 100 ms each, a loss made up for
	run "$weft" hist --of cpu --json
	expect 0
	[ "$(json out '[(b["lo"], b["count"]) for b in j["buckets"]],
		j["estimated"]')" = \
		"([(67108864, 1), (536870912, 1), (1073741824, 1)], True)" ]
	run "$weft" hist --of cpu
	has out 'CPU time of 3 requests, .* and 1 more have none'
	run "$weft" hist --of cpu --pid 100
	expect 2
}

lengths() {
	recording weft.db "UPDATE event SET name = 'off-cpu',
			requested_hz = NULL;
		UPDATE ledger_row SET count = 14 WHERE entry_id = 9;
		UPDATE sample_sealed SET value = iif(id % 4, 1000, 5000),
			weight = iif(id % 4, 10, 2);"
	run "$weft" hist --of length --json
	expect 0
	[ "$(json out '[(b["lo"], b["hi"], b["count"])
		for b in j["buckets"]]')" = \
		"[(512, 1024, 210), (4096, 8192, 14)]" ]
	[ "$(json out 'j["p50"]["lo"], j["p99"]["lo"]')" = "(512, 4096)" ]
	run "$weft" hist --of length --pid 300
	expect 4
	run "$weft" hist --of size
	expect 2
}

# wide COLUMNS WORD...: whether the lines of a drawing fit there, and the
# longest bar is no shorter than it need be
wide() {
	local columns=$1
	shift
	terminal "$columns" hist "$@"
	grep -a '|$\|| from ' out >lines
	[ "$(wc -l <lines)" -ge 2 ]
	awk -v most="$columns" '{ if (length($0) > longest)
		longest = length($0) }
		END { print longest " of " most
		      exit longest > most }' lines
}

widths() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
	for columns in 52 60 80 200; do
		wide "$columns" --of duration
	done
	for columns in 42 60 80 200; do
		wide "$columns"
	done
	has out '\|@{40}\|$'
	wide 52 --of duration
	has out '\|@{9}\| from '
	# too narrow for any: it is drawn all the same
	terminal 20 hist
	has out '\|@{8}\|$'
}

# Numbers that only a damaged file has.
damaged() {
	recording weft.db "UPDATE trace SET value_sum = 9e999 WHERE id = 1;
		UPDATE trace SET value_sum = -5 WHERE id = 2;
		UPDATE sample_sealed SET value = 9e999 WHERE id = 1;
		UPDATE sample_sealed SET value = 1e300 WHERE id = 2;
		UPDATE sample_sealed SET weight = 9e999 WHERE id = 3;
		UPDATE sample_sealed SET value = -9e999 WHERE id = 4;
		UPDATE interval SET start_ns = -9223372036854775807 - 1
			WHERE id = 1;"
	for of in time duration cpu length; do
		run "$weft" hist --of "$of" --json
		expect 0
		is_json out
		run "$weft" hist --of "$of"
		expect 0
	done
	has out '^\[8E, \.\.\.\) +21 \|'
}

it "samples over time are exact, and joined to fit" over_time
it "requests are drawn by duration and by CPU time" requests
it "single samples are drawn by length, each for what it stands for" lengths
it "bars are as long as the terminal is wide" widths
it "damaged numbers are no crash" damaged
finish

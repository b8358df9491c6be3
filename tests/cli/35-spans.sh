#!/bin/bash
# SPDX-License-Identifier: MIT
# Requests by their spans: views, weft traces, weft trace.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

A=0af7651916cd43dd8448eb211c80319c
B=0af76519ffffffffffffffffffffffff
C=cccccccccccccccccccccccccccccccc

with_spans() {
	recording weft.db "$(cat "$root/tests/data/spans.sql")"
}

report() {
	with_spans
	report_as "$@"
}

ids() {
	"$weft" traces -n 0 --json "$@" >out
	json out '" ".join(r["trace_id"][:9] for r in j["rows"])'
}

chosen() {
	with_spans
	[ "$(ids)" = '0af765191 0af76519f 4bf92f357' ]
	# by the root span; one without a sample counts, one before us does not
	[ "$(ids --sort duration)" = '0af76519f 0af765191 ccccccccc 4bf92f357' ]
	[ "$(ids --where 'http.route = /cart')" = \
		'0af765191 0af76519f ccccccccc' ]
	[ "$(ids --where n=3)" = 0af765191 ]
	[ "$(ids --name 'GET /quick')" = ccccccccc ]
	[ "$(ids --service shop --min-duration 1.4s)" = 0af76519f ]
	[ "$(ids --sort cpu-share --min-duration 1ms)" = \
		'0af765191 0af76519f ccccccccc' ]
	run "$weft" traces --service nobody
	expect 4
	has err 'no request of .* is so'
	[ "$(ids --where 'http.route != /x')" = \
		'0af765191 0af76519f ccccccccc' ]
	[ "$(ids --where 'http.route ~ /c*')" = \
		'0af765191 0af76519f ccccccccc' ]
	[ "$(ids --where 'status = error')" = 0af76519f ]
	[ "$(ids --where 'service.name = cache')" = 0af765191 ]
	[ "$(ids --where 'name ~ *quick')" = ccccccccc ]
	[ "$(ids --where 'kind = client')" = 0af765191 ]
	for filter in 'http.route != /cart' 'http.route ~ cart' 'absent != 1'; do
		run "$weft" traces --where "$filter"
		expect 4
	done
	# what samples carry counts as what spans do
	sqlite3 weft.db "INSERT INTO sample_attribute
		SELECT id, 'tenant', 'acme' FROM sample WHERE trace = 3"
	[ "$(ids --where 'tenant = acme')" = 4bf92f357 ]
	sqlite3 weft.db 'DELETE FROM span'
	[ "$(ids --where 'tenant ~ a*')" = 4bf92f357 ]
	with_spans
	for bad in '--where x' '--where =x' '--where a!b' '--min-duration 5' \
		'--min-duration -1s' '--sort size'; do
		# shellcheck disable=SC2086
		run "$weft" traces $bad
		expect 2
	done
}

# A mean over all that were chosen, with those that have no sample.
pooled() {
	with_spans
	"$weft" traces --where http.route=/cart --json >out
	[ "$(json out 'j["requests"], j["requests_sampled"]')" = '(3, 2)' ]
	[ "$(json out 'abs(3 * j["mean_ns"] - sum(r["estimate_ns"]
		for r in j["rows"])) < 1')" = True ]
	[ "$(json out 'j["mean_ns_lo"] < j["mean_ns"] < j["mean_ns_hi"]')" = True ]
}

# A pool's sums are those of its requests; its limits are wider than one
# request's, and what is said of it is what weft traces says.
pool() {
	with_spans
	"$weft" top -n 0 --json --where n=3 >one
	"$weft" top -n 0 --json --trace "$A" >other
	for field in function self_samples total_samples self_ns total_ns; do
		[ "$(json one "[r['$field'] for r in j['rows']]")" = \
			"$(json other "[r['$field'] for r in j['rows']]")" ]
	done
	for by in function stack process thread binary; do
		run "$weft" top -n 0 --json --by "$by" --where 'http.route = /cart'
		expect 0
		[ "$(json out 'sum(r["self_samples"] for r in j["rows"])')" = 22 ]
		[ "$(json out 'j["samples"], j["requests"], j["requests_sampled"],
			j["few_requests"]')" = '(22, 3, 2, True)' ]
		[ "$(json out 'all(r["self_share_lo"] <= r["self_share"] <=
			r["self_share_hi"] for r in j["rows"])')" = True ]
	done
	"$weft" traces --where http.route=/cart --json >mean
	[ "$(json out 'j["request_ns"], j["request_ns_lo"]')" = \
		"$(json mean 'j["mean_ns"], j["mean_ns_lo"]')" ]
	"$weft" top --where 'http.route = /cart' --pid 100 --json >out
	[ "$(json out 'j["samples"]')" = 22 ]
	run "$weft" top --where 'http.route = /cart' --pid 200
	expect 4
	# no sample of any of them
	run "$weft" top --where 'name ~ *quick'
	expect 4
	has err 'has no detail sample of such requests, of cpu-clock in rec'
	run "$weft" top --where 'http.route = /absent'
	expect 4
	has err 'no request of .* is so'
	run "$weft" top --where http.route
	expect 2
	run "$weft" top --where a=b --trace "$A"
	expect 2
	run "$weft" top --where 'http.route = /cart'
	has out '3 requests where http.route = /cart, 1 of them without a sample'
	has out 'of requests like these: .*: few requests'
}

without_spans() {
	recording weft.db
	run "$weft" traces --name x
	expect 4
	has err 'has no spans'
	[ "$(ids --sort duration)" = '0af76519f 0af765191 4bf92f357' ]
	"$weft" trace "$A" --json >out
	[ "$(json out 'j["spans"]')" = '[]' ]
}

# Every sample of a request is in one span, or said to be in none.
tree_adds_up() {
	with_spans
	for id in $A $B; do
		"$weft" trace "$id" --json >out
		[ "$(json out 'sum(s["self_samples"] for s in j["spans"])
			+ j["outside_spans_samples"] == j["samples"]')" = True ]
		[ "$(json out 'sum(s["total_samples"] for s in j["spans"]
			if s["depth"] == 0) + j["outside_spans_samples"]
			== j["samples"]')" = True ]
	done
	"$weft" trace "$A" --json >out
	[ "$(json out '[(s["name"][:4], s["depth"], s["self_samples"],
		s["total_samples"]) for s in j["spans"]]')" = \
		"[('GET ', 0, 0, 16), ('comp', 1, 16, 16), ('SET ', 1, 0, 0)]" ]
	# carried IDs that were not sent: by time
	"$weft" trace "$B" --json >out
	[ "$(json out '[(s["name"], s["self_samples"]) for s in j["spans"]
		if s["self_samples"]]')" = "[('GET /cart', 6)]" ]
}

no_sample() {
	with_spans
	run "$weft" trace "$C"
	expect 0
	has out 'no sample: it may have used up to 303 ms'
	has out 'GET /quick'
	has out "weft top --where 'http.route = /cart'$"
	# That it has none tells something only where others have.
	cp weft.db none.db
	sqlite3 none.db "UPDATE sample_sealed SET trace = NULL;
		UPDATE trace SET samples = 0, weight_sum = 0, value_sum = 0;
		UPDATE ledger_row SET count = 0, value = 0 WHERE entry_id = (
		 SELECT id FROM ledger_entry WHERE name = 'context_ok');"
	sqlite3 none.db <"$root/tests/data/sums.sql"
	run "$weft" trace "$C" none.db
	expect 0
	has out 'no sample of this report has a trace ID: what it used nobody can say'
	run "$weft" traces --where 'http.route = /cart' none.db
	expect 0
	has out 'what they used nobody can say, for no sample tells its request'
	lacks out 'may have used'
	run "$weft" traces --where 'http.route = /cart' --json none.db
	[ "$(json out 'j["mean_ns"], j["unsampled_ns_hi"]')" = "(None, None)" ]
	mv weft.db else.db
	run "$weft" trace "$C" else.db
	expect 0
	has out "weft top --where 'http.route = /cart' else.db"
	run "$weft" trace "$C" -i else.db else.db
	expect 2
	mv else.db weft.db
	run "$weft" trace "$C" --json
	expect 0
	[ "$(json out 'j["samples"]')" = 0 ]
}

# The views say what the commands say.
same_as_views() {
	with_spans
	[ "$(sqlite3 weft.db "SELECT joined_by, name, count(*) FROM span_samples
		GROUP BY trace_id ORDER BY trace_id")" = \
		"span_id|compress|16
time|GET /cart|6" ]
	[ "$(sqlite3 weft.db "SELECT service, name, duration_ns, spans, samples,
		round(cpu_low_ns / 1e6, 1), round(cpu_high_ns / 1e6, 1)
		FROM requests ORDER BY trace_id")" = \
		"shop|GET /cart|1300000000|3|16|914.0|2598.4
shop|GET /cart|1500000000|3|6|219.1|1306.0
|||0|1|1.3|556.4
shop|GET /quick|2000000|1|0|0.0|366.8
shop|GET /cart|1000000000|1|0|0.0|366.8" ]
	[ "$(sqlite3 weft.db "SELECT service, route, requests, with_samples,
		samples, errors FROM requests_by_route")" = \
		'shop|/cart|4|2|22|1' ]
}

# Also where the file's schema is not trusted.
by_weft_sql() {
	local view
	with_spans
	sqlite3 weft.db "SELECT name FROM sqlite_schema WHERE type = 'view'" >views
	[ "$(wc -l <views)" -ge 15 ]
	while read -r view; do
		run "$weft" sql "SELECT * FROM $view"
		expect 0
		[ ! -s err ]
	done <views
	run "$weft" sql "SELECT route, requests FROM requests_by_route"
	is out 'route  requests
/cart         4'
}

it "requests with their spans" report traces-spans.txt traces
it "a request's spans as a tree" report trace-spans.txt trace "$A" -n 2
it "chosen by service, name, duration and attribute" chosen
it "the mean of those chosen counts all of them" pooled
it "many requests as one" pool
it "a file without spans" without_spans
it "each sample of a request is in one span" tree_adds_up
it "a request without a sample" no_sample
it "views say the same" same_as_views
it "weft sql reads each view" by_weft_sql
finish

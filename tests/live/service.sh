# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# What tests of the demo service's requests share: a recording of it under load,
# with the spans of what the service itself measured. Source it after live.sh.

# shellcheck source=tools/demo/processes.sh
. "$tests/../tools/demo/processes.sh"
trap 'processes_stop || true; live_end' EXIT

# record_service LEAST OPTION...: into $dir/a.db, until so many requests and a
# quarter more were sent: those at the ends of the recording are not counted
record_service() {
	least=$1
	shift
	start_service "$dir"
	start_load "$dir" --seconds 600 --slow 3
	background "$weft" record -p "$service_pid" "$@" -o "$dir/a.db" \
		>"$dir/said" 2>&1
	recorder=$!
	wait_for 30 test -s "$dir/a.db"
	before=$(wc -l <"$dir/sent.tsv")
	wait_for 300 are_sent $((before + least * 5 / 4)) || true
	kill -INT $recorder
	wait $recorder || true
	processes_stop
	say <"$dir/said"
	check_ledger "$dir/a.db"
	python3 "$tests/live/service-spans.py" "$dir/truth.tsv" "$dir/a.db" \
		>"$dir/spans"
	"$weft" import-spans -i "$dir/a.db" "$dir/spans" 2>&1 | say
}

# shellcheck disable=SC2317 # called through wait_for
are_sent() {
	[ "$(wc -l <"$dir/sent.tsv")" -ge "$1" ]
}

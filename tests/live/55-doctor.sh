#!/bin/sh
# SPDX-License-Identifier: MIT
#
# weft doctor: the machine's report, and for each way in which a process's
# context can be broken the step that fails, what to do, and that the steps
# before it held. Where all is well it shows the trace ID of the thread.
set -eu

# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

mkfifo "$dir/hold"
exec 9<>"$dir/hold"

# start NAME COMMAND...: until it says so; its pid in $pid
start() {
	name=$1
	shift
	: >"$dir/hold.said"
	# in the background standard input is empty, unless it is given
	# shellcheck disable=SC2016 # the words are the inner shell's
	background sh -c 'exec "$@" <"$0" >"$0.said" 2>&1' "$dir/hold" "$@"
	pid=$!
	wait_for 20 test -s "$dir/hold.said" || {
		sed 's/^/# /' "$dir/hold.said"
		echo "Bail out! $name did not start"
		exit 1
	}
}

# doctor [ARGUMENT...]: its report in $dir/report, its exit status in $status
doctor() {
	status=0
	"$weft" doctor "$@" >"$dir/report" 2>&1 || status=$?
}

# asked FIELD CHECK: of the report in JSON
asked() {
	python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
print([c[sys.argv[2]] for c in report["checks"] if c["check"] == sys.argv[3]][0])' \
		"$dir/report" "$1" "$2"
}

# fails_at MODE STEP STATUS [PROGRAM]: a process broken in that way
fails_at() {
	start "$1" "${4:-$load/ctx_broken}" "$1"
	doctor --pid "$pid" --json
	state=$(asked state "$2")
	advice=$(asked 'do' "$2")
	printf '%s: exit status %s, %s: %s, %s; do: %s\n' "$1" "$status" "$2" \
		"$state" "$(asked found "$2")" "$advice" | say
	if [ "$status" = "$3" ] && [ "$advice" != None ] &&
		{ [ "$state" = fail ] || [ "$3" = 0 ]; }
	then
		check "$1: the report names the step '$2' and what to do" 1
	else
		say <"$dir/report"
		check "$1: the report names the step '$2' and what to do" 0
	fi
	kill "$pid"
}

doctor --json
say <"$dir/report"
check "the machine on which these tests run can record" "$(is "$status" = 0)"
check "the kernel program was tried" \
	"$(is "$(asked state 'kernel program')" = ok)"

start good "$load/ctx_broken" good
doctor --pid "$pid"
say <"$dir/report"
check "a process that publishes passes all steps" \
	"$(both "$(is "$status" = 0)" \
		"$(is "$(grep -c '^ok ' "$dir/report")" = 6)")"
check "its thread is shown with its trace and span" \
	"$(is "$(grep -c "^ *$pid  ok  *\(ab\)\{16\}  \(cd\)\{8\}$" \
		"$dir/report")" = 1)"
check "it goes on" "$(kill -0 "$pid" && echo 1 || echo 0)"
kill "$pid"

fails_at none mapping 1
fails_at garbage mapping 1
fails_at version mapping 1
fails_at far mapping 1
fails_at changing mapping 1
fails_at schema schema 1
check "what it says of its schema cannot steer the terminal" \
	"$(is "$(asked found schema)" = "its schema is 'nodejs_v1\\x1b[31m'")"
strip -o "$dir/stripped" "$load/ctx_broken"
fails_at good symbol 1 "$dir/stripped"
fails_at half 'live record' 1
fails_at odd 'live record' 1
fails_at wild 'live record' 1
fails_at idle 'live record' 0
fails_at torn 'live record' 0
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Record a traced service for ten seconds and walk through the answer.
# Run by `make demo`, which has built everything. Files: build/demo/.
set -eu

here=$(dirname "$0")
WEFT_BUILD=${WEFT_BUILD:-build}
weft=$WEFT_BUILD/weft
dir=$WEFT_BUILD/demo
db=$dir/demo.db
seconds=${DEMO_SECONDS:-10}

# shellcheck source=tools/demo/processes.sh
. "$here/processes.sh"
trap 'processes_stop || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() {
	printf '\n'
	fold -s -w 76
}

# Print a command as one would type it, then run it.
show() {
	printf '\n$'
	for word; do
		case $word in
		*' '*) printf ' "%s"' "$word" ;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n\n'
	"$@"
}

printf '== A service under load\n'
rm -f "$db" "$db-wal" "$db-shm"
start_service "$dir"
start_load "$dir" --seconds $((seconds + 60)) --seed "${DEMO_SEED:-1}"
say <<TEXT
An HTTP service in C (tools/demo) is running with four worker threads, pid \
$service_pid. Its five routes burn CPU in different code: /search, /report \
and /checkout in functions of its own, /compress in zlib, /sign in OpenSSL. \
Eight clients send requests, each with a W3C traceparent header; 3 % of them \
ask for ten times the work. While a worker is busy with a request it \
publishes the trace ID in its thread-local memory: three lines of code \
(tools/publisher). weft now samples this process 997 times per second and \
CPU for $seconds s and keeps every sample's details.
TEXT
show "$weft" record -p "$service_pid" -d "$seconds" --detail 1/1 -o "$db"
if ! processes_stop; then
	echo "demo: the service or its load failed:" >&2
	cat "$dir/service.log" "$dir/load.log" >&2
	exit 1
fi
printf '\nThe load: %s\n' "$(cat "$dir/load.log")"

printf '\n== What is hot\n'
say <<TEXT
Functions by the CPU time spent in them, whoever asked for it. Those of the \
service begin with their route; splitmix is a helper that the compiler has \
inlined into several of them: it is in their TOTAL, not in their SELF. These \
counts are exact: every sample is counted in the kernel. What follows a share \
is its 95 % interval for this recording.
TEXT
show "$weft" top -i "$db" -n 12

printf '\n== For whom\n'
say <<TEXT
The same samples by request. The slow ones are on top, and for each you see \
how much CPU it had, not just how long it took.
TEXT
show "$weft" traces -i "$db" -n 8

top=$(sqlite3 -readonly "$db" \
	'SELECT hex FROM trace ORDER BY value_sum DESC, id LIMIT 1')
if [ -z "$top" ]; then
	echo "demo: no sample carries a trace ID; see \`$weft loss -i $db\`" >&2
	exit 1
fi
printf '\n== One request against everybody\n'
say <<TEXT
The request with the most CPU. What stands out is what it does more of than \
the others: if it is a checkout, look for checkout_match_coupons, which \
compares every item of the cart with every other. In a list of hot functions \
it is one of many; in the slow requests it is most of the time.
TEXT
show "$weft" trace -i "$db" "$top"
say <<TEXT
The service's own record of that request, to compare with (ns; cpu_ns is \
the worker's CPU clock):
TEXT
printf '\n'
head -n 1 "$dir/truth.tsv"
grep "^$top" "$dir/truth.tsv"

printf '\n== What was lost\n'
say <<TEXT
Each time the timer fired, the sample ended in exactly one of these entries. \
Anything lost is counted here, so that a gap is never mistaken for calm.
TEXT
show "$weft" loss -i "$db"

printf '\n== Go on with SQL\n'
say <<TEXT
The recording is one SQLite file. What that request did, by function:
TEXT
show "$weft" sql -i "$db" "SELECT function, self_samples, total_samples
  FROM trace_profile WHERE trace_id = '$top'
 ORDER BY self_samples DESC LIMIT 5"
say <<TEXT
The plain sqlite3 shell opens the file as well. Here it joins the recording \
with the service's log by trace ID (tools/demo/by_route.sql): zlib and \
OpenSSL know nothing of requests, but samples in them carry the trace ID, \
so /compress and /sign get what is theirs. The last column is what the \
workers' own CPU clocks say.
TEXT
printf '\n$ (cd %s && sqlite3 demo.db) <%s\n\n' "$dir" "$here/by_route.sql"
(cd "$dir" && sqlite3 -readonly demo.db) <"$here/by_route.sql"
cat <<TEXT

Try next:

  # the stacks of that one request
  $weft sql -i $db "SELECT samples, folded FROM trace_stacks
    WHERE trace_id = '$top' ORDER BY samples DESC LIMIT 5"

  # which requests were in the quadratic part, and how deep
  $weft traces -i $db --on checkout_match_coupons

  # what worker threads did, in order: when a sample's trace changes, the
  # worker took the next request
  $weft sql -i $db "SELECT tid, time_ns, leaf, trace_id FROM samples
    ORDER BY tid, time_ns LIMIT 20"

  # more questions that come with weft, and the whole schema
  $weft sql --list
  sqlite3 $db .schema
TEXT

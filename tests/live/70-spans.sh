#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Spans that arrive while recording: stored once, whatever else is sent; and
# the recording does not suffer from it.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

port=$((20000 + $$ % 10000))

# wait_for COMMAND...: until it succeeds, 20 s at most
wait_for() {
	tries=200
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

server() {
	pgrep -x -P "$1" weft-spans
}

record() {
	"$weft" record -a --otlp-listen "127.0.0.1:$port" -o "$1" \
		>"$dir/said" 2>&1 &
	recorder=$!
	live_children="$live_children $recorder"
	wait_for server $recorder && wait_for test -s "$1"
	server=$(server $recorder)
}

record "$dir/a.db"
status=$(grep -E '^(Uid|CapEff|NoNewPrivs)' "/proc/$server/status" | tr -s '\t\n' ' ')
echo "# $status"
check "what parses them has no rights" "$(is "$status" = \
	'Uid: 65534 65534 65534 65534 CapEff: 0000000000000000 NoNewPrivs: 1 ')"
python3 "$tests/live/70-spans.py" $port >"$dir/answers"
say <"$dir/answers"
for expected in json:200 again:200 gzip:200 members:200 chunked:200 proto:200 \
	empty:200 bad-id:200 types:400 deep:400 cut-gzip:400 no-otlp:400 \
	cut:400 bad-proto:400 type:415 path:404 \
	coding:415 bomb:413 large:413 no-gzip:400 amplified:413 last:200; do
	grep -q "^${expected%:*} ${expected#*:} " "$dir/answers" || echo "$expected"
done >"$dir/missing"
say <"$dir/missing"
check "every request has the answer that OTLP says" \
	"$(is "$(wc -l <"$dir/missing")" -eq 0)"
for wrong in 'types 400 .*spans 0 (of each' 'deep 400 .*byte' 'cut 400 .*byte' \
	'bad-id 200 .*"span 1: its trace ID'; do
	grep -q "^$wrong" "$dir/answers" || echo "$wrong"
done >"$dir/missing"
say <"$dir/missing"
check "and says where it is wrong" "$(is "$(wc -l <"$dir/missing")" -eq 0)"
check "what is left out of a request is told" "$(is "$(grep -c \
	'bad-id.*rejectedSpans":"2"' "$dir/answers")" = 1)"
kill -INT $recorder
wait $recorder || true
say <"$dir/said"
check_ledger "$dir/a.db"
spans=$(sql "$dir/a.db" "SELECT count(*) || ' of ' || count(DISTINCT trace)
	FROM span")
check "each span is stored once ($spans traces)" "$(is "$spans" = '1005 of 1')"
check "and what came twice is told apart from what is stored" "$(is "$(grep -c \
	'1006 spans were received' "$dir/said")" = 1)"
wait_for eval '! kill -0 '"$server"
check "its process ends with the recording" "$(is $? = 0)"

# ---- who takes all connections, and says a word now and then, keeps nobody out
record "$dir/idle.db"
python3 "$tests/live/70-crowd.py" $port slow >"$dir/slow" 2>&1 || true
say <"$dir/slow"
check "requests are answered though 64 send them without an end" \
	"$(is "$(grep -c 'answered 200' "$dir/slow")" = 10)"
wait_for grep -q 'all 64 connections for spans are taken' "$dir/said" || true

# ---- nor who takes all memory with bodies that never end
python3 "$tests/live/70-crowd.py" $port large >"$dir/large" 2>&1 || true
say <"$dir/large"
check "a request is answered though others fill all memory with halves of theirs" \
	"$(is "$(grep -c 'answered 200' "$dir/large")" = 1)"
kill -INT $recorder
wait $recorder || true
say <"$dir/said"
check "that all connections are taken is told, once" "$(is "$(grep -c \
	'all 64 connections for spans are taken' "$dir/said")" = 1)"

# ---- it dies: no more spans, all samples
record "$dir/b.db"
# shellcheck disable=SC2317 # called through wait_for
intervals() {
	[ "$(sql "$dir/b.db" 'SELECT count(*) FROM interval')" -ge "$1" ]
}
wait_for intervals 1
kill -KILL "$server"
wait_for intervals 3 || true
kill -INT $recorder
status=0
wait $recorder || status=$?
say <"$dir/said"
check "a receiver that died is told" "$(is "$(grep -c \
	'receiver of spans has died' "$dir/said")" = 1)"
check "and the recording goes on" "$(both "$(is $status = 0)" "$(is "$(sql \
	"$dir/b.db" 'SELECT count(*) FROM interval')" -ge 3)")"
check_ledger "$dir/b.db"

# ---- an address that is taken, or none
python3 -c "import socket, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('127.0.0.1', $port)); s.listen(1)
open('$dir/taken', 'w'); time.sleep(60)" &
live_children="$live_children $!"
wait_for test -e "$dir/taken"
for address in "127.0.0.1:$port" localhost:4318 127.0.0.1 :4318 \
	127.0.0.1:99999 ''; do
	status=0 expected=2 words='takes an address and a port in numbers'
	[ "$address" != "127.0.0.1:$port" ] ||
		expected=1 words='cannot receive spans at'
	"$weft" record -d 1 --otlp-listen "$address" -o "$dir/c.db" \
		>"$dir/said" 2>&1 || status=$?
	[ $status -eq $expected ] && grep -q "$words" "$dir/said" ||
		echo "$address: $status"
done >"$dir/wrong"
say <"$dir/wrong"
check "an address that is taken, or none, is refused" \
	"$(is "$(wc -l <"$dir/wrong")" -eq 0)"
live_done

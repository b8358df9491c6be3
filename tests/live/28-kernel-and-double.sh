#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The walk over user frames is one piece of C, built for the kernel program and
# for user space. At system calls of real programs both must find the same
# stack, frame by frame; at random instants the double must find what libdwfl
# finds, which shares no code with it.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

at_syscall="$WEFT_BUILD/unwind/at_syscall"
compare="$WEFT_BUILD/unwind/compare"
cc1=$(gcc -print-prog-name=cc1)
query='WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n
	LIMIT 100000000) SELECT sum(x * x % 7) FROM n'

gcc -E -I"$tests/.." "$tests/unwind/double.c" -o "$dir/double.i" \
	-I"$WEFT_BUILD" -D_GNU_SOURCE

# agree STACKS COMMAND...
agree() {
	stacks=$1
	shift
	timeout 60 "$at_syscall" "$stacks" "$@" >"$dir/out" 2>&1 &&
		equal=1 || equal=0
	grep stacks "$dir/out" | tail -1 | say
	grep '^#' "$dir/out" || true
	check "$(basename "$1"): kernel program and double agree" "$equal"
}

agree 300 sqlite3 "$dir/new.db" 'CREATE TABLE t(a); WITH RECURSIVE n(x) AS
	(SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000)
	INSERT INTO t SELECT x FROM n; SELECT count(*) FROM t'
agree 300 "$cc1" -quiet -O2 "$dir/double.i" -o "$dir/double.s"
agree 300 find /usr/lib -name '*.so*'
# The shell's own expansion, so that it forks.
# shellcheck disable=SC2016
agree 200 sh -c 'for i in 1 2 3 4 5 6 7 8 9; do echo $(cat /dev/null); done'

# as_libdwfl STOPS COMMAND...
as_libdwfl() {
	stops=$1
	shift
	background "$@" >"$dir/own" 2>&1
	pid=$!
	sleep 0.5
	timeout 60 "$compare" "$pid" "$stops" >"$dir/out" 2>&1 &&
		equal=1 || equal=0
	say <"$dir/out"
	check "$(basename "$1"): at least 99.5 % of frames are libdwfl's" \
		"$equal"
	kill -KILL "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}

as_libdwfl 100 sqlite3 :memory: "$query"
as_libdwfl 100 "$load/unwind/gcc-O2-pie" deep-60 20
as_libdwfl 100 "$load/unwind/clang-O1-pie-lld" signal 20
awk 'BEGIN { for (i = 0; i < 9000; i++)
	print "int f" i "(int a) { int s = 0; for (int k = 0; k < a; k++)" \
		" s += k % (a + " i "); return s; }" }' >"$dir/long.i"
as_libdwfl 100 "$cc1" -quiet -O2 -o /dev/null "$dir/long.i"

live_done

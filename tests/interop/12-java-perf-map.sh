#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Code that a Java virtual machine compiled has the names of the perf map that
# jcmd makes it write: of all that is compiled by then.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
for need in java javac jcmd; do
	command -v $need >/dev/null ||
		live_skip "needs $need: tools/setup.sh interop"
done

cat >"$dir/Hot.java" <<'J'
public class Hot {
	static long hotInner(long n) {
		long sum = n;
		for (int i = 0; i < n; i++)
			sum = sum * 31 ^ sum >>> 7;
		return sum;
	}

	static long hotOuter(int n) {
		long sum = 0;
		for (int i = 0; i < 50; i++)
			sum += hotInner(n + i);
		return sum;
	}

	public static void main(String[] args) {
		long sum = 0;
		while (sum != 1)
			sum = hotOuter(2000) << 1;
	}
}
J
javac -d "$dir" "$dir/Hot.java"
java -XX:+PreserveFramePointer -XX:CompileCommand=dontinline,Hot::hot* \
	-cp "$dir" Hot >/dev/null 2>&1 &
java=$!
map=/tmp/perf-$java.map
trap 'kill $java; rm -rf "$dir" "$map"' EXIT
# Compiled for good where both of its compilers have had it.
has_both() {
	[ "$(grep -sc "Hot.$1" "$map")" -ge 2 ]
}
: >"$map"
tries=0
until has_both hotInner && has_both hotOuter; do
	tries=$((tries + 1))
	[ $tries -le 60 ] || break
	sleep 1
	jcmd $java Compiler.perfmap >/dev/null 2>&1 || :
done
grep 'Hot.hot' "$map" | say

"$weft" record -q -d 4 -o "$dir/java.db" -p $java 2>&1 | say
check_ledger "$dir/java.db"
"$weft" top -i "$dir/java.db" -n 5 2>&1 | say

# share COLUMN FUNCTION: in percent
share() {
	sql "$dir/java.db" "SELECT CAST(100 * ifnull(max($1), 0) AS INT)
		FROM hot_functions WHERE function LIKE '%$2%'"
}
check "most of its samples are in hotInner, by name" \
	"$(is "$(share self_share Hot.hotInner)" -ge 50)"
check "they have hotOuter among their callers" \
	"$(is "$(share total_share Hot.hotOuter)" -ge 50)"
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What names cost: CPU time and memory of the recorder and its inspectors while
# every CPU compiles C++, with inlined functions and lines and without, in turn.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
title "names: weft record -a for $seconds s beside C++ compilers"
needs_root names
needs g++

cat >"$dir/a.cc" <<'CODE'
#include <algorithm>
#include <map>
#include <regex>
#include <string>
int main(int argc, char **argv)
{
	std::map<std::string, int> words;
	for (int i = 0; i < argc; i++)
		words[std::regex_replace(argv[i], std::regex("a+"), "b")]++;
	return (int)words.size();
}
CODE

start_compilers() {
	for cpu in $(cpus); do
		# shellcheck disable=SC2016 # for the inner shell
		start_on "$cpu" sh -c 'while :; do
			g++ -g -O2 -c -o /dev/null "$1"
		done' sh "$dir/a.cc"
	done
	sleep 1
}

# Peak memory in kB of a process and all below it, seen every 0.1 s.
watch_memory() {
	peak=0
	while kill -0 "$1" 2>/dev/null; do
		now=$(ps -e -o pid=,ppid=,rss= | awk -v root="$1" '
			{ parent[$1] = $2; rss[$1] = $3 }
			END {
				for (p in rss) {
					q = p
					while (q && q != root && q in parent)
						q = parent[q]
					if (q == root)
						sum += rss[p]
				}
				print sum + 0
			}')
		[ "$now" -le "$peak" ] || peak=$now
		sleep 0.1
	done
	echo "$peak"
}

# once NAME OPTION...: CPU ms, peak kB, % of samples named, % of frames inlined
once() {
	name=$1
	shift
	"$weft" record -q -a -d "$seconds" "$@" -o "$dir/n.db" 2>"$dir/said" &
	recorder=$!
	watch_memory $recorder >>"$dir/${name}_kb"
	wait $recorder || {
		cat "$dir/said" >&2
		exit 1
	}
	ask "$dir/n.db" 'SELECT sum(self_cpu_ns) / 1e6 FROM interval' \
		>>"$dir/${name}_ms"
	ask "$dir/n.db" 'SELECT round(100.0 * sum(iif(EXISTS (SELECT 1
			FROM frame_function ff WHERE ff.frame_id = n.frame_id),
			t.count, 0)) / sum(t.count), 1)
		FROM stack_total t JOIN stack_node n ON n.id = t.stack_id' \
		>>"$dir/${name}_named"
	ask "$dir/n.db" 'SELECT count(*) FROM frame_function
		WHERE line IS NOT NULL' >>"$dir/${name}_lines"
}

start_compilers
i=0
while [ $i -lt "$pairs" ]; do
	once inline
	once symbols --no-inline
	i=$((i + 1))
done
stop_load
for name in inline symbols; do
	what=$([ $name = inline ] && echo "with inlined functions" ||
		echo "--no-inline")
	figure "$what: CPU in its intervals" "$(median "$dir/${name}_ms")" ms \
		"$(spread "$dir/${name}_ms")"
	figure "$what: peak memory, all processes" \
		"$(median "$dir/${name}_kb")" kB "$(spread "$dir/${name}_kb")"
	figure "$what: innermost frames named" \
		"$(median "$dir/${name}_named")" % "$(spread "$dir/${name}_named")"
	figure "$what: functions with a line" \
		"$(median "$dir/${name}_lines")" "" "$(spread "$dir/${name}_lines")"
done

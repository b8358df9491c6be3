#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Size of a recording against perf.data, in turn on the same kind of load: one
# that repeats few stacks, and a compiler, which hardly repeats any; what each
# took of CPU time and memory, and how long the answer takes from ^C on.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
title "bytes: recordings of $full_seconds s, one of each"
needs_root bytes
needs perf
needs g++

make_sources() {
	i=0
	while [ $i -lt 8 ]; do
		cat >"$dir/source$i.cc" <<-SOURCE
			#include <algorithm>
			#include <iostream>
			#include <map>
			#include <numeric>
			#include <regex>
			#include <set>
			#include <string>
			#include <tuple>
			#include <unordered_map>
			#include <variant>
			#include <vector>
			template <int N> struct key { int v; std::string s;
			  bool operator<(const key &o) const {
			    return std::tie(v, s) < std::tie(o.v, o.s); } };
			template <int N> int work(const std::string &text) {
			  std::map<key<N>, std::vector<std::string>> m;
			  std::unordered_map<int, std::set<key<N>>> u;
			  std::variant<int, key<N>, std::string> x = key<N>{N, text};
			  std::regex r("([a-z]+)(" + std::to_string(N) + ")*");
			  for (std::sregex_iterator i(text.begin(), text.end(), r), e;
			       i != e; ++i) {
			    m[key<N>{N, i->str()}].push_back(i->str());
			    u[N].insert(key<N>{N, i->str()});
			  }
			  std::vector<key<N>> v;
			  for (auto &p : m) v.push_back(p.first);
			  std::stable_sort(v.begin(), v.end());
			  std::sort(v.rbegin(), v.rend());
			  return (int)v.size() + (int)u.size() + std::visit(
			    [](auto &&a) { return (int)sizeof(a); }, x);
			}
			template <int N> int all(const std::string &t) {
			  if constexpr (N % 40 == 0) return work<N>(t);
			  else return work<N>(t) + all<N - 1>(t);
			}
			int use$i(const std::string &t) { return all<$((40 * i + 39))>(t); }
		SOURCE
		i=$((i + 1))
	done
}

start_known() {
	for cpu in $(cpus); do
		if [ $((cpu % 2)) -eq 0 ]; then
			start_on "$cpu" "$load/deep" 20 3600
		else
			start_on "$cpu" "$load/shape" 3600
		fi
	done
	sleep 0.5
}

# $0 and $i are the inner shell's
# shellcheck disable=SC2016
start_compile() {
	for cpu in $(cpus); do
		start_on "$cpu" sh -c 'i=$1; while g++ -std=c++17 -O2 -c \
			-o /dev/null "$2/source$((i % 8)).cc"; do
				i=$((i + 1)); done' sh "$((cpu * 4))" "$dir"
	done
	sleep 0.5
}

size() {
	stat -c %s "$1"
}

interrupted() {
	"$WEFT_BUILD/bench/ctrl_c" "$@" >"$dir/out"
}

# one LOAD FILE READY ANSWER RECORDER...: bytes after close, ms from ^C to its
# end, ms of the answer, ms of CPU, kB of memory
one() {
	one_load=$1
	one_file=$2
	one_ready=$3
	one_answer=$4
	shift 4
	"start_$one_load"
	thrice interrupted "$one_ready" "$full_seconds" '' "$one_answer" "$@"
	stop_load
	echo "$(size "$one_file") $(tail -n 1 "$dir/out" | cut -f 2-5)"
}

# Which tables and indexes the bytes are in.
break_down() {
	ask "$1" "
		WITH part AS (
		  SELECT name, sum(pgsize) AS bytes, sum(payload) AS payload,
		         sum(iif(pagetype = 'leaf', ncell, 0)) AS cells
		    FROM dbstat GROUP BY name)
		SELECT printf('    %-26s %9d B %5.1f %% %8d cells %6.1f B each',
		              name, bytes, 100.0 * bytes / sum(bytes) OVER (),
		              cells, 1.0 * bytes / max(cells, 1))
		  FROM part ORDER BY bytes DESC LIMIT 14" 2>/dev/null ||
		echo "    (this sqlite3 has no dbstat)"
	ask "$1" "
		SELECT printf('    %d counted in %d rows on %d stacks, %d in '
		              || 'detail, %d frames, %d functions',
		  (SELECT sum(count) FROM stack_count),
		  (SELECT count(*) FROM stack_count),
		  (SELECT count(*) FROM stack), (SELECT count(*) FROM sample),
		  (SELECT count(*) FROM frame), (SELECT count(*) FROM function))"
}

# side WORDS BYTES STOP_MS ANSWER_MS CPU_MS KB
side() {
	figure "$1" "$2" B
	figure "  from ^C to its end" "$3" ms
	figure "  to the answer then" "$4" ms
	figure "  CPU, start to end" "$5" ms
	figure "  memory" "$6" kB
}

# compare LOAD WORDS GOAL
compare() {
	one "$1" "$dir/b.db" notify "'$weft' top -i '$dir/b.db' >'$dir/top'" \
		"$weft" record -q -a -o "$dir/b.db" >"$dir/ours"
	one "$1" "$dir/perf.data" events \
		"perf script -i '$dir/perf.data' >'$dir/script' 2>&1" \
		perf record -q -N -g -a -e cpu-clock -F 997 \
		-o "$dir/perf.data" >"$dir/theirs"
	one "$1" "$dir/s.db" notify '' "$weft" record -q -a --detail off \
		-o "$dir/s.db" >"$dir/shape"
	read -r bytes stop answer cpu kb <"$dir/ours"
	side "$2: weft" "$bytes" "$stop" "$answer" "$cpu" "$kb"
	break_down "$dir/b.db"
	figure "$2: weft, bytes of a distinct stack" "$(ask "$dir/b.db" "
		SELECT $bytes / count(*) FROM stack")" B
	read -r their_bytes their_stop their_answer their_cpu their_kb \
		<"$dir/theirs"
	side "$2: perf record -g -a" "$their_bytes" "$their_stop" \
		"$their_answer" "$their_cpu" "$their_kb"
	read -r shape_bytes stop_shape _ <"$dir/shape"
	figure "$2: weft --detail off" "$shape_bytes" B \
		"$stop_shape ms to its end"
	ratio "bytes of a minute, $2" "$bytes" "$their_bytes" "$3" B perf.data
	ratio "the same without detail" "$shape_bytes" "$their_bytes" "$3" B \
		perf.data
	ratio "^C to answer after a minute, $2" \
		"$(echo "$stop $answer" | awk '{ print $1 + $2 }')" \
		"$(echo "$their_stop $their_answer" | awk '{ print $1 + $2 }')" \
		0.1 ms "perf record + perf script"
	ratio "CPU of a minute, $2" "$cpu" "$their_cpu" "" ms "perf record"
}

make_sources
compare known "known load" 0.05
compare compile "C++ compile" 0.5

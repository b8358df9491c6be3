#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Hundreds of MiB of DWARF, and a program of 1 GiB that has more of it than is
# read of one file: both have their names, the first its inlined functions and
# lines, the second a warning. Meanwhile nothing is lost from a ring of a
# fraction of a second, others have their names, and memory stays bounded.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# The same unit over and over, as it comes with C++'s own headers.
cat >"$dir/unit.cc" <<'CC'
#include <algorithm>
#include <map>
#include <regex>
#include <string>
namespace {
__attribute__((used)) int words(int argc, char **argv)
{
	std::map<std::string, int> words;
	for (int i = 0; i < argc; i++)
		words[std::regex_replace(argv[i], std::regex("a+"), "b")]++;
	return (int)words.size();
}
}
CC
cat >"$dir/main.c" <<'C'
#include <unistd.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void hot_inlined(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}
__attribute__((noinline)) void hot_outer(unsigned long n)
{
	hot_inlined(n);
	__asm__ volatile("");
}
int main(void)
{
	alarm(300);
	for (;;)
		hot_outer(1000000);
}
C
g++ -g -O2 -c -o "$dir/unit.o" "$dir/unit.cc"
cc -g -O2 -c -o "$dir/main.o" "$dir/main.c"
# build NAME UNITS
build() {
	# shellcheck disable=SC2046 # words
	g++ -o "$dir/$1" "$dir/main.o" $(yes "$dir/unit.o" | head -n "$2")
	size -A "$dir/$1" | awk -v name="$1" '/^[.]debug/ { n += $2 }
		END { printf "# %s: %d MiB of DWARF\n", name, n / 1048576 }'
}
build large 300
build huge 780
check "one of them has 1 GiB" \
	"$(is "$(stat -c %s "$dir/huge")" -ge 1073741824)"

"$dir/large" &
large=$!
"$dir/huge" &
huge=$!
live_children="$live_children $large $huge"
background "$load/deep" 20 300 >/dev/null
deep=$!
background "$weft" record -F 4999 --detail 1/1 --ring-size 256k -d 12 \
	-p $large,$huge,$deep -o "$dir/dwarf.db" 2>"$dir/err"
recorder=$!
peak=$(live_peak $recorder)
wait $recorder || true
kill -KILL $large $huge $deep
say <"$dir/err"
check_ledger "$dir/dwarf.db"

check_none_lost "beside so much DWARF" "$dir/dwarf.db" 5000

# User leaves of each program: the outermost function there, the innermost and
# what told it.
sqlite3 -readonly -separator ' ' "$dir/dwarf.db" "
	SELECT p.comm, ifnull(whole.name, '-'), ifnull(part.name, '-'),
		ifnull(part.source, '-'), sum(t.count)
	FROM stack_total t JOIN process p ON p.id = t.process_id
	JOIN stack_node n ON n.id = t.stack_id
	JOIN frame f ON f.id = n.frame_id AND NOT f.in_kernel
	LEFT JOIN frame_function o ON o.frame_id = f.id AND o.inline_depth =
		(SELECT max(inline_depth) FROM frame_function
			WHERE frame_id = f.id)
	LEFT JOIN frame_function i ON i.frame_id = f.id AND i.inline_depth = 0
	LEFT JOIN function whole ON whole.id = o.function_id
	LEFT JOIN function part ON part.id = i.function_id
	GROUP BY 1, 2, 3, 4 ORDER BY 1, 5 DESC" >"$dir/leaves"
say <"$dir/leaves"
# share COMM OUTER INNER: 1 if at least 95 % of its leaves are so
share() {
	awk -v comm="$1" -v outer="$2" -v inner="$3" '
		$1 == comm { n += $5 }
		$1 == comm && $2 == outer && $3 == inner { m += $5 }
		END { print (n >= 500 && m >= 0.95 * n) + 0 }' "$dir/leaves"
}
check "the large one has its inlined functions" \
	"$(share large hot_outer hot_inlined)"
check "the huge one has the names of its symbols" \
	"$(share huge hot_outer hot_outer)"
check "the other has its inlined functions" \
	"$(awk '$1 == "deep" { n += $5 }
		$1 == "deep" && $2 == "deep_leaf" && $3 != "deep_leaf" { m += $5 }
		END { print (n >= 500 && m >= 0.9 * n) + 0 }' "$dir/leaves")"
check "only of the huge one a warning says that its DWARF is not read" \
	"$(both "$(is "$(grep -c "DWARF is more than" "$dir/err")" = 1)" \
		"$(grep -c "/huge': its inlined functions and lines are not read" \
			"$dir/err")")"
check_peak "$peak" 768
live_done

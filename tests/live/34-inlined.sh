#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A frame into which functions were inlined shows all of them, with the lines
# that its DWARF says: in the program, in its debug file, and not at all where
# lines are not wanted.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

cat >"$dir/inlined.c" <<'C'
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void innermost(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}
static inline __attribute__((always_inline)) void middle(unsigned long n)
{
	innermost(n);
}
__attribute__((noinline)) void outer(unsigned long n)
{
	middle(n);
	__asm__ volatile("");
}
int main(void)
{
	time_t end = time(0) + 2;
	while (time(0) < end)
		outer(1000000);
}
C
mkdir "$dir/bare"
cc -O2 -g -Wl,--build-id -o "$dir/inlined" "$dir/inlined.c"
objcopy --only-keep-debug "$dir/inlined" "$dir/bare/inlined.debug"
strip -g -o "$dir/bare/inlined" "$dir/inlined"
objcopy --add-gnu-debuglink="$dir/bare/inlined.debug" "$dir/bare/inlined"

# chains FILE: how many samples have their leaf in each chain of functions,
# innermost first, with sources and lines
chains() {
	sqlite3 -readonly "$1" "
		SELECT chain, sum(t.count) FROM stack_total t
		JOIN stack_node n ON n.id = t.stack_id
		JOIN (SELECT frame_id, group_concat(word, ' ') AS chain FROM (
			SELECT ff.frame_id, g.name || ':' || g.source || ':' ||
				ifnull(ff.line, 0) || ':' ||
				ifnull(g.line, 0) AS word
			FROM frame_function ff
			JOIN function g ON g.id = ff.function_id
			ORDER BY ff.frame_id, ff.inline_depth)
			GROUP BY 1) c USING (frame_id)
		WHERE chain LIKE '%outer%' GROUP BY 1"
}
want='^innermost:dwarf:[56]:3 middle:dwarf:10:8 outer:symtab:14:12\|'

for way in . bare; do
	"$weft" record -q -o "$dir/$way.db" -- "$dir/$way/inlined"
	chains "$dir/$way.db" >"$dir/chains"
	say <"$dir/chains"
	check "$way: leaves are in the innermost function, with lines" \
		"$(awk -F '|' -v want="$want" '
			{ n += $2 } ($0 ~ want) { good += $2 }
			END { print (n > 100 && good >= 0.95 * n) }' \
			"$dir/chains")"
	"$weft" export -i "$dir/$way.db" >"$dir/folded"
	check "$way: folded stacks have the callers first" \
		"$(grep -c -m 1 ';main;outer;middle;innermost [0-9]*$' \
			"$dir/folded")"
	check "$way: what was inlined has the time as its own" \
		"$(sql "$dir/$way.db" "SELECT self_share > 0.5 AND
			total >= self FROM hot_functions
			WHERE function = 'innermost'")"
	check "$way: its callers have it as theirs in total, once" \
		"$(sql "$dir/$way.db" "SELECT count(*) = 2 AND
			sum(self) < 0.1 * sum(total) AND max(total_share) <= 1
			FROM hot_functions
			WHERE function IN ('outer', 'middle')")"
done

# DWARF that claims to be packed in a way that nobody knows.
objcopy --compress-debug-sections=zlib "$dir/inlined" "$dir/damaged"
python3 - "$dir/damaged" <<'PY'
import struct, sys
elf = bytearray(open(sys.argv[1], "rb").read())
shoff, = struct.unpack_from("<Q", elf, 0x28)
shnum, = struct.unpack_from("<H", elf, 0x3c)
for i in range(shnum):
    _, _, flags, _, at = struct.unpack_from("<IIQQQ", elf, shoff + 64 * i)
    if flags & 0x800:
        struct.pack_into("<I", elf, at, 77)
open(sys.argv[1], "wb").write(elf)
PY
"$weft" record -o "$dir/damaged.db" -- "$dir/damaged" 2>"$dir/err"
say <"$dir/err"
chains "$dir/damaged.db" >"$dir/chains"
say <"$dir/chains"
check "damaged: symbols only, and it is named, once" \
	"$(both "$(both "$(grep -c -m 1 '^outer:symtab:0:0|' "$dir/chains")" \
		"$(is "$(grep -c dwarf "$dir/chains")" = 0)")" \
		"$(grep -c "damaged': its inlined functions and lines are not read: its DWARF is damaged" \
			"$dir/err")")"

"$weft" record -q --no-inline -o "$dir/no.db" -- "$dir/inlined"
chains "$dir/no.db" >"$dir/chains"
say <"$dir/chains"
check "--no-inline: symbols only" \
	"$(both "$(grep -c -m 1 '^outer:symtab:0:0|' "$dir/chains")" \
		"$(is "$(grep -c dwarf "$dir/chains")" = 0)")"

live_done

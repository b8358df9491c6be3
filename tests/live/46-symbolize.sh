#!/bin/sh
# SPDX-License-Identifier: MIT
# A stripped program, recorded, is named elsewhere as one with symbols is here.
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

cat >"$dir/known.c" <<'END'
#include <stdlib.h>

volatile unsigned sink;

__attribute__((noinline)) static void hot_leaf(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) static void warm_caller(unsigned n)
{
	hot_leaf(n);
	sink++;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	while (rounds--)
		warm_caller(100000);
	return 0;
}
END
gcc -O1 -g -fno-optimize-sibling-calls -Wl,--build-id \
	-o "$dir/whole" "$dir/known.c"
cp "$dir/whole" "$dir/bare"
objcopy --only-keep-debug "$dir/bare" "$dir/bare.debug"
strip "$dir/bare"
"$weft" record -q -o "$dir/whole.db" -- "$dir/whole" 5000
"$weft" record -q -o "$dir/bare.db" -- "$dir/bare" 5000

# Another machine: nothing of the program but a copy of its files.
mkdir -p "$dir/there/root$dir"
id=$(readelf -n "$dir/bare" | awk '/Build ID:/ { print $3 }')
place="$dir/there/root/usr/lib/debug/.build-id/$(echo "$id" | cut -c1-2)"
mkdir -p "$place"
mv "$dir/bare" "$dir/there/root$dir/"
mv "$dir/bare.debug" "$place/$(echo "$id" | cut -c3-).debug"
cp "$dir/bare.db" "$dir/there/"
db="$dir/there/bare.db"

# functions FILE PROGRAM: names in its binary that are ours, without addresses
functions() {
	sql "$1" "SELECT DISTINCT n.name || ' ' || ifnull(ff.line > 0, 0)
		FROM frame f JOIN binary b ON b.id = f.binary_id
		LEFT JOIN frame_function ff ON ff.frame_id = f.id
		LEFT JOIN function n ON n.id = ff.function_id
		WHERE b.path LIKE '%/$2' AND n.name IN ('hot_leaf', 'warm_caller',
			'main') ORDER BY 1"
}

# share FILE: of user samples whose innermost function is hot_leaf, in percent
share() {
	sql "$1" "SELECT cast(100.0 * sum(iif(function = 'hot_leaf', self, 0)) /
		sum(self) AS INT) FROM hot_functions WHERE binary LIKE '$dir/%'"
}

functions "$db" bare | say
check "without symbols nothing of it has a name" \
	"$(is "$(functions "$db" bare | wc -l)" = 0)"
"$weft" symbolize --symfs "$dir/there/root" "$db" >"$dir/report" 2>&1
code=$?
say <"$dir/report"
check "symbolize names it from the copy" "$(is $code = 0)"
functions "$dir/whole.db" whole | say
check "the names and lines are those of the recording with symbols" \
	"$(both "$(is "$(functions "$db" bare)" = \
		"$(functions "$dir/whole.db" whole)")" \
		"$(is "$(functions "$db" bare | wc -l)" -ge 2)")"
echo "hot_leaf: $(share "$db") % named later, $(share "$dir/whole.db") % at once" | say
check "hot_leaf is what is hot in both" \
	"$(both "$(is "$(share "$db")" -ge 80)" \
		"$(is "$(share "$dir/whole.db")" -ge 80)")"
"$weft" symbolize --symfs "$dir/there/root" "$db" >"$dir/report" 2>&1
check "a second time there is nothing to name" "$(is $? = 4)"

# The debug file alone, which does not say what offset its code has in the
# program, here not its address: the recording says it.
gcc -O1 -g -fno-optimize-sibling-calls -Wl,--build-id \
	-Wl,-z,noseparate-code -Wl,-Ttext-segment=0x10000 -no-pie \
	-o "$dir/moved" "$dir/known.c"
moved_id=$(readelf -n "$dir/moved" | awk '/Build ID:/ { print $3 }')
file=".build-id/$(echo "$moved_id" | cut -c1-2)/$(echo "$moved_id" |
	cut -c3-).debug"
for tool in objcopy llvm-objcopy; do
	mkdir -p "$dir/by_$tool/$(dirname "$file")"
	$tool --only-keep-debug "$dir/moved" "$dir/by_$tool/$file"
done
strip "$dir/moved"
"$weft" record -q -o "$dir/alone.db" -- "$dir/moved" 5000
rm "$dir/moved"
sqlite3 -separator ' ' "$dir/alone.db" "SELECT s.* FROM binary_segment s
	JOIN binary b ON b.id = s.binary_id WHERE b.path = '$dir/moved'" | say
for tool in objcopy llvm-objcopy; do
	cp "$dir/alone.db" "$dir/by_$tool.db"
	"$weft" symbolize --debug-dir "$dir/by_$tool" "$dir/by_$tool.db" \
		>"$dir/report" 2>&1 || true
	say <"$dir/report"
	check "a debug file alone, of $tool, names what was recorded, with lines" \
		"$(is "$(functions "$dir/by_$tool.db" moved)" = \
			"$(functions "$dir/whole.db" whole)")"
done
sqlite3 "$dir/alone.db" "DELETE FROM frame_function; DELETE FROM binary_segment"
"$weft" symbolize --debug-dir "$dir/by_objcopy" "$dir/alone.db" \
	>"$dir/report" 2>&1 || true
check "without knowing where the code lay it names nothing" \
	"$(is "$(functions "$dir/alone.db" moved)" = "")"

# While it is recorded, nobody else writes.
background "$weft" record -q -a -o "$dir/busy.db"
recorder=$!
wait_for 20 test -e "$dir/busy.db.lock"
wait_for 20 test -e "$dir/busy.db"
"$weft" symbolize "$dir/busy.db" >"$dir/report" 2>&1
code=$?
say <"$dir/report"
check "a file that is being recorded is refused" "$(is $code = 1)"
# shellcheck disable=SC2317 # called through wait_for
is_stored() {
	[ "$(sqlite3 -readonly "$dir/busy.db" \
		"SELECT count(*) FROM interval" 2>/dev/null)" -gt 0 ]
}
# Before, a signal may find a file whose tables are not made yet.
wait_for 60 is_stored
kill -TERM $recorder
wait $recorder

# debuginfod, right after recording.
mkdir -p "$dir/www/buildid/$id" "$dir/cache"
cp "$place"/*.debug "$dir/www/buildid/$id/debuginfo"
cp "$dir/there/root$dir/bare" "$dir/bare"
python3 - "$dir/www" >"$dir/port" 2>/dev/null <<'END' &
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler,
                            directory=sys.argv[1])
server = http.server.HTTPServer(("127.0.0.1", 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
END
live_children="$live_children $!"
wait_for 20 test -s "$dir/port"
DEBUGINFOD_URLS="http://127.0.0.1:$(cat "$dir/port")" \
	DEBUGINFOD_CACHE_PATH="$dir/cache" \
	"$weft" record -q --debuginfod -o "$dir/fetched.db" -- "$dir/bare" 2000 \
	>"$dir/out" 2>"$dir/report"
code=$?
say <"$dir/report"
check "record --debuginfod fetches names once it has ended" \
	"$(both "$(is $code = 0)" \
		"$(is "$(functions "$dir/fetched.db" bare)" = \
			"$(functions "$dir/whole.db" whole)")")"
check "and leaves stdout to the program" "$(is "$(wc -c <"$dir/out")" = 0)"
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A perf map of 2 GiB costs its process the names of what is old in it, and
# nobody else anything: from a ring that holds a fraction of a second nothing
# is lost meanwhile, others have their names, and memory stays bounded.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

background "$load/jit" grow 300 huge >/dev/null
jit=$!
map=/tmp/perf-$jit.map
# It would make its map anew.
trap 'live_end; rm -f "$map"' EXIT
wait_for 10 test -s "$map"
# A hole, then three million functions, then its code's own line again; the
# program goes on to add lines.
python3 - "$map" <<'PY'
import sys
path = sys.argv[1]
own = open(path, "rb").readline()
with open(path, "ab") as f:
    f.truncate(1950 << 20)
    f.write(b"\n")
    for first in range(0, 3000000, 100000):
        f.write(b"".join(b"%x 40 function_%d\n" % (0x1000 + i * 64, i)
                         for i in range(first, first + 100000)))
    f.write(own)
PY
say <<SIZE
the map has $(($(stat -c %s "$map") >> 20)) MiB, of which $(
	du -m "$map" | cut -f 1) on disk
SIZE

background "$load/deep" 20 300 >/dev/null
other=$!
background "$weft" record -F 4999 --detail 1/1 --ring-size 256k \
	--interval 0.2 -d 5 -p $jit,$other -o "$dir/huge.db" 2>"$dir/err"
recorder=$!
peak=$(live_peak $recorder)
wait $recorder || true
kill -KILL $other
say <"$dir/err"
check_ledger "$dir/huge.db"

check_none_lost "beside a huge map" "$dir/huge.db" 2000

# User frames of its samples, and how many of these have a name.
sqlite3 -readonly -separator ' ' "$dir/huge.db" "
	SELECT sum(t.count), total(t.count * EXISTS (SELECT 1
		FROM frame_function ff WHERE ff.frame_id = f.id))
	FROM stack_total t
	JOIN process p ON p.id = t.process_id AND p.pid = $other
	JOIN stack_frame sf ON sf.stack_id = t.stack_id
	JOIN frame f ON f.id = sf.frame_id AND NOT f.in_kernel" >"$dir/names"
say <"$dir/names"
check "the other program's frames have their names" \
	"$(awk '{ print ($1 >= 10000 && $2 >= 0.99 * $1) + 0 }' "$dir/names")"

sqlite3 -readonly -separator ' ' "$dir/huge.db" "
	SELECT ifnull(g.name, '-'), sum(t.count) FROM stack_total t
	JOIN process p ON p.id = t.process_id AND p.pid = $jit
	JOIN stack_frame sf ON sf.stack_id = t.stack_id AND sf.position = 0
	JOIN frame f ON f.id = sf.frame_id
	JOIN binary b ON b.id = f.binary_id AND b.kind = 'jit'
	LEFT JOIN frame_function ff ON ff.frame_id = f.id
	LEFT JOIN function g ON g.id = ff.function_id
	GROUP BY 1" >"$dir/code"
say <"$dir/code"
check "its own code is named once the map's end is read, and by that" \
	"$(awk '$1 == "huge_first" { own += $2; next } $1 != "-" { wrong++ }
		END { print (own >= 100 && !wrong) + 0 }' "$dir/code")"
check "what is not kept of it is told of once" \
	"$(is "$(grep -c "process $jit: its perf map is larger than is kept" \
		"$dir/err")" = 1)"
check_peak "$peak" 256
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Many binaries and a huge one, with no more descriptors than a recording needs
# without them: each has its names, and none costs another its own. NAMES_MANY:
# how many (100).
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/names.sh
. "$(dirname "$0")/names.sh"
many=${NAMES_MANY:-100}

names_build "$dir/v1" -g -fPIE -pie -Wl,--build-id
mkdir "$dir/many"
# Copies with build IDs of their own; and one of 1 GiB, nearly all of it a
# hole, with three million functions more, all of one name.
python3 - "$dir" "$many" <<'PY'
import os, struct, sys
top, many = sys.argv[1], int(sys.argv[2])
elf = bytearray(open(top + "/v1", "rb").read())
at = elf.index(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0") + 16
def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, 0o755)
for i in range(many):
    elf[at:at + 20] = struct.pack("<20s", b"copy %d" % i)
    write(top + "/many/%d_%02d" % (i, i % 100), elf)

shoff, = struct.unpack_from("<Q", elf, 0x28)
shnum, = struct.unpack_from("<H", elf, 0x3c)
headers = [bytearray(elf[shoff + 64 * i:shoff + 64 * (i + 1)])
           for i in range(shnum)]
for h in headers:
    kind, = struct.unpack_from("<I", h, 4)
    if kind != 2:
        continue
    old, size, link = struct.unpack_from("<QQI", h, 24)
    strings, = struct.unpack_from("<Q", headers[link], 24)
    name = elf.index(b"\0main\0", strings) - strings + 1
    more = b"".join(struct.pack("<IBBHQQ", name, 2, 0, 1, 0x400000 + i, 1)
                    for i in range(3 << 20))
    symbols = bytes(elf[old:old + size]) + more
    struct.pack_into("<QQ", h, 24, 1 << 30, len(symbols))
elf[at:at + 20] = struct.pack("<20s", b"huge")
struct.pack_into("<Q", elf, 0x28, (1 << 30) + len(symbols))
with open(top + "/huge", "wb") as f:
    f.write(elf)
    f.seek(1 << 30)
    f.write(symbols)
    f.write(b"".join(headers))
os.chmod(top + "/huge", 0o755)
PY
cat >"$dir/run.sh" <<'SH'
# directory
"$1/huge" 20 0 99 &
ls "$1/many" | while read -r name; do
	number=${name#*_}
	"$1/many/$name" 20 "${number#0}" "${number#0}"
done
wait
SH
files=$((100 + 4 * $(nproc)))
(
	# shellcheck disable=SC3045
	ulimit -n $((files - 1))
	exec "$weft" record -q -o "$dir/few.db" -- true
) 2>"$dir/said" && echo "it recorded" >"$dir/said"
say <"$dir/said"
check "too few descriptors are refused in words, before anything is opened" \
	"$(both "$(grep -c "it takes about $files; raise" "$dir/said")" \
		"$(is "$(find "$dir" -name few.db | wc -l)" = 0)")"
(
	# shellcheck disable=SC3045
	ulimit -n "$files"
	exec "$weft" record -q -F 997 -o "$dir/many.db" -- sh "$dir/run.sh" "$dir"
)
check_ledger "$dir/many.db"
# Binaries whose own function is named, and how many of them with its line.
seen=$(sql "$dir/many.db" "
SELECT count(DISTINCT b.path) || ' ' ||
  count(DISTINCT CASE WHEN ff.line > 0 THEN b.path END)
FROM stack_total t
JOIN process p ON p.id = t.process_id
JOIN stack_node n ON n.id = t.stack_id
JOIN frame f ON f.id = n.frame_id
JOIN binary b ON b.id = f.binary_id
JOIN frame_function ff ON ff.frame_id = f.id
JOIN function g ON g.id = ff.function_id
WHERE b.path GLOB '*/many/*_' || substr(p.comm, 3) AND g.name = p.comm")
lines=${seen#* }
seen=${seen% *}
echo "$seen of $many binaries have their names, $lines lines, too" | say
check "each of the binaries has its names" "$(is "$seen" = "$many")"
check "and its lines, which come after all names" "$(is "$lines" = "$many")"
named=$("$weft" top -i "$dir/many.db" --json | python3 -c '
import json, sys
print("%.6f" % json.load(sys.stdin)["named_share"])')
same "of all samples $named are named, as weft top says" "$dir/many.db" "
SELECT printf('%.6f', 1.0 * sum(iif(EXISTS (SELECT 1 FROM frame_function ff
	WHERE ff.frame_id = n.frame_id), t.count, 0)) / sum(t.count))
FROM stack_total t JOIN stack_node n ON n.id = t.stack_id" "$named"
# shellcheck disable=SC2046
set -- $(names_in "$dir/many.db" "*/huge")
echo "the huge one: $1 right, $2 wrong, $3 not named" | say
check "the huge one has no wrong names" "$(is "$2" = 0)"
# shellcheck disable=SC2046
set -- $(names_in "$dir/many.db" "*")
check "nor has any other" "$(is "$2" = 0)"

live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The right name, whatever the file looks like, whatever lies at its path by
# now, and from whichever root it was run.
#
# NAMES_BUILDS=all: all ways to build, not a few.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/names.sh
. "$(dirname "$0")/names.sh"
names=$dir/names
mkdir "$names"
ms=10
# What is gone when it is looked at has no names: that has a test of its own.
export NAMES_STAY=4

# ---- ways to build

variants=
variant() {
	name=$1
	shift
	if names_build "$names/$name" "$@"; then
		variants="$variants $name"
	else
		echo "not built here: $name" | say
	fi
}
cat >"$names/away.ld" <<'LD'
SECTIONS { .names_away 0xab01000 : { *(.text.f_*) } }
INSERT AFTER .text;
LD
variant pie -fPIE -pie
variant static -static
variant lld -fPIE -pie -fuse-ld=lld
if [ "${NAMES_BUILDS-}" = all ]; then
	variant nopie -fno-PIE -no-pie
	variant staticpie -fPIE -static-pie
	variant separate -fPIE -pie -fuse-ld=lld -Wl,-z,separate-code
	variant joined -fno-PIE -no-pie -Wl,-z,noseparate-code
	variant ttext -fno-PIE -no-pie -Wl,-Ttext=0xab000
fi
variant script -fno-PIE -no-pie -ffunction-sections \
	-Wl,-T,"$names/away.ld"
names_build "$names/libnames.so" -fPIC -shared -DLIBRARY
names_build "$names/shared" -DPROGRAM "$names/libnames.so"
# shellcheck disable=SC2016,SC2086
NAMES_STAY=0 "$weft" record -q -F 1499 -o "$dir/built.db" -- sh -c '
	cd "$1" && shift && ms=$1 && shift
	for name in "$@" shared; do
		echo "./$name $ms"
	done | xargs -P2 -I% sh -c %' sh "$names" "$ms" $variants
check_ledger "$dir/built.db"
for name in $variants libnames.so; do
	check_names "$name: 100 of 100 functions have their names" \
		"$dir/built.db" "*/$name" 100
done

# ---- another file at the path, by the time that names are asked for

names_build "$names/v1" -fPIE -pie
names_build "$names/v2" -fPIE -pie -DPERMUTED
names_build "$names/v1.so" -fPIC -shared -DLIBRARY
names_build "$names/v2.so" -fPIC -shared -DLIBRARY -DPERMUTED
check "the two builds differ in nothing but which function lies where" \
	"$(is "$(stat -c %s "$names/v1")" = "$(stat -c %s "$names/v2")")"
for name in replaced deleted; do
	mkdir "$names/$name"
	cp "$names/v1" "$names/$name/prog"
	background "$names/$name/prog" $ms 0 99 1 "$dir/go"
done
for name in written cut; do
	mkdir "$names/$name"
	cp "$names/v1.so" "$names/$name/lib.so"
	names_build "$names/$name/prog" -DPROGRAM "$names/$name/lib.so"
done
cp "$names/v2" "$names/replaced/new"
mv "$names/replaced/new" "$names/replaced/prog"
rm "$names/deleted/prog"
# shellcheck disable=SC2317
has_interval() {
	[ "$(sql "$dir/changed.db" "SELECT count(*) FROM interval")" -gt 0 ]
}
# shellcheck disable=SC2317
has_mapped() {
	grep -q lib.so "/proc/$1/maps"
}
waited=$live_children
background "$weft" record -q -a -F 1499 -o "$dir/changed.db"
recorder=$!
# From now on it learns from the kernel what is mapped, as it is mapped.
wait_for 20 has_interval
for name in written cut; do
	background "$names/$name/prog" $ms 0 99 1 "$dir/go"
	waited="$waited $!"
	wait_for 10 has_mapped $!
done
dd if="$names/v2.so" of="$names/written/lib.so" conv=notrunc status=none
: >"$names/cut/lib.so"
: >"$dir/go"
for pid in $waited; do
	wait "$pid" || true
done
kill -INT "$recorder"
wait "$recorder" || true
check_ledger "$dir/changed.db"
check_names "replaced before it is looked at: what runs has its own names" \
	"$dir/changed.db" "*/replaced/prog" 100
check_names "deleted: it has its names, and a path as if it were there" \
	"$dir/changed.db" "*/deleted/prog" 100
# Whose bytes are run then is anybody's guess: no name is right, raw is.
# shellcheck disable=SC2046
set -- $(names_in "$dir/changed.db" "*/written/lib.so")
echo "written over in place: $1 right, $2 wrong, $3 not named" | say
check "written over in place: no names of the new file for the old build" \
	"$(both "$(is "$2" = 0)" "$(is "$3" -gt 0)")"
# shellcheck disable=SC2046
set -- $(names_in "$dir/changed.db" "*/cut/lib.so")
check "cut in place: no wrong names" "$(is "$2" = 0)"

# ---- code without a path, code at the same path in another root

cat >"$dir/elsewhere.sh" <<'SH'
# names directory, load, ms: all in a mount namespace of its own
cd "$1"
(
	"$2/from_memfd" program "names $$" ./v1 "$3" &
	"$2/from_memfd" library "names lib" ./v1.so "$3"
) &
(
	NAMES_REMAP=1 ./remapped "$3" &
	./same "$3"
) &
mount -t tmpfs tmpfs here
mkdir here/a here/b here/bound
for root in a b; do
	mkdir here/$root/names
done
cp static here/a/names/same
cp static2 here/b/names/same
chroot here/a /names/same "$3" &
chroot here/b /names/same "$3" &
wait
cp v2 here/bound/same
mount --bind here/bound/same same
./same "$3" &
mkdir here/low here/up here/work here/merged
cp v1 here/low/overlaid
cp v2 here/low/untouched
mount -t overlay -o lowerdir=here/low,upperdir=here/up,workdir=here/work \
	overlay here/merged
cp v2 here/merged/overlaid
here/merged/overlaid "$3" &
here/merged/untouched "$3" &
wait
SH
cp "$names/v1" "$names/remapped"
cp "$names/v1" "$names/same"
names_build "$names/static2" -static -DPERMUTED
mkdir "$names/here"
# Who looks at a memfd's path would find this.
decoy="/memfd:names lib"
cp "$names/v2.so" "$decoy"
"$weft" record -q -F 1499 -o "$dir/elsewhere.db" -- unshare -m \
	sh "$dir/elsewhere.sh" "$names" "$load" $ms ||
	echo "status $?" | say
rm -f "$decoy"
check_ledger "$dir/elsewhere.db"
check_names "a program in a memfd is named" \
	"$dir/elsewhere.db" "/memfd:names [0-9]*" 100
check_names "a library in a memfd is named, by itself and not by a decoy" \
	"$dir/elsewhere.db" "/memfd:names lib" 100
check_names "the same path before and after a bind mount" \
	"$dir/elsewhere.db" "*/names/same" 100
check_names "the lower file of an overlay is named" \
	"$dir/elsewhere.db" "*/merged/untouched" 100
check_names "a file that was copied up is named" \
	"$dir/elsewhere.db" "*/merged/overlaid" 100
# In any binary: also moved code, whose names may be right or none.
# shellcheck disable=SC2046
set -- $(names_in "$dir/elsewhere.db" "*")
check "in none of them a wrong name" "$(is "$2" = 0)"
check "each of the files at one path is a binary of its own" \
	"$(is "$(sql "$dir/elsewhere.db" "SELECT count(DISTINCT build_id)
		FROM binary WHERE path GLOB '*/names/same'")" = 4)"

# ---- odd paths, and short lives

cat >"$dir/odd.sh" <<'SH'
# names directory, ms
cd "$1"
run() {
	cp v1 "./$1" && "./$1" "$2" 0 4
}
run "with space" "$2"
run "new
line" "$2"
run "kept (deleted)" "$2"
run "$(printf 'latin\351')" "$2"
for depth in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
	mkdir "$3" && cd "$3"
done
cp "$1/v1" deep && ./deep "$2" 0 4
cd "$1"
for n in 10 11 12 13 14 15 16 17 18 19; do
	cp v1 short_$n && ./short_$n "$2" $n $n
	rm short_$n
done
# What the kernel runs all the same: e_shoff, e_shentsize, e_shnum and
# e_shstrndx mean nothing to it, nor does what comes after the last segment.
hostile() {
	cp v1 "hostile_$1"
	printf "$3" | dd of="hostile_$1" bs=1 seek="$2" conv=notrunc status=none
	"./hostile_$1" 30 0 4
}
hostile shoff 40 '\377\377\377\377\377\377\377\177'
hostile shentsize 58 '\001\000'
hostile shnum 60 '\377\377'
hostile shstrndx 62 '\377\377'
hostile class 4 '\001'
hostile data 5 '\002'
shoff=$(readelf -h v1 | awk '/Start of section headers/ { print $5 }')
head -c "$shoff" v1 >hostile_cut
chmod +x hostile_cut
./hostile_cut 30 0 4
# And what has no sections because it needs none.
cp v1 bare
for at in 40 41 42 43 44 45 46 47 58 59 60 61 62 63; do
	printf '\000' | dd of=bare bs=1 seek=$at conv=notrunc status=none
done
./bare 30 0 4
SH
NAMES_STAY=0 "$weft" record -F 1499 -o "$dir/odd.db" -- \
	sh "$dir/odd.sh" "$names" 30 \
	"$(printf '%0240d' 0)" 2>"$dir/log"
check_ledger "$dir/odd.db"
check_names "a path with a space" "$dir/odd.db" "*/with space" 5
check_names "a path with a newline" "$dir/odd.db" "*/new?line" 5
check_names "a path that ends in (deleted), and is not" \
	"$dir/odd.db" "*/kept*" 5
check_names "a path that is not UTF-8" "$dir/odd.db" "*/latin*" 5
check_names "a path of more than 3,600 bytes" "$dir/odd.db" "*/deep" 5
# shellcheck disable=SC2046
set -- $(names_in "$dir/odd.db" "*/hostile_*")
echo "spoilt headers: $1 named right, $2 wrong, $3 samples not named" | say
check "files whose headers lie, and that run, have no wrong names" \
	"$(both "$(is "$2" = 0)" "$(is $(($1 + $3)) -gt 0)")"
say <"$dir/log"
for name in shoff shentsize shnum cut; do
	check "hostile_$name: that its symbols are lost is told, once" \
		"$(is "$(grep -c "hostile_$name': symbols of the file itself are not read: its section headers are cut off or damaged; weft symbolize " \
			"$dir/log")" = 1)"
done
check "what was stripped of its sections lost nothing" \
	"$(is "$(grep -c "bare'" "$dir/log")" = 0)"
# shellcheck disable=SC2046
set -- $(names_in "$dir/odd.db" "*/short_*")
echo "gone at once: $1 named right, $2 wrong, $3 samples not named" | say
check "programs that are gone at once have no wrong names" "$(is "$2" = 0)"
nm "$names/v1" | awk '$3 ~ /^f_1[0-9]$/ {
	print "INSERT INTO place VALUES (\"" $3 "\", 0x" $1 ");" }' >"$dir/place"
kept=$(sqlite3 "$dir/odd.db" 2>/dev/null <<SQL || echo failed
CREATE TEMP TABLE place(name TEXT, start INTEGER);
$(sed "s/\"/'/g" "$dir/place")
SELECT count(DISTINCT p.comm)
FROM stack_total t
JOIN process p ON p.id = t.process_id
JOIN stack_node n ON n.id = t.stack_id
JOIN frame f ON f.id = n.frame_id
JOIN binary b ON b.id = f.binary_id
JOIN temp.place l ON l.name = p.comm
WHERE b.build_id IS NOT NULL AND b.path GLOB '*/short_' || substr(p.comm, 3)
  AND f.address BETWEEN l.start AND l.start + 31;
SQL
)
check "but their build ID and where in the file it was" "$(is "$kept" = 10)"
# On any machine that has the file, by what was kept.
id=$(readelf -n "$names/v1" | awk '/Build ID:/ { print $3 }')
place="$dir/later/.build-id/$(echo "$id" | cut -c1-2)"
mkdir -p "$place"
cp "$names/v1" "$place/$(echo "$id" | cut -c3-)"
"$weft" symbolize --symfs "$dir/later" "$dir/odd.db" | say
check_names "by which they are named later" "$dir/odd.db" "*/short_*" 10

# A call that does not return is its function's last instruction: the address after
# it is another function's, in no export either.
"$weft" record -q -F 1999 -o "$dir/last.db" -- \
	"$load/unwind/$(head -n 1 "$load/unwind/few")" noreturn 1 x >/dev/null
for format in folded speedscope csv json otlp pprof; do
	"$weft" export -f $format -o - "$dir/last.db" >"$dir/export" || true
	gzip -dc <"$dir/export" >"$dir/plain" 2>/dev/null ||
		cp "$dir/export" "$dir/plain"
	named=$(grep -ao 'chain_[a-z_]*' "$dir/plain" | sort -u | tr '\n' ' ')
	check "$format: callers of what does not return have their own names ($named)" \
		"$(is "$named" = "chain_leaf chain_noreturn chain_noreturn_last ")"
done

# Functions with many aliases, as the C library's: a place has one name, whenever
# it is recorded.
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$weft" record -q -F 4999 -o "$dir/alias$i.db" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=200000 2>/dev/null
	sql "$dir/alias$i.db" "SELECT address, group_concat(name) FROM (
		SELECT f.id, f.address, n.name FROM frame f
		JOIN binary b ON b.id = f.binary_id
		JOIN frame_function ff ON ff.frame_id = f.id
		JOIN function n ON n.id = ff.function_id
		WHERE b.path GLOB '*/libc.so*' AND f.in_kernel = 0
		ORDER BY f.id, ff.inline_depth) GROUP BY id"
done | sort >"$dir/aliases"
often=$(cut -d '|' -f 1 "$dir/aliases" | uniq -d | wc -l)
several=$(uniq "$dir/aliases" | cut -d '|' -f 1 | uniq -d | wc -l)
echo "$often places of libc seen more than once, $several with several names" | say
check "a place has the same name in each recording" \
	"$(both "$(is "$often" -gt 3)" "$(is "$several" = 0)")"

# The vDSO has no file; its names are of its image in memory.
cat >"$dir/clock.c" <<'C'
#include <time.h>
int main(void)
{
	struct timespec now, start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (now.tv_sec < start.tv_sec + 2);
}
C
cc -O2 -o "$dir/clock" "$dir/clock.c"
"$weft" record -q -U --detail off -o "$dir/vdso.db" -- "$dir/clock"
sqlite3 -readonly -separator ' ' "$dir/vdso.db" "
	SELECT ifnull(g.name, '-'), ifnull(g.source, '-'), sum(t.count)
	FROM stack_total t
	JOIN process p ON p.id = t.process_id AND p.comm = 'clock'
	JOIN stack_node n ON n.id = t.stack_id
	JOIN frame f ON f.id = n.frame_id
	JOIN binary b ON b.id = f.binary_id AND b.path = '[vdso]'
	LEFT JOIN frame_function ff ON ff.frame_id = f.id
	LEFT JOIN function g ON g.id = ff.function_id
	GROUP BY 1, 2 ORDER BY 3 DESC" >"$dir/vdso"
say <"$dir/vdso"
check "code of the vDSO has its names" \
	"$(awk '{ n += $3 }
		$1 == "__vdso_clock_gettime" && $2 == "vdso" { named += $3 }
		END { print (n >= 50 && named >= 0.95 * n) + 0 }' "$dir/vdso")"

live_done

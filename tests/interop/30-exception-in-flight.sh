#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Stacks are whole and right while a C++ exception is in flight: as
# tests/live/25-whole-stacks.sh, of programs that need a C++ compiler. And of
# static programs of another C library, musl, whose files have unwind entries
# but no index of them.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
# shellcheck source=tests/live/chains.sh
. "$(dirname "$0")/../live/chains.sh"
command -v g++ >/dev/null || live_skip "needs g++"
command -v musl-gcc >/dev/null || live_skip "needs musl-gcc"

mkdir -p "$dir/load/unwind"
variants='gcc-O0 gcc-O2 gcc-O2-static clang-O2'
for variant in $variants; do
	case $variant in
	gcc*) compiler=g++ ;;
	clang*) compiler=clang++ ;;
	esac
	# shellcheck disable=SC2046 # words of flags
	$compiler -D_GNU_SOURCE -fomit-frame-pointer \
		$(echo "${variant#*-}" | sed 's/^/-/; s/-static/ -static/') \
		-o "$dir/load/unwind/$variant" \
		"$tests/load/unwind/exception.cc"
	echo "$dir/load/unwind/$variant search 0.3 early" >>"$dir/early"
	for mode in search cleanup; do
		echo "$dir/load/unwind/$variant $mode 2 $variant/$mode" \
			>>"$dir/runs"
	done
	chains_stubs "$dir/load/unwind/$variant" "$dir/load/unwind/$variant"
done
chains_record "$dir/early" "$dir/runs"
chains_judge
# Just before it goes on at a landing pad the runtime puts the pad's address in
# the place of a return address, in a frame that is not the pad's: for so long
# no rule is right.
for variant in $variants; do
	chains_check "$variant" 10
done

# What musl itself runs has no entries, so its start cannot be passed.
make -C "$tests/.." --no-print-directory B="$WEFT_BUILD" \
	"$load/unwind/musl-O2-static" >"$dir/log" 2>&1 || say <"$dir/log"
"$weft" record -q -F 4999 --detail off -o "$dir/musl.db" -- \
	"$load/unwind/musl-O2-static" deep-20 3 >/dev/null
sql "$dir/musl.db" "
	SELECT sum(t.count), x.folded FROM stack_total t
	JOIN process p ON p.id = t.process_id
	JOIN stack_text x ON x.stack_id = t.stack_id
	WHERE p.exe GLOB '*musl*' GROUP BY 2 ORDER BY 1 DESC LIMIT 5" | say
levels=$(printf '%20s' '' | sed 's/ /chain_level;/g')
check "musl, static: 95 % of stacks are whole from main on" \
	"$(sql "$dir/musl.db" "
		SELECT sum(iif(x.folded LIKE '%;main;chain_deep;${levels}chain_leaf%',
			t.count, 0)) * 100 / sum(t.count) >= 95
		FROM stack_total t JOIN process p ON p.id = t.process_id
		JOIN stack s ON s.id = t.stack_id
		JOIN stack_text x ON x.stack_id = t.stack_id
		WHERE p.exe GLOB '*musl*' AND s.status <> 'no_user'")"
live_done

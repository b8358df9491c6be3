#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Stacks are whole and right: a program of known call chains through code that
# keeps no frame pointer, built in many ways; every sampled stack must equal
# the known chain. What exactly that means stands in 25-whole-stacks.awk.
#
# UNWIND_MATRIX=all builds and runs all variants, not a few.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

matrix=${UNWIND_MATRIX:-few}
seconds=0.25 # of each mode
make -C "$tests/.." --no-print-directory B="$WEFT_BUILD" "unwind-$matrix" \
	>"$dir/log" 2>&1 || {
	say <"$dir/log"
	echo "Bail out! the programs could not be built"
	exit 1
}
variants=$(cat "$load/unwind/$matrix")
first=$(head -n 1 "$load/unwind/$matrix")

# Once before the rest, so that the files' tables are there; their processes
# are not judged. Then each mode, as many at a time as there are CPUs.
{
	echo "$load/unwind/$first plugin 0.5 early"
	for variant in $variants; do
		echo "$load/unwind/$variant deep-20 0.1 early"
	done
} >"$dir/early"
for variant in $variants; do
	"$load/unwind/$variant" | while read -r mode; do
		echo "$load/unwind/$variant $mode $seconds $variant/$mode"
	done
done >"$dir/runs"
# From a file that is always new, and for long enough to be given names.
echo "$load/unwind/$first memory 3 $first/memory" >>"$dir/runs"
cat >"$dir/run_all" <<'RUN'
xargs -L 1 env <"$1/early" >>"$1/out" 2>>"$1/errors"
sleep 0.5
xargs -L 1 -P "$(nproc)" env <"$1/runs" >>"$1/out" 2>>"$1/errors"
RUN
"$weft" record -q -F 4999 --detail off -o "$dir/unwind.db" -- \
	sh "$dir/run_all" "$dir" 2>&1 | say
say <"$dir/errors"
check "each of $(wc -l <"$dir/runs") programs ran to its end" \
	"$(both "$(is "$(grep -vc early "$dir/out")" = "$(wc -l <"$dir/runs")")" \
		"$(is "$(wc -c <"$dir/errors")" = 0)")"
check_ledger "$dir/unwind.db"

# stubs FILE PATH: where it has its PLT stubs, which have no names
stubs() {
	readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' |
		awk '$1 ~ /^\.i?plt/ { print $4, $5 }' |
		while read -r offset size; do
			printf 'P\t%s\t%d\t%d\n' "$2" "0x$offset" \
				"$((0x$offset + 0x$size))"
		done
}

{
	grep -v early "$dir/out" | sed 's/^/T	/'
	for variant in $variants plugin_a.so; do
		stubs "$load/unwind/$variant" "$load/unwind/$variant"
	done
	stubs "$load/unwind/$first" /memfd:unwind
	sqlite3 -readonly "$dir/unwind.db" <"$tests/live/25-whole-stacks.sql"
} >"$dir/facts"
awk -f "$tests/live/25-whole-stacks.awk" "$dir/facts" >"$dir/judged"

# figures VARIANT: a line for each mode; then the worst of its wrong stacks
figures() {
	awk -F '\t' -v variant="$1/" 'index($2, variant) == 1 && $1 == "MODE" {
		printf "%-36s %5d samples, %5d whole, %d right, %d outside main, " \
			"%d pending, %d WRONG\n", $2, $3, $4, $5, $6, $7, $8 }
		' "$dir/judged"
	awk -F '\t' -v variant="$1/" 'index($2, variant) == 1 &&
		$1 == "WRONG" { print $3 "\t" $2 "\t" $4 "\t" $5 }' "$dir/judged" |
		sort -rn | cut -c -400 | head -n 20
}

# Too few samples show nothing; most of them must be in the innermost.
for variant in $variants; do
	figures "$variant" | say
	check "$variant: every stack equals the known chain" \
		"$(awk -F '\t' -v variant="$variant/" '
			index($2, variant) != 1 || $1 != "MODE" { next }
			{ modes++ }
			$8 > 0 || $4 < 20 || $4 < $3 / 2 || $6 > $3 / 10 { bad = 1 }
			END { print modes > 0 && !bad }' "$dir/judged")"
done
live_done

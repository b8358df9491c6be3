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
# shellcheck source=tests/live/chains.sh
. "$(dirname "$0")/chains.sh"

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

{
	echo "$load/unwind/$first plugin 0.5"
	for variant in $variants; do
		echo "$load/unwind/$variant deep-20 0.1"
	done
} >"$dir/early"
for variant in $variants; do
	"$load/unwind/$variant" | while read -r mode; do
		echo "$load/unwind/$variant $mode $seconds $variant/$mode"
	done
done >"$dir/runs"
# From a file that is always new, and for long enough to be given names.
echo "$load/unwind/$first memory 3 $first/memory" >>"$dir/runs"

chains_record "$dir/early" "$dir/runs"
for variant in $variants plugin_a.so; do
	chains_stubs "$load/unwind/$variant" "$load/unwind/$variant"
done
chains_stubs "$load/unwind/$first" /memfd:unwind
chains_judge
for variant in $variants; do
	chains_check "$variant"
done
live_done

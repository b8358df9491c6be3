#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The collector on a machine of 256 CPUs with 10,000 processes and a million
# stacks (scale.c), for two sizes of the kernel's tables: the default, and one
# in which an interval has room.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
intervals=${BENCH_INTERVALS:-20}
title "scale: 256 CPUs made up, $intervals intervals of 1 s"

# The figures that are medians of intervals, and what is known at the end.
for max_stacks in 16384 262144; do
	"$WEFT_BUILD/bench/scale" "$dir/scale.db" "$intervals" $max_stacks \
		>"$dir/scale"
	with="--max-stacks $max_stacks"
	# cell LINE COLUMN
	cell() {
		awk -F '\t' -v line="$1" -v n="$2" '$1 == line { print $n }' \
			"$dir/scale"
	}
	figure "$with: stacks of processes an interval" "$(cell median 2)" ""
	figure "  samples without their stack" "$(cell median 3)" %
	figure "  counts an interval" "$(cell median 4)" rows
	figure "  details an interval" "$(cell median 5)" rows
	figure "  CPU to resolve an interval, the first" "$(cell first 6)" ms
	figure "  CPU to resolve an interval" "$(cell median 6)" ms
	figure "  CPU to write an interval, the first" "$(cell first 7)" ms
	figure "  CPU to write an interval" "$(cell median 7)" ms
	figure "  file, the first interval" "$(cell first 8)" B
	figure "  file, an interval" "$(cell median 8)" B
	figure "  CPU to close" "$(cell close 7)" ms
	figure "  memory" "$(cell median 9)" B "with an interval at hand"
	rm -f "$dir"/scale.db*
done

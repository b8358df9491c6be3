#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measure weft beside its peers, on this machine, now: figures and ratios with
# the goals beside them. Nothing is asserted; run it on a quiet machine.
#
#   tools/bench/bench.sh [PART]...   (none: all of kernel, collector,
#                                bytes, rows, query, unwind, tables, names,
#                                measures)
#
# WEFT_BUILD      where weft and the loads were built (default build)
# BENCH_SECONDS   length of each run of bytes (default 60); others take at
#                 most so long, and 8 at most
# BENCH_PAIRS     how often a part alternates between us and the peer
# BENCH_PROGRAMS  which programs unwind measures (default all)
# BENCH_ALONE     set: kernel and its loads take the CPUs from all else, for a
#                 machine that is not quiet
# BENCH_ROWS      rows that rows writes (default 2000000)
# BENCH_SAMPLES   samples of the file that query asks (default 10000000)
# BENCH_FILE      that file; made if it is not there
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
WEFT_BUILD=$(cd "${WEFT_BUILD:-build}" && pwd)
export WEFT_BUILD

[ $# -gt 0 ] || set -- kernel collector bytes rows query unwind tables names \
	measures
for part; do
	if ! [ -f "$bench/part_$part.sh" ]; then
		echo "bench.sh: no part '$part'; there are kernel, collector," \
			"bytes, rows, query, unwind, tables, names, measures" >&2
		exit 2
	fi
done
echo "$(uname -sr), $(nproc) CPUs, load $(cut -d ' ' -f 1-3 /proc/loadavg)"
for part; do
	echo
	"$bench/part_$part.sh"
done

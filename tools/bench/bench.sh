#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Measure weft beside its peers, on this machine, now: figures and ratios with
# the goals beside them. Nothing is asserted; run it on a quiet machine.
#
#   tools/bench/bench.sh [--smoke] [--json FILE] [--write FILE] [PART]...
#   tools/bench/bench.sh --from FILE --write FILE
#
# Parts, with the minutes that each takes on two quiet CPUs:
#   kernel 6, split 4, collector 5, peers 18, slowdown 9, bytes 7, rows 1,
#   query 4, scale 3   what docs/performance.md has; these, where none is named
#   unwind 4, tables 1, names 2, measures 3
#   all                all of them
#
# --json FILE     also as JSON
# --write FILE    put the tables into a text, between the lines
#                 "<!-- bench: begin -->" and "<!-- bench: end -->"
# --from FILE     do not measure: take them from JSON that was written before
# --smoke         every part briefly, to see that it works; figures are none
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
# BENCH_INTERVALS intervals that scale makes up (default 20)
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
compared="kernel split collector peers slowdown bytes rows query scale"
others="unwind tables names measures"

usage() {
	echo "bench.sh: $1; there are: all, $compared $others" >&2
	exit 2
}

json=
write=
from=
while [ $# -gt 0 ]; do
	case $1 in
	--smoke) export BENCH_SMOKE=1 BENCH_PAIRS=1 BENCH_SECONDS=2 \
		BENCH_ROWS=50000 BENCH_SAMPLES=50000 BENCH_INTERVALS=2 ;;
	--json | --write | --from)
		[ $# -gt 1 ] || usage "$1 needs a file"
		eval "${1#--}=\$2"
		shift
		;;
	--*) usage "no option '$1'" ;;
	*) break ;;
	esac
	shift
done
if [ -n "$from" ]; then
	exec "$bench/report.py" --from "$from" ${write:+--write "$write"}
fi
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $compared
# shellcheck disable=SC2086
[ "$1" != all ] || set -- $compared $others
for part; do
	[ -f "$bench/part_$part.sh" ] || usage "no part '$part'"
done
WEFT_BUILD=$(cd "${WEFT_BUILD:-build}" && pwd)
export WEFT_BUILD

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export BENCH_FIGURES="$out/figures"
: >"$BENCH_FIGURES"

# fact NAME VALUE
fact() {
	printf '%s: %s\n' "$1" "$2"
	printf 'fact\t%s\t%s\n' "$1" "$2" >>"$BENCH_FIGURES"
}
# version_of COMMAND OPTION
version_of() {
	command -v "$1" >/dev/null || return 0
	fact "$(basename "$1")" "$("$@" 2>&1 | head -n 1)"
}
fact date "$(date -u +%Y-%m-%d)"
fact machine "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(
	nproc) CPUs, $(awk '/^MemTotal/ { printf "%.0f GB", $2 / 1e6 }' \
	/proc/meminfo), $(uname -sr)"
fact load "$(cut -d ' ' -f 1-3 /proc/loadavg)"
fact "runs of each" "${BENCH_PAIRS:-5}"
version_of "$WEFT_BUILD/weft" --version
version_of perf --version
version_of bpftrace --version
version_of nginx -v
version_of redis-server --version
# sh has no pipefail: a part that fails is told by its own status. The others'
# figures are worth having all the same.
begin=$(date +%s)
status=0
for part; do
	echo
	part_begin=$(date +%s)
	{ "$bench/part_$part.sh" || echo "$part" >>"$out/failed"; } |
		tee "$out/$part.txt"
	printf 'part\t%s\t%s\t%s\n' "$part" $(($(date +%s) - part_begin)) \
		"$out/$part.txt" >>"$BENCH_FIGURES"
done
echo
fact seconds $(($(date +%s) - begin))
fact "load at the end" "$(cut -d ' ' -f 1-3 /proc/loadavg)"
"$bench/report.py" --figures "$BENCH_FIGURES" ${json:+--json "$json"} \
	${write:+--write "$write"} || status=$?
if [ -f "$out/failed" ]; then
	echo "bench.sh: failed: $(tr '\n' ' ' <"$out/failed")" >&2
	status=1
fi
exit $status

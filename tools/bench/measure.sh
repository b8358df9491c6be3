# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# shellcheck disable=SC2034 # variables are for those who source this
#
# What the parts share: loads, medians, lines of a report. Source it; it sets
# $weft, $dir (removed at exit), $seconds and $pairs.

weft=$WEFT_BUILD/weft
load=$WEFT_BUILD/load
stopwatch=$WEFT_BUILD/bench/stopwatch
full_seconds=${BENCH_SECONDS:-60}
seconds=$((full_seconds < 8 ? full_seconds : 8))
slice=$((seconds < 4 ? seconds : 4))
pairs=${BENCH_PAIRS:-5}
part=$(basename "$0" .sh | sed 's/^part_//')
dir=$(mktemp -d)
load_pids=

# Loads run in process groups of their own: a compiler's children end too.
stop_load() {
	for pid in $load_pids; do
		kill -TERM "-$pid" 2>/dev/null || true
	done
	for pid in $load_pids; do
		wait "$pid" 2>/dev/null || true
	done
	load_pids=
}

measure_end() {
	stop_load
	rm -rf "$dir"
}
trap measure_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Put this session before others, if that is asked for: the kernel may share
# out CPU time among sessions first. For a shell of its own, too.
# (Under a real-time policy the inspectors would hardly run.)
# shellcheck disable=SC2016 # of that shell
put_first='[ -z "${BENCH_ALONE-}" ] || echo -20 >/proc/$$/autogroup || true'

if [ -n "${BENCH_ALONE-}" ]; then
	renice -n -20 -p $$ >/dev/null
	eval "$put_first"
fi

# start_on CPU COMMAND...: in the background, its output thrown away. Its
# session is there only after setsid.
start_on() {
	start_cpu=$1
	shift
	setsid sh -c "$put_first; exec \"\$@\"" start_on \
		taskset -c "$start_cpu" "$@" >/dev/null 2>&1 &
	load_pids="$load_pids $!"
}

cpus() {
	seq 0 $(($(nproc) - 1))
}

# The known load: a stack of depth 20 on every CPU.
start_deep() {
	for cpu in $(cpus); do
		start_on "$cpu" "$load/deep" 20 3600
	done
	sleep 0.5
}

needs_root() {
	[ "$(id -u)" -eq 0 ] && return
	echo "$1: needs root; left out" >&2
	exit 0
}

needs() {
	command -v "$1" >/dev/null && return
	echo "bench: no $1; tools/setup.sh bench installs it" >&2
	exit 1
}

ask() {
	sqlite3 -readonly "$1" "$2"
}

# quietly COMMAND...: show what it said only if it fails
quietly() {
	"$@" >"$dir/said" 2>&1 && return
	cat "$dir/said" >&2
	return 1
}

# thrice COMMAND...: a peer that crashes gets another chance; then the part fails
thrice() {
	chances=3
	until quietly "$@"; do
		chances=$((chances - 1))
		[ $chances -gt 0 ] || exit 1
		echo "$part: again: $*" >&2
	done
}

# Of a column of numbers: median, and the least and greatest.
median() {
	sort -g "$1" | awk '{ v[NR] = $1 }
		END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

spread() {
	sort -g "$1" | awk 'NR == 1 { low = $1 } { high = $1 }
		END { printf "%g to %g", low, high }'
}

title() {
	printf '== %s\n' "$1"
}

# note KIND FIELD...: for report.py, a line of fields
note() {
	[ -n "${BENCH_FIGURES-}" ] || return 0
	printf '%s' "$1"
	shift
	printf '\t%s' "$part" "$@"
	echo
} >>"${BENCH_FIGURES:-/dev/null}"

# figure NAME VALUE UNIT [NOTE]
figure() {
	printf '%-44s %12s %-6s %s\n' "$1" "$2" "$3" "${4-}"
	note figure "$1" "$2" "$3" "${4-}"
}

# over OURS THEIRS: ours as a part of theirs
over() {
	awk -v a="$1" -v b="$2" 'BEGIN {
		if (b > 0) printf "%.3f", a / b; else printf "-" }'
}

# ratio NAME OURS THEIRS GOAL [UNIT [PEER]]
ratio() {
	goal "$1" "$2" "$3" "$(over "$2" "$3")" "$4" "${5-}" "${6-}"
}

# goal NAME OURS THEIRS RATIO GOAL UNIT PEER: a ratio that was worked out
# otherwise than from the two. GOAL: what it is at most, or "at least" and what;
# empty: none is set.
goal() {
	printf '%-44s %12s %-6s %s\n' "$1" "$4" "" \
		"$2 : $3 $6 ($7)${5:+, goal: $5}"
	note goal "$@"
}

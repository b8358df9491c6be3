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
pairs=${BENCH_PAIRS:-3}
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

# put_first PID: its session before others, where the kernel shares out CPU
# time among sessions first.
put_first() {
	echo -20 >"/proc/$1/autogroup" 2>/dev/null || true
}

# start_on CPU COMMAND...: in the background, its output thrown away
start_on() {
	start_cpu=$1
	shift
	setsid taskset -c "$start_cpu" "$@" >/dev/null 2>&1 &
	load_pids="$load_pids $!"
	[ -z "${BENCH_ALONE-}" ] || put_first $!
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

# figure NAME VALUE UNIT [NOTE]
figure() {
	printf '%-44s %12s %-6s %s\n' "$1" "$2" "$3" "${4-}"
}

# ratio NAME OURS THEIRS GOAL: ours as a part of theirs
ratio() {
	figure "$1" "$(awk "BEGIN { printf \"%.3f\", $2 / $3 }")" "" \
		"goal: at most $4"
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What is measured gets slower by being measured: work done beside no recorder,
# weft, perf and bpftrace, in turn, each in a round of its own. The ratios are
# those of a round to the same round's run beside none.
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
# shellcheck source=tools/bench/programs.sh
. "$bench/programs.sh"
title "slowdown: $pairs rounds of $slice s"
needs_root slowdown
for program in perf bpftrace nginx wrk redis-server redis-benchmark; do
	needs $program
done
# shellcheck source=tools/bench/recorders.sh
. "$bench/recorders.sh"
tools="none weft perf bpftrace"

start_none() {
	:
}
start_weft() {
	rm -f "$dir"/s.db*
	# shellcheck disable=SC2046
	start_recording $(weft_command) -o "$dir/s.db"
}
start_perf() {
	# shellcheck disable=SC2046
	start_recording $(perf_command) -o "$dir/s.data"
}
start_bpftrace() {
	start_recording bpftrace -e "$(bpftrace_text)"
}

# start_recording COMMAND...: returns when it has perf events open
start_recording() {
	"$@" >"$dir/recorder.said" 2>&1 &
	recorders=$!
	tries=600
	until find "/proc/$recorders/fd" -lname 'anon_inode:\[perf_event\]' \
		2>/dev/null | grep . >"$dir/open"
	do
		tries=$((tries - 1))
		if [ $tries -eq 0 ] || ! kill -0 "$recorders"; then
			cat "$dir/recorder.said" >&2
			exit 1
		fi
		sleep 0.1
	done
	sleep 1
}

# Each prints: work per second, ms at the 99th percentile ("-": none).
run_cpu() {
	for cpu in $(cpus); do
		taskset -c "$cpu" "$load/work" 20 "$slice" \
			>"$dir/work.$cpu" &
		workers="${workers-} $!"
	done
	for pid in $workers; do
		wait "$pid"
	done
	workers=
	cat "$dir"/work.* | awk '{ n += $1; cpu += $2 }
		END { printf "%.0f - %.0f\n", n, cpu }'
}
run_nginx() {
	wrk -t 1 -c 8 -d "$slice" --latency -H 'Accept-Encoding: gzip' \
		http://127.0.0.1:18080/index.html >"$dir/wrk"
	awk '$1 == "99%" { p = $2 + 0
			if ($2 ~ /us$/) p /= 1000
			else if ($2 !~ /ms$/) p *= 1000 }
		$1 == "Requests/sec:" { n = $2 }
		END { printf "%.0f %.3f 0\n", n, p }' "$dir/wrk"
}
run_redis() {
	redis-benchmark -p 16379 -c 20 -n $((slice * 40000)) -r 100000 -t get \
		--csv 2>/dev/null | awk -F '"' '
		$2 == "GET" { printf "%.0f %.3f 0\n", $4, $14 }'
}

# rounds LOAD HZ
rounds() {
	hz=$2
	i=0
	while [ $i -lt "$pairs" ]; do
		for tool in $tools; do
			"start_$tool"
			"run_$1" >>"$dir/${tool}_$1_$hz"
			# What it has seen is thrown away.
			stop_recorders KILL
		done
		i=$((i + 1))
	done
}

# loss NAME TOOL FIELD: its ratio to none, round by round
loss() {
	paste -d ' ' "$dir/${2}_$1" "$dir/none_$1" |
		awk -v n="$3" '{ print $n / $(n + 3) }' >"$dir/loss"
	echo "$(median "$dir/loss") ($(spread "$dir/loss"))"
}

# report WORDS NAME WHAT
report() {
	printf '%-30s %-9s %12s %8s  %s\n' "$1" tool "$3/s" 'p99 ms' \
		"of none: $3/s; p99"
	for tool in $tools; do
		cut -d ' ' -f 1 "$dir/${tool}_$2" >"$dir/work"
		cut -d ' ' -f 2 "$dir/${tool}_$2" >"$dir/p99"
		work=$(median "$dir/work")
		p99=-
		slower=
		if ! grep -q '^-$' "$dir/p99"; then
			p99=$(median "$dir/p99")
			slower="; $(loss "$2" "$tool" 2)"
		fi
		slower="$(loss "$2" "$tool" 1)$slower"
		printf '%-30s %-9s %12s %8s  %s\n' '' "$tool" "$work" "$p99" \
			"$slower"
		note figure "$1: $tool: $3" "$work" 1/s "of none: $slower"
		note figure "$1: $tool: p99" "$p99" ms ""
	done
	if [ "$p99" != - ]; then
		tail_goal "$1" "$2" none 'none'
		tail_goal "$1" "$2" perf 'perf record'
	fi
}

# tail_goal WORDS NAME PEER PEER_WORDS
tail_goal() {
	paste -d ' ' "$dir/weft_$2" "$dir/${3}_$2" |
		awk '{ print $2 / $5 }' >"$dir/tails"
	cut -d ' ' -f 2 "$dir/weft_$2" >"$dir/ours"
	cut -d ' ' -f 2 "$dir/${3}_$2" >"$dir/theirs"
	goal "p99 of $1 beside weft" "$(median "$dir/ours")" \
		"$(median "$dir/theirs")" "$(median "$dir/tails")" \
		"$([ "$3" = none ] && echo "1 within noise: $(spread \
			"$dir/tails")" || echo 1)" ms "$4"
}

rounds cpu 997
[ -n "${BENCH_SMOKE-}" ] || rounds cpu 9999
serve_nginx
sleep 0.5
rounds nginx 997
stop_load
serve_redis
sleep 0.5
rounds redis 997
stop_load

report "CPU-bound, 997 Hz" cpu_997 units
[ -n "${BENCH_SMOKE-}" ] || report "CPU-bound, 9999 Hz" cpu_9999 units
report "nginx, 997 Hz" nginx_997 requests
report "redis-server, 997 Hz" redis_997 requests

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# weft, perf and bpftrace from start to answer, one after the other on the same
# loads: at four rates, with few stacks and 65,536, few processes and many.
#
# kernel    ns of a run of the BPF program, with the statistics' own cost
# CPU       of the recorder from start to end, and of weft within its intervals
# memory    of all its processes
# bytes     of the closed file; what bpftrace prints
# stop      from ^C to the recorder's end
# answer    what comes then, to the first answer: weft top; perf script
# kept      samples that can be seen at the end, of those that were due: 0 of
#           bpftrace where it prints nothing, for it fails at a stack's number
set -eu
bench=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tools/bench/measure.sh
. "$bench/measure.sh"
title "peers: from start to answer, $slice s, medians of $pairs"
needs_root peers
needs perf
needs bpftrace
# shellcheck source=tools/bench/recorders.sh
. "$bench/recorders.sh"
sysctl -q kernel.bpf_stats_enabled=1

start_few() {
	on_all "$load/deep" 20 3600
}
# All in one session, so that they do not outweigh a recorder by their number.
start_many() {
	for cpu in $(cpus); do
		# shellcheck disable=SC2016 # of the inner shell
		start_on "$cpu" sh -c 'n=0
			while [ $n -lt 16 ]; do
				"$0" 20 3600 &
				n=$((n + 1))
			done
			wait' "$load/deep"
	done
}
start_distinct() {
	on_all "$load/stacks" 16 3600
}

# The shell's text for ctrl_c to run before it interrupts process $0.
look=". '$bench/cost.sh'; cost \"\$0\" >'$dir/cost'"

# timed READY ANSWER COMMAND...: to $dir/timed; as ctrl_c. bpftrace may be late.
once() {
	status=0
	"$WEFT_BUILD/bench/ctrl_c" "$@" >"$dir/out" || status=$?
	# What the recorder said stands before it.
	tail -n 1 "$dir/out" >"$dir/timed"
	[ $status -eq 0 ] || { [ $status -eq 124 ] && [ "$5" = bpftrace ]; }
}
timed() {
	ready=$1
	answer=$2
	shift 2
	thrice once "$ready" "$slice" "$look" "$answer" "$@"
}

# line NAME BYTES SAMPLES SECONDS INSIDE_MS: what there is to know of a run
line() {
	read -r ready stop answer cpu kb <"$dir/timed"
	kernel=$(awk '{ if ($2 > 0) printf "%.0f", $1 / $2; else print "-" }' \
		"$dir/cost")
	echo "$kernel $cpu $5 $kb $2 $stop $answer" \
		"$(awk -v n="$3" -v seconds="$4" -v all="$((hz * $(nproc)))" '
			BEGIN { due = seconds * all
				printf "%.2f", due ? 100 * n / due : 0 }')" \
		"$ready" \
		>>"$dir/of_$1"
}

# weft_run NAME OPTION...
weft_run() {
	name=$1
	shift
	rm -f "$dir"/w.db*
	# shellcheck disable=SC2046
	timed notify "'$weft' top -i '$dir/w.db' >'$dir/answer'" $(weft_command) "$@" \
		-o "$dir/w.db"
	ask "$dir/w.db" "SELECT (SELECT sum(count) FROM stack_total),
			sum(end_ns - start_ns) / 1e9, sum(self_cpu_ns) / 1e6
		FROM interval" | tr '|' ' ' >"$dir/inside"
	read -r samples recorded inside <"$dir/inside"
	line "$name" "$(stat -c %s "$dir/w.db")" "$samples" "$recorded" "$inside"
}

run_weft() {
	weft_run "weft_$1"
}
run_shape() {
	weft_run "shape_$1" --detail off
}

run_perf() {
	rm -f "$dir/p.data"
	# shellcheck disable=SC2046
	timed events "perf script -i '$dir/p.data' >'$dir/answer' 2>&1" \
		$(perf_command) -o "$dir/p.data"
	perf script -i "$dir/p.data" -F time 2>/dev/null | awk '
		NF { t = $1 + 0; if (!n++) first = t; last = t }
		END { print n, last - first }' >"$dir/inside"
	read -r samples recorded <"$dir/inside"
	line "perf_$1" "$(stat -c %s "$dir/p.data")" "$samples" "$recorded" -
}

# It is killed where it names stacks for longer than 20 s: what it would
# have said is then not known.
run_bpftrace() {
	timed events '' bpftrace -o "$dir/b.txt" -e "$(bpftrace_text)"
	samples=$(awk '/\]: [0-9]+$/ { n += $NF } END { print n + 0 }' \
		"$dir/b.txt")
	line "bpftrace_$1" "$(stat -c %s "$dir/b.txt")" "$samples" "$slice" -
}

# column NAME NUMBER: its median
column() {
	cut -d ' ' -f "$2" "$dir/of_$1" >"$dir/column"
	if grep -q '^-$' "$dir/column"; then
		echo -
	else
		median "$dir/column"
	fi
}

# round LOAD RATE TOOL...
round() {
	round_load=$1
	hz=$2
	shift 2
	"start_$round_load"
	sleep 0.5
	for tool; do
		"run_$tool" "${round_load}_$hz"
	done
	stop_load
}

heading() {
	printf '%-26s %-9s %7s %8s %8s %8s %9s %8s %8s %7s\n' load tool kernel \
		CPU inside memory bytes stop answer kept
	printf '%-26s %-9s %7s %8s %8s %8s %9s %8s %8s %7s\n' '' '' ns ms ms \
		kB '' ms ms %
}

# table WORDS LOAD RATE TOOL...
table() {
	table_words=$1
	table_of=${2}_$3
	shift 3
	for tool; do
		name=${tool}_$table_of
		printf '%-26s %-9s %7s %8s %8s %8s %9s %8s %8s %7s\n' \
			"$table_words" "$tool" "$(column "$name" 1)" \
			"$(column "$name" 2)" "$(column "$name" 3)" \
			"$(column "$name" 4)" "$(column "$name" 5)" \
			"$(column "$name" 6)" "$(column "$name" 7)" \
			"$(column "$name" 8)"
		n=1
		for of in "kernel ns" "CPU ms" "CPU ms inside" "memory kB" \
			bytes "stop ms" "answer ms" "kept %" "start ms"; do
			note figure "$table_words: $tool: $of" \
				"$(column "$name" $n)" "" ""
			n=$((n + 1))
		done
	done
}

# answer_goal WORDS LOAD_RATE: from ^C to the answer
answer_goal() {
	paste -d ' ' "$dir/of_weft_$2" "$dir/of_perf_$2" | awk '{
		print $6 + $7 > "'"$dir"'/ours"; print $15 + $16 > "'"$dir"'/theirs"
		print ($6 + $7) / ($15 + $16) > "'"$dir"'/ratio" }'
	goal "^C to answer, $1" "$(median "$dir/ours")" \
		"$(median "$dir/theirs")" "$(median "$dir/ratio")" 0.1 ms \
		"perf record + perf script"
}

rates=${BENCH_SMOKE:+997}
rates=${rates:-99 997 4999 9999}
highest=${rates##* }
i=0
while [ $i -lt "$pairs" ]; do
	for rate in $rates; do
		round few "$rate" weft shape perf bpftrace
	done
	round many 997 weft perf bpftrace
	for rate in $(echo "$rates" | tr ' ' '\n' | grep -x -e 997 -e 9999); do
		round distinct "$rate" weft perf bpftrace
	done
	i=$((i + 1))
done

heading
for rate in $rates; do
	table "few stacks, $rate Hz" few "$rate" weft shape perf bpftrace
done
table "$((16 * $(nproc))) processes, 997 Hz" many 997 weft perf bpftrace
for rate in $(echo "$rates" | tr ' ' '\n' | grep -x -e 997 -e 9999); do
	table "65,536 stacks, $rate Hz" distinct "$rate" weft perf bpftrace
done
echo "shape: weft --detail off"
answer_goal "few stacks, 997 Hz" few_997
answer_goal "65,536 stacks, 997 Hz" distinct_997
[ "$highest" != 997 ] || exit 0
answer_goal "few stacks, $highest Hz" "few_$highest"
# Without detail, which follows samples.
grown() {
	ratio "$1, at $highest Hz and at 99" \
		"$(column "shape_few_$highest" "$2")" \
		"$(column shape_few_99 "$2")" "" "$3" "99 Hz"
}
grown "growth of kernel ns of a sample" 1 ns
grown "growth of collector CPU, --detail off" 3 ms
grown "growth of bytes, --detail off" 5 B

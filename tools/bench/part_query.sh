#!/bin/sh
# SPDX-License-Identifier: MIT
#
# How long questions to a sealed file of very many samples take, from the
# start of the program to its end. The file is made once and kept.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
samples=${BENCH_SAMPLES:-10000000}
file=${BENCH_FILE:-$WEFT_BUILD/bench/$samples.db}
runs=5
title "query: ms of $runs runs (least, median, greatest), $samples samples"

[ -f "$file" ] || "$WEFT_BUILD/bench/generate" "$file" "$samples"
figure "file" "$(stat -c %s "$file")" B "$file"

# time_of WORDS GOAL COMMAND...
time_of() {
	words=$1
	goal=$2
	shift 2
	"$stopwatch" $runs "$@" 2>"$dir/said" >"$dir/time" || {
		cat "$dir/said" >&2
		exit 1
	}
	awk -v words="$words" -v goal="$goal" -F '\t' '{
		printf "%-44s %9.1f %9.1f %9.1f  %s\n", words, $1, $2, $3,
			goal ? "goal: under " goal : "" }' "$dir/time"
	middle=$(cut -f 2 "$dir/time")
	if [ -n "$goal" ]; then
		note goal "$words, $samples samples" "$middle" "$goal" \
			"$(over "$middle" "$goal")" 1 ms "the goal"
	else
		note figure "$words, $samples samples" "$middle" ms ""
	fi
}

# The trace with the most samples; one of so many.
largest=$(ask "$file" 'SELECT hex FROM trace ORDER BY samples DESC, id LIMIT 1')
some() {
	ask "$file" "SELECT hex FROM trace WHERE samples <= $1
		ORDER BY samples DESC, id LIMIT 1"
}
samples_of() {
	ask "$file" "SELECT samples FROM trace WHERE hex = '$1'"
}
sql() {
	sql_words=$1
	shift
	time_of "$sql_words" "" "$weft" sql -i "$file" "$@"
}

for id in "$largest" "$(some 150)" "$(some 30)" "$(some 1)"; do
	time_of "weft trace, $(samples_of "$id") samples" 50 \
		"$weft" trace -i "$file" "$id"
done
id=$(some 150)
time_of "weft top" 1000 "$weft" top -i "$file"
time_of "weft top --by stack" 1000 "$weft" top --by stack -i "$file"
time_of "weft top --by process" 1000 "$weft" top --by process -i "$file"
time_of "weft traces" 1000 "$weft" traces -i "$file"
time_of "weft diff --slow 99" 5000 "$weft" diff --slow 99 -i "$file"
time_of "weft diff, cut in the middle" 5000 "$weft" diff --after "+$((samples / 20000))" -i "$file"
time_of "weft loss" "" "$weft" loss -i "$file"
time_of "weft timeline --trace" "" "$weft" timeline --trace "$id" -i "$file"
time_of "weft export --format folded" "" \
	"$weft" export --format folded -i "$file"

stack=$(ask "$file" 'SELECT stack_id FROM sample_sealed WHERE id = 4567')
from=$(ask "$file" "SELECT time_ns FROM sample_sealed
	WHERE id = $((samples / 10))")
for view in samples trace_stacks trace_profile; do
	sql "$view of a trace" "SELECT * FROM $view WHERE trace_id = '$id'"
done
sql "stack_traces of a stack" \
	"SELECT * FROM stack_traces WHERE stack_id = $stack"
sql "samples of a stack, counted" \
	"SELECT count(*), sum(weight) FROM samples WHERE stack_id = $stack"
sql "samples of 100 ms" "SELECT * FROM samples
	WHERE time_ns BETWEEN $from AND $from + 100000000"
sql "hot_stacks, first 20" "SELECT * FROM hot_stacks LIMIT 20"
sql "hot_functions, first 20" "SELECT * FROM hot_functions LIMIT 20"

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run each fuzz target for FUZZ_SECONDS (600), on what was found before
# (build/fuzz-corpus) and what is checked in (corpus/). Prints, for each, what
# it ran; an input that does harm is kept in build/fuzz-found, and the end is
# non-zero. FUZZ_TARGETS: names of those to run, all by default. FUZZ_DISTIL=N:
# afterwards corpus/ gets the N smallest of the least that reaches all that was
# reached.
set -u
cd "$(dirname "$0")/../.." || exit
build=${FUZZ_BUILD:-build/fuzz/fuzz}
seconds=${FUZZ_SECONDS:-600}
corpora=${FUZZ_CORPUS:-build/fuzz-corpus}
found=build/fuzz-found
targets=${FUZZ_TARGETS:-$(cd tests/fuzz && echo f_*.c | sed 's/f_//g; s/\.c//g')}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM
export TMPDIR="$scratch"
status=0

# The largest input that is tried.
limit() {
	case $1 in
	dwarf | elf | package | sites | table) echo 65536 ;;
	recording) echo 289 ;;
	kallsyms | maps) echo 16384 ;;
	*) echo 4096 ;;
	esac
}

# Long inputs from the start, where short ones say nothing?
growth() {
	case $1 in
	recording) echo 0 ;;
	*) echo 100 ;;
	esac
}

# of_log NAME: of libFuzzer's statistics
of_log() {
	sed -n "s/^stat::$1: *//p" "$log" | tail -n 1
}

# figure NAME VALUE
figure() {
	echo "# figure: fuzz_${target}_$1 ${2:-unknown}"
}

search() {
	"$build/search_$target" -max_total_time="$seconds" \
		-timeout=25 -rss_limit_mb=3072 \
		-max_len="$(limit "$target")" -print_final_stats=1 \
		-len_control="$(growth "$target")" \
		-artifact_prefix="$found/$target-" \
		"$corpora/$target" "$checked_in" >"$log" 2>&1
}

distil() {
	mkdir "$scratch/least"
	if "$build/search_$target" -merge=1 -timeout=25 \
		-max_len="$(limit "$target")" "$scratch/least" \
		"$checked_in" "$corpora/$target" >"$log" 2>&1; then
		find "$scratch/least" -type f -size -5 -printf '%s %p\n' |
			sort -n | head -n "$FUZZ_DISTIL" | cut -d ' ' -f 2 |
			xargs -r cp -t "$checked_in"
	fi
	rm -rf "$scratch/least"
}

mkdir -p "$found"
for target in $targets; do
	log=$found/$target.log
	checked_in=tests/fuzz/corpus/$target
	mkdir -p "$corpora/$target" "$checked_in"
	begun=$(date +%s)
	search
	rc=$?
	figure seconds $(($(date +%s) - begun))
	figure executions "$(of_log number_of_executed_units)"
	figure coverage "$(sed -n 's/.* cov: \([0-9]*\).*/\1/p' "$log" |
		tail -n 1)"
	figure new "$(of_log new_units_added)"
	figure crashes $((rc != 0))
	if [ $rc -ne 0 ]; then
		status=1
		echo "fuzz: $target found something; see $log" >&2
		grep -E 'ERROR|SUMMARY|runtime error|Test unit' "$log" >&2
	elif [ "${FUZZ_DISTIL-}" ]; then
		distil
	fi
done
exit $status

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A recorder to which the kernel says no: the first, the second, the third ...
# bpf(), perf_event_open(), openat() or mmap() of its loop fails, and likewise
# each piece of memory that it asks for, until a recording passes untouched.
# It never crashes, hangs or leaves a file that is damaged or does not add up;
# where it gives up it says so. FAULTS=all in the environment tries each call
# (of memory each of the first 64, then fewer); without it fewer the later they
# come. What fails within SQLite is for tests/unit/t_store_faults.c.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

command -v strace >/dev/null || live_skip "needs strace to make calls fail"
strace -qq -o /dev/null true 2>/dev/null || live_skip "strace may not trace"

# A target that is there, and does little.
background sh -c 'while :; do sleep 0.01; done'
target=$!
db="$dir/faults.db"
tried=0
refused=0
wrong=0

# wrong_with FILE: what is damaged, if anything
wrong_with() {
	[ -s "$1" ] || return 0
	state=$(sqlite3 -readonly "$1" "PRAGMA integrity_check" 2>&1 | head -n 1)
	[ "$state" = ok ] || echo "integrity: $state"
	# One whose tables were still being made has no recording.
	[ "$(sqlite3 -readonly "$1" "SELECT count(*) FROM recording" \
		2>/dev/null)" = 1 ] || return 0
	[ "$(sqlite3 -readonly "$1" <"$tests/live/ledger.sql" |
		ledger_differs)" = 0 ] || echo "the ledger is off"
}

# attempt WHAT COMMAND...: record, with COMMAND before it
attempt() {
	what=$1
	shift
	rm -f "$db"*
	status=0
	timeout -s KILL 120 "$@" "$WEFT_BUILD/weft-record" -q -p $target \
		-d 0.2 --interval 0.1 -o "$db" >"$dir/out" 2>"$dir/err" ||
		status=$?
	tried=$((tried + 1))
	why=$(wrong_with "$db")
	case $status in
	0) ;;
	1 | 2 | 3)
		refused=$((refused + 1))
		grep -q '^weft record: .* .* ' "$dir/err" ||
			why="$why; nothing is said"
		head -n 1 "$dir/err" | sed "s,$dir,DIR,g; s/[0-9][0-9]*/N/g" \
			>>"$dir/messages"
		;;
	127) # before our first line
		grep -q "loading shared libraries" "$dir/err" ||
			why="$why; status 127"
		;;
	*) why="$why; status $status" ;;
	esac
	[ -n "$why" ] || return 0
	wrong=$((wrong + 1))
	echo "$what: $why; it says:" | say
	head -n 3 "$dir/err" | say
}

# next N [SPARSE]: which one to try after the N-th; fewer beyond SPARSE
next() {
	case ${FAULTS:-} in
	all) echo $(($1 + 1 + $1 / ${2:-1000000})) ;;
	*) echo $(($1 + 1 + $1 / 4)) ;;
	esac
}

# total KIND: what came of it
total() {
	echo "$1: $tried tried, $refused ended the recording" | say
	echo "# figure: faults_$1 $tried"
	echo "# figure: faults_wrong $wrong"
	check "$1: each may fail ($tried tried): no crash, no hang, a whole file" \
		"$(is $wrong = 0)"
	tried=0
	refused=0
	wrong=0
}

# each_call CALL ERROR FIRST: of the loop's thread
each_call() {
	n=$3
	while :; do
		attempt "$1 $n" strace -qq -o "$dir/trace" -e trace="$1" \
			-e inject="$1:error=$2:when=$n"
		grep -q INJECTED "$dir/trace" || break
		n=$(next "$n")
	done
	total "$1"
}

each_memory() {
	n=1
	while :; do
		rm -f "$dir/failed"
		attempt "memory $n" env FAIL_MEMORY_AT="$n" \
			FAIL_MEMORY_LOG="$dir/failed" \
			LD_PRELOAD="$WEFT_BUILD/fault/fail_memory.so"
		[ -e "$dir/failed" ] || break
		n=$(next "$n" 64)
	done
	total memory
}

# Those before main() are the loader's.
strace -qq -o "$dir/trace" -e trace=mmap,openat "$WEFT_BUILD/weft-record" \
	--version >/dev/null
each_call perf_event_open EMFILE 1
each_call bpf ENOMEM 1
each_call openat EMFILE $(($(grep -c openat "$dir/trace") + 1))
strace -qq -o "$dir/trace" -e trace=mmap "$WEFT_BUILD/weft-record" \
	--version >/dev/null
each_call mmap ENOMEM $(($(grep -c mmap "$dir/trace") + 1))
each_memory
rm -f "$db"*
sort "$dir/messages" | uniq -c | say
check "what it says is not one message for all" \
	"$(is "$(sort -u "$dir/messages" | wc -l)" -ge 5)"

live_done

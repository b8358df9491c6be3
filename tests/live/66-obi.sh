#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The map that OBI pins: absent, empty, of another shape, and as it should be,
# with a program that fills it as OBI does. All in a mount namespace with a bpf
# file system of its own, so that what the machine has pinned is not touched.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"
# shellcheck source=tests/live/ids.sh
. "$(dirname "$0")/ids.sh"
live_apart

seconds=${OBI_SECONDS:-3}
obi="$load/older/obi"
pin=/sys/fs/bpf/otel/traces_ctx_v1

# record NAME COMMAND [OPTION...]: what it says in $dir/NAME.log
record() {
	name=$1
	command=$2
	shift 2
	# shellcheck disable=SC2086 # words
	"$weft" record -F 2999 --detail 1/1 -o "$dir/$name.db" "$@" -- \
		$command >"$dir/$name.log" 2>&1 || echo "exit status $?" |
		say
	say <"$dir/$name.log"
	judge "$name"
}
# says NAME WORDS: 1 if weft record did
says() {
	grep -c -m 1 -- "$2" "$dir/$1.log" || true
}
# doctor_says WORDS
doctor_says() {
	"$weft" doctor >"$dir/doctor" 2>&1 || true
	grep 'OBI' "$dir/doctor" | say >&2
	grep -c -m 1 -- "$1" "$dir/doctor" || true
}

record absent "$obi burn 1"
check "no map is there: nothing is said of it, and none is pinned" "$(both \
	"$(is "$(says absent OBI)" = 0)" "$(is "$(figure absent 2)" = 0)")"
check "none is left behind" "$([ ! -e "$pin" ] && echo 1 || echo 0)"
check "doctor: OBI is not there" "$(doctor_says 'OBI.*pins no map')"

record made "$obi burn 1" --obi always
check "--obi always pins one" "$([ -e "$pin" ] && echo 1 || echo 0)"
check "of one that stays empty it says so, and why" \
	"$(says made 'is there, but empty.*POPULATE_TRACE_CONTEXT')"
check "doctor says it, too" "$(doctor_says 'empty')"

record right "$obi fill $seconds"
check "right: $(figure right 2) IDs, each of the sampled thread and whole" \
	"$(both "$(is "$(figure right 2)" -gt 0)" \
		"$(is "$(figure right 3)" = 0.0)")"
check "a thread that works for nobody has none" \
	"$(is "$(figure right 4)" = 0.0)"
check "all IDs are OBI's" "$(is "$(figure right 6)" = none,obi)"
check "what is in it is not called empty" "$(is "$(says right empty)" = 0)"
check_ledger "$dir/right.db"

record off "$obi fill 1" --obi off
check "--obi off reads none" "$(is "$(figure off 2)" = 0)"

record left "$obi left 1"
check "an entry of the program before an exec is nobody's" \
	"$(both "$(is "$(figure left 1)" -gt 0)" \
		"$(is "$(figure left 2)" = 0)")"

rm "$pin"
"$obi" pin 32
record shape "$obi burn 1"
check "another shape: a warning that says which, and the recording goes on" \
	"$(both "$(says shape 'not as OBI.*values of 32 bytes')" \
		"$(is "$(figure shape 1)" -gt 0)")"
check "it is left as it is" "$([ -e "$pin" ] && echo 1 || echo 0)"
check "doctor says it" "$(doctor_says 'not as OBI')"

"$weft" record --obi perhaps -- true >"$dir/out" 2>&1 && status=0 || status=$?
check "--obi takes three words" "$(both "$(is "$status" = 2)" \
	"$(grep -c -m 1 'takes auto, off or always' "$dir/out" || true)")"

live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The judge of 25-whole-stacks.sh, on stacks made by hand: each that is not
# the known chain must be found wrong, and none that is.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=0
failed=0

# Frames by one letter: s _start, m main, a b c of ours, l of libc, v of the
# vDSO, u without a name, p in a stub, j made at run time.
facts() {
	awk -v stack="$1" -v status="$2" -v ended="$3" -v chain="$4" '
	function name(x) {
		if (x == "u" || x == "p")
			return ""
		return x == "s" ? "_start" : x == "m" ? "main" : "chain_" x
	}
	BEGIN {
		OFS = "\t"
		exe = "/x/load/unwind/gcc"
		print "T", 7, "gcc/mode", chain
		print "P", exe, 16, 32
		n = split(stack, letter, "")
		for (i = 1; i <= n; i++) {
			x = letter[i]
			if (x == "l")
				print "F", 1, "elf", "/lib/libc.so.6", 99, ""
			else if (x == "v")
				print "F", 1, "vdso", "[vdso]", 99, "clock"
			else if (x == "j")
				print "F", 1, "jit", "", 4096, ""
			else
				print "F", 1, "elf", exe, (x == "p" ? 20 : 99),
					name(x)
		}
		print "S", 7, 1, 5, status, ended
	}'
}

# judged VERDICT CHAIN STACK [STATUS [ENDED]]
judged() {
	count=$((count + 1))
	facts "$3" "${4:-complete}" "${5:-marked}" "$2" |
		awk -f "$here/25-whole-stacks.awk" | awk -F '\t' '
		BEGIN { split("x x x whole right start lost pending wrong", word, " ") }
		$1 == "MODE" {
			for (i = 4; i <= 9 && !$i; i++)
				;
			print (i <= 9 ? word[i] : "absent")
		}' >"$dir/verdict"
	if [ "$(cat "$dir/verdict")" = "$1" ]; then
		echo "ok $count - $3 ${4-} of $2 is $1"
	else
		echo "# found: $(cat "$dir/verdict")"
		echo "not ok $count - $3 ${4-} of $2 is $1"
		failed=1
	fi
}

plain='_start;~;main;chain_a+2;chain_b;chain_c'
judged whole "$plain" slmabc
judged right "$plain" slmab
judged right "$plain" slma
judged right "$plain" slmalv
judged right "$plain" slmalp
judged start "$plain" sl
judged start "$plain" l
judged start "$plain" slll
judged wrong "$plain" slmalll   # more of the library than it calls
judged wrong "$plain" slmabl    # one that calls nothing of it
judged wrong "$plain" slmbc     # a caller is missing
judged wrong "$plain" slmac     # another is
judged wrong "$plain" smabc     # one of the library is
judged wrong "$plain" lmabc     # the root is
judged wrong "$plain" mabc      # all before main is
judged wrong "$plain" slmabbc   # one too many
judged wrong "$plain" slmaubc   # an unknown one
judged wrong "$plain" slmabcu   # a leaf without a name
judged wrong "$plain" sslmabc   # made up beyond the root
judged wrong "$plain" slmabcc   # beyond the leaf
judged wrong "$plain" slmabc broken fault
judged wrong "$plain" bc broken no_frame
judged wrong "$plain" bc truncated depth # not so deep as to be cut
judged lost "$plain" l broken fault
judged lost "$plain" sl broken fault
judged wrong "$plain" l broken table_pending
judged wrong "$plain" u broken fault
judged absent "$plain" '' no_user
judged wrong "$plain" slmabc broken table_pending
judged whole '_start;~;main;chain_a*3;chain_b' slmaaab
judged right '_start;~;main;chain_a*3;chain_b' slmaa
judged wrong '_start;~;main;chain_a*3;chain_b' slmaab
judged wrong '_start;~;main;chain_a*3;chain_b' slmaaaab
judged whole 'chain_a;~;chain_b|chain_a;~;~;chain_b' alb
judged whole 'chain_a;~;chain_b|chain_a;~;~;chain_b' allb
judged right 'chain_a;~;chain_b|chain_a;~;~;chain_b' al
judged wrong 'chain_a;~;chain_b|chain_a;~;~;chain_b' alllb
judged whole 'chain_a;%;chain_b' ajb
judged wrong 'chain_a;%;chain_b' ab
judged wrong 'chain_a;%;chain_b' alb
judged whole '!chain_a' a broken no_frame
judged wrong '!chain_a' ba broken no_frame
judged wrong '!chain_a' a
deep=$(printf '%127s' '' | tr ' ' a)
judged right '_start;chain_a*200;chain_b' "$deep" truncated depth
judged whole '_start;chain_a*200;chain_b' "${deep#a}b" truncated depth
judged wrong '_start;chain_a*200;chain_b' "b${deep#a}" truncated depth
judged wrong '_start;chain_a*200;chain_b' "$deep"
judged wrong '_start;chain_a*100;chain_b' "$deep" truncated depth
echo "1..$count"
exit "$failed"

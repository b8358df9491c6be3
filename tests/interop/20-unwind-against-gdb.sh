#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Programs as they come from Debian, stopped at random instants: the walk that
# the kernel program does, in a copy that runs in user space, against gdb's,
# frame by frame.
#
# UNWIND_STOPS    how often each program is stopped (default 40)
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
interop="$tests/interop"
stops=${UNWIND_STOPS:-40}
command -v gdb >/dev/null || live_skip "needs gdb"

# Called through wait_for.
# shellcheck disable=SC2317
is_stopped() {
	! grep -L '^State:.*[Tt] (' /proc/"$1"/task/*/status | grep -q .
}

ours() {
	"$WEFT_BUILD/unwind/compare" --print "$1" |
		sed 's/^THREAD \([0-9]*\) \(.*\)/thread\t\1\nend\t\2/
			s/^ *0x/frame\t0x/'
}

theirs() {
	gdb -nx -batch -p "$1" -ex 'set debuginfod enabled off' \
		-x "$interop/gdb-frames.py" 2>>"$dir/gdb.log" |
		grep -E '^(thread|frame)	'
}

# against_gdb NAME COMMAND...: stop it often, compare, judge
against_gdb() {
	name=$1
	shift
	background "$@" >/dev/null 2>&1
	program=$!
	sleep 1
	: >"$dir/compared"
	i=0
	while [ $i -lt "$stops" ]; do
		i=$((i + 1))
		sleep "0.0$(shuf -i 10-99 -n 1)"
		kill -STOP $program
		wait_for 10 is_stopped $program
		ours $program >"$dir/ours"
		theirs $program >"$dir/theirs"
		kill -CONT $program
		awk -f "$interop/compare-frames.awk" "$dir/ours" "$dir/theirs" \
			>>"$dir/compared"
	done
	kill -KILL $program
	grep -v ^total "$dir/compared" | sed "s/^/$name: /" | sort | uniq -c | say
	awk -F '\t' '$1 == "total" { for (i = 2; i <= 5; i++) sum[i] += $i }
		END { print sum[2], sum[3], sum[4], sum[5] }' "$dir/compared" \
		>"$dir/sums"
	read -r stacks equal_stacks frames equal_frames <"$dir/sums"
	echo "$name: $stacks stacks, $equal_stacks equal; $frames frames," \
		"$equal_frames equal" | say
	check "$name: at least 99.5 % of frames are as gdb has them" \
		"$(both "$(is "$frames" -ge $((stops * 3)))" \
			"$(is $((equal_frames * 1000)) -ge $((frames * 995)))")"
}

cat >"$dir/work.py" <<'PYTHON'
import json, re
def walk(n, text):
    if n:
        return sorted(walk(n - 1, text), key=lambda x: (len(x), x))
    return re.findall(r"[a-z]+", json.dumps(json.loads(text)))
while True:
    walk(12, '{"a": ["some", "words", {"of": "text"}, 1.5, null]}' )
PYTHON
cat >"$dir/work.pl" <<'PERL'
sub walk {
	my ($n, @words) = @_;
	return $n ? sort { length $a <=> length $b or $a cmp $b }
		walk($n - 1, @words) : map { s/(.)(.)/$2$1/gr } @words;
}
while (1) { walk(12, split / /, "some words of a text that is sorted") }
PERL
against_gdb python3 /usr/bin/python3 "$dir/work.py"
against_gdb perl /usr/bin/perl "$dir/work.pl"
against_gdb sqlite3 sqlite3 :memory: "WITH RECURSIVE n(i) AS
	(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
	SELECT i % 1000, count(*), group_concat(i) FROM n GROUP BY 1 ORDER BY 3"
against_gdb openssl openssl speed -seconds 600 ecdsap256
against_gdb xz xz -c -T2 /dev/urandom
live_done

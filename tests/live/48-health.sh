#!/bin/sh
# SPDX-License-Identifier: MIT
#
# weft record --health says each interval how recording goes: a file that is
# whole whenever it is read, whose figures are those of the recording, under
# the names that `weft loss --prometheus` has for them.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# well_formed FILE: 1 if each line is a comment or a metric with a number, each
# metric has its help and its type before it, and none comes twice
well_formed() {
	awk '
	/^# HELP [a-z_]+ ./ { help[$3]++; next }
	/^# TYPE [a-z_]+ (gauge|counter)$/ { type[$3]++; next }
	/^[a-z_]+([{][a-z]+="[^"]*"(,[a-z]+="[^"]*")*[}])? [0-9.e+-]+$/ {
		name = $1
		sub(/[{].*/, "", name)
		key = $0
		sub(/ [^ ]*$/, "", key)
		bad += help[name] != 1 || type[name] != 1 || seen[key]++
		lines++
		next
	}
	{ bad++ }
	END { print (lines > 20 && !bad) + 0 }' "$1"
}

# value FILE LINE_UP_TO_THE_NUMBER
value() {
	awk -v key="$2" 'substr($0, 1, length(key) + 1) == key " " {
		print $NF }' "$1"
}

background "$load/spin" 600 1 >/dev/null
target=$!
health="$dir/weft.prom"
echo "somebody's" >"$dir/victim"
ln -s victim "$health.tmp"
background "$weft" record -q --interval 0.1 -p $target -o "$dir/a.db" \
	--health "$health"
recorder=$!
# What is read while it is being replaced is whole, or not there yet.
read_often() {
	reads=0
	torn=0
	while [ $reads -lt 60 ]; do
		cp "$health" "$dir/now" 2>/dev/null || true
		if [ -s "$dir/now" ]; then
			reads=$((reads + 1))
			[ "$(well_formed "$dir/now")" = 1 ] || torn=$((torn + 1))
		fi
		sleep 0.02
	done
}
wait_for 60 test -s "$health"
read_often
cp "$dir/now" "$dir/open.prom"
check "while recording: 60 times it was read whole (torn: $torn)" \
	"$(is $torn = 0)"
check "while recording: it says so" \
	"$(is "$(value "$dir/open.prom" weft_recording_open)" = 1)"
check "intervals are counted" \
	"$(is "$(value "$dir/open.prom" weft_intervals_total)" -gt 1)"
check "a link in its place is not followed" \
	"$(is "$(cat "$dir/victim")" = "somebody's")"
check "all may read it" "$(is "$(stat -c %a "$health")" = 644)"
kill -INT "$recorder"
status=0
wait "$recorder" || status=$?
check "recording ended as usual" "$(is $status = 0)"
check "the end is told" \
	"$(is "$(value "$health" weft_recording_open)" = 0)"
check "nothing is left beside it" \
	"$(if [ -e "$health.tmp" ]; then echo 0; else echo 1; fi)"

"$weft" loss --prometheus "$dir/a.db" >"$dir/loss.prom"
check "all that weft loss says of the ledger it says, too" "$(is \
	"$(grep '^weft_ledger_total' "$dir/loss.prom" |
		grep -vxFc -f "$health")" = 0)"
check "intervals: as many as in the recording" "$(is \
	"$(value "$health" weft_intervals_total)" = \
	"$(value "$dir/loss.prom" weft_intervals_total)")"
check "metrics that both have mean the same" "$(is "$(awk '
	$1 == "#" && FNR == NR { said[$2, $3] = $0; next }
	$1 == "#" && ($2, $3) in said && said[$2, $3] != $0' \
	"$dir/loss.prom" "$health" | wc -l)" = 0)"

status=0
"$weft" record -q -d 1 -p $target -o "$dir/b.db" \
	--health "$dir/no/weft.prom" 2>"$dir/err" || status=$?
say <"$dir/err"
check "a place where it cannot be is refused" "$(both "$(is $status = 1)" \
	"$(is "$(grep -c "$dir/no/weft.prom" "$dir/err")" = 1)")"

live_done

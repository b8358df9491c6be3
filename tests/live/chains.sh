# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154 # variables are live.sh's
#
# Recording programs of known call chains and judging their stacks, for those
# who have sourced live.sh.

# chains_record EARLY RUNS: record commands, a line each: those of EARLY one
# after the other, so that all files' tables are there, then those of RUNS, as
# many at a time as there are CPUs. Only these are judged; each prints pid,
# variant/mode and chain.
chains_record() {
	cat >"$dir/run_all" <<-'RUN'
		xargs -L 1 env <"$1" >/dev/null 2>>"$3/errors"
		sleep 0.5
		xargs -L 1 -P "$(nproc)" env <"$2" >>"$3/out" 2>>"$3/errors"
	RUN
	"$weft" record -q -F 4999 --detail off -o "$dir/unwind.db" -- \
		sh "$dir/run_all" "$1" "$2" "$dir" 2>&1 | say
	say <"$dir/errors"
	check "each of $(wc -l <"$2") programs ran to its end" "$(both \
		"$(is "$(wc -l <"$dir/out")" = "$(wc -l <"$2")")" \
		"$(is "$(wc -c <"$dir/errors")" = 0)")"
	check_ledger "$dir/unwind.db"
}

# chains_stubs FILE PATH: where a file, as mapped, has PLT stubs; they have no
# names.
chains_stubs() {
	readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' |
		awk '$1 ~ /^\.i?plt/ { print $4, $5 }' |
		while read -r offset size; do
			printf 'P\t%s\t%d\t%d\n' "$2" "0x$offset" \
				"$((0x$offset + 0x$size))" >>"$dir/stubs"
		done
}

chains_judge() {
	{
		sed 's/^/T	/' "$dir/out"
		cat "$dir/stubs"
		sqlite3 -readonly "$dir/unwind.db" \
			<"$tests/live/25-whole-stacks.sql"
	} >"$dir/facts"
	awk -f "$tests/live/25-whole-stacks.awk" "$dir/facts" >"$dir/judged"
}

# chains_check VARIANT [PER_MILLE]: print its figures, a line for each mode, and
# the most frequent of its wrong stacks; of no mode may any be wrong, or so many,
# and only 1 % lost. Too few samples would show nothing, and most of them must be
# in the innermost.
chains_check() {
	awk -F '\t' -v variant="$1/" 'index($2, variant) == 1 && $1 == "MODE" {
		printf "%-36s %5d samples, %5d whole, %d right, %d outside main, " \
			"%d lost, %d pending, %d WRONG\n", $2, $3, $4, $5, $6,
			$7, $8, $9 }
		' "$dir/judged" | say
	awk -F '\t' -v variant="$1/" 'index($2, variant) == 1 &&
		$1 == "WRONG" { print $3 "\t" $2 "\t" $4 "\t" $5 }' "$dir/judged" |
		sort -rn | cut -c -400 | head -n 20 | say
	check "$1: every stack equals the known chain${2:+, but for $2 in 1000}" \
		"$(awk -F '\t' -v variant="$1/" -v most="${2:-0}" '
			index($2, variant) != 1 || $1 != "MODE" { next }
			{ modes++ }
			$9 * 1000 > most * $3 || $7 > $3 / 100 || $4 < 20 ||
				$4 < $3 / 2 || $6 > $3 / 10 { bad = 1 }
			END { print (modes > 0 && !bad) }' "$dir/judged")"
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Of 32-bit code the innermost frame is known, and the stack says that it ends
# there: nothing is read off its stack as if that were 64-bit code's.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

"$load/code_32" 1 ||
	live_skip "this kernel has no code segment of 32-bit programs"
"$weft" record -q --detail off -U -o "$dir/code.db" -- "$load/code_32" 2 \
	2>"$dir/err" || say <"$dir/err"
check_ledger "$dir/code.db"

# Samples of the program by their innermost function, why the stack ended, and
# how many frames it has.
sqlite3 -readonly -separator ' ' "$dir/code.db" "
	SELECT ifnull(g.name, '-'), ifnull(s.ended, '-'),
		(SELECT count(*) FROM stack_frame f
			WHERE f.stack_id = t.stack_id), sum(t.count)
	FROM stack_total t JOIN stack s ON s.id = t.stack_id
	JOIN process p ON p.id = t.process_id AND p.comm = 'code_32'
	LEFT JOIN stack_frame sf ON sf.stack_id = t.stack_id AND sf.position = 0
	LEFT JOIN frame_function ff
		ON ff.frame_id = sf.frame_id AND ff.inline_depth = 0
	LEFT JOIN function g ON g.id = ff.function_id
	GROUP BY 1, 2, 3 ORDER BY 4 DESC" >"$dir/leaves"
say <"$dir/leaves"
n=$(awk '$1 == "code_32_loop" { n += $4 } END { print n + 0 }' "$dir/leaves")
alone=$(awk '$1 == "code_32_loop" && $2 == "compat" && $3 == 1 { n += $4 }
	END { print n + 0 }' "$dir/leaves")
others=$(awk '$1 != "code_32_loop" && $2 == "compat" { n += $4 }
	END { print n + 0 }' "$dir/leaves")
check "32-bit code: $n samples have its name, $alone of them nothing else and say why" \
	"$(both "$(is "$n" -ge 100)" "$(is "$n" = "$alone")")"
check "32-bit code: $others samples of other code say the same" \
	"$(is "$others" = 0)"
live_done

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A Go program: methods, closures and generics have the names that Go gives
# them, with the lines of the source, and what was inlined is told.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"
command -v go >/dev/null || live_skip "needs go"

cat >"$dir/names.go" <<'GO'
package main

import "time"

var sink uint64

func burn(n uint64) uint64 {
	for i := uint64(0); i < 400000; i++ {
		n = n*31 ^ i
	}
	return n
}

type left struct{ n uint64 }

//go:noinline
func (l *left) Method(n uint64) uint64 { return burn(n) + l.n }

//go:noinline
func Generic[T uint32 | uint64](t T) uint64 { return burn(uint64(t)) }

//go:noinline
func call(f func(uint64) uint64, n uint64) uint64 { return f(n) }

func main() {
	l := &left{1}
	end := time.Now().Add(3 * time.Second)
	for time.Now().Before(end) {
		sink += l.Method(sink)
		sink += Generic(sink)
		sink += call(func(n uint64) uint64 { return burn(n) ^ sink }, sink)
	}
}
GO
GOCACHE="$dir/cache" GO111MODULE=off go build -o "$dir/names" "$dir/names.go"
"$weft" record -q --detail off -U -o "$dir/go.db" -- "$dir/names" 2>&1 | say
check_ledger "$dir/go.db"

# Leaves of the program: what its functions are called, innermost first.
sqlite3 -readonly -separator ' ' "$dir/go.db" "
	SELECT replace(chain, ' ', '_'), is_lined, sum(t.count)
	FROM stack_total t
	JOIN process p ON p.id = t.process_id AND p.comm = 'names'
	JOIN stack_node n ON n.id = t.stack_id
	JOIN (SELECT frame_id, group_concat(name, '<') AS chain,
		min(line > 0 AND file LIKE '%/names.go') AS is_lined FROM (
		SELECT ff.frame_id, g.name, ff.line, g.file
		FROM frame_function ff JOIN function g ON g.id = ff.function_id
		ORDER BY ff.frame_id, ff.inline_depth) GROUP BY 1) c
		USING (frame_id)
	GROUP BY 1, 2 ORDER BY 3 DESC" >"$dir/leaves"
say <"$dir/leaves"
for chain in 'main.(*left).Method' 'main.Generic[go.shape.uint64_0]' \
	main.main.func1; do
	n=$(awk -v chain="main.burn<$chain" '$1 == chain && $2 { n += $3 }
		END { print n + 0 }' "$dir/leaves")
	check "$chain has its name, lines and what was inlined ($n samples)" \
		"$(is "$n" -ge 20)"
done
n=$(awk '$1 ~ /^main[.]/ && $1 !~ /^main[.](main$|burn<main[.]((\(\*left\)[.]Method|Generic\[.*\]|main[.]func1)$))/ {
	n += $3 } END { print n + 0 }' "$dir/leaves")
check "no other function of its package has samples ($n)" "$(is "$n" -le 5)"
live_done

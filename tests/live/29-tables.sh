#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tables are of files as they are: one that is written over gets a new table,
# one that is deleted keeps its own. And there is a limit to them: what does
# not fit is counted and goes by frame pointer, what is not in use makes room.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

first="$load/unwind/gcc-O2-pie"
second="$load/unwind/gcc-O0-nopie"

# share FILE WHERE: of the samples in main of programs, those that are whole
share() {
	sql "$1" "SELECT cast(ifnull(100.0 * sum(t.count)
		FILTER (WHERE s.status = 'complete') / sum(t.count), 0) AS INT)
		FROM stack_total t JOIN stack s ON s.id = t.stack_id
		JOIN process p ON p.id = t.process_id
		WHERE s.status <> 'no_user' AND $2"
}

# ---- one name, one inode, two programs after each other
cat >"$dir/over" <<'RUN'
cp "$2" "$1/prog"
"$1/prog" deep-20 0.5
"$1/prog" deep-20 1 # its table is there
cat "$3" >"$1/prog"
"$1/prog" deep-20 0.5
"$1/prog" deep-20 1
cp "$2" "$1/gone"
"$1/gone" deep-20 1.5 &
sleep 0.7
rm "$1/gone"
wait
RUN
"$weft" record -q --detail off -o "$dir/over.db" -- \
	sh "$dir/over" "$dir" "$first" "$second" >"$dir/out" 2>&1 || say <"$dir/out"
check_ledger "$dir/over.db"
whole=$(share "$dir/over.db" "p.comm = 'prog' AND s.ended <> 'table_pending'")
sql "$dir/over.db" "SELECT p.id, s.status, s.ended, sum(t.count)
	FROM stack_total t JOIN stack s ON s.id = t.stack_id
	JOIN process p ON p.id = t.process_id WHERE p.comm IN ('prog', 'gone')
	GROUP BY 1, 2, 3" | say
check "a program written over has the stacks of what it is now ($whole %)" \
	"$(is "$whole" -ge 98)"
# All frames of recursion are there, in both.
wrong=$(sql "$dir/over.db" "SELECT count(*) FROM
	(SELECT p.id, max(s.depth) AS deepest FROM stack_total t
	JOIN stack s ON s.id = t.stack_id JOIN process p ON p.id = t.process_id
	WHERE p.comm = 'prog' AND s.status = 'complete'
	GROUP BY p.id HAVING deepest < 20)")
check "no run of it lacks the recursion" "$(is "$wrong" = 0)"
whole=$(share "$dir/over.db" "p.comm = 'gone' AND s.ended <> 'table_pending'")
check "a deleted program keeps its stacks ($whole %)" "$(is "$whole" -ge 98)"

# ---- siblings born without exec: all that tells their memory apart is inside
# the kernel. The libraries differ in nothing but the size of a frame.
for size in 64 4096; do
	cc -O1 -fomit-frame-pointer -fPIC -shared -nostartfiles -DSIZE=$size \
		-x c -o "$dir/$size.so" - <<-'CODE'
		void spin(unsigned long n);
		void spin(unsigned long n)
		{
			volatile char room[SIZE];
			volatile unsigned long x = 0;
			room[0] = room[SIZE - 1] = 1;
			for (unsigned long i = 0; i < n; i++)
				x += i * i + room[0];
		}
	CODE
done
"$weft" record -q --detail off -o "$dir/siblings.db" -- taskset -c 0 \
	"$load/prefork" 30 "$dir/64.so" "$dir/4096.so" >"$dir/out" 2>&1 || say <"$dir/out"
check_ledger "$dir/siblings.db"
for name in first second; do
	right=$(share "$dir/siblings.db" "p.comm = '$name'
		AND s.ended <> 'table_pending'")
	shallow=$(sql "$dir/siblings.db" "SELECT ifnull(sum(t.count), 0)
		FROM stack_total t JOIN stack s ON s.id = t.stack_id
		JOIN process p ON p.id = t.process_id
		WHERE p.comm = '$name' AND s.status = 'complete' AND s.depth < 4")
	check "siblings, $name library: whole ($right %), and none too short ($shallow)" \
		"$(both "$(is "$right" -ge 98)" "$(is "$shallow" = 0)")"
done

# ---- more files than fit: each copy is a file, of at least 48 kB of table
cat >"$dir/many" <<'RUN'
i=10
while [ $i -lt 60 ]; do
	cp "$2" "$1/many$i"
	"$1/many$i" deep-20 0.2
	i=$((i + 1))
done
RUN
"$weft" record --interval 0.2 --max-tables 1M --detail off \
	-o "$dir/many.db" -- sh "$dir/many" "$dir" "$first" \
	>"$dir/out" 2>"$dir/err"
say <"$dir/err"
check_ledger "$dir/many.db"
refused=$(entry "$dir/many.db" table_refused)
check "files that found no room are counted ($refused) and told" \
	"$(both "$(is "$refused" -gt 0)" \
		"$(grep -q 'raise --max-tables' "$dir/err" && echo 1 || echo 0)")"
with=$(sql "$dir/many.db" "SELECT count(DISTINCT p.comm) FROM stack_total t
	JOIN stack s ON s.id = t.stack_id JOIN process p ON p.id = t.process_id
	WHERE p.comm LIKE 'many%' AND s.status = 'complete' AND s.depth > 20")
echo "# $with of 50 programs had a table"
check "what is not in use makes room: more had a table than fit at a time" \
	"$(is "$with" -gt 25)"
check "without room stacks go by frame pointer, and say so" \
	"$(is "$(sql "$dir/many.db" "SELECT count(*) FROM stack
		WHERE ended = 'no_frame'")" -gt 0)"

live_done

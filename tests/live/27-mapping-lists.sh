#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Stacks are whole on a kernel whose own tree of mappings is not known, where
# lists made in user space take its place: of programs that keep no frame
# pointer, of a child that never called exec, and through a library that was
# loaded while the program ran.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

chain="$load/unwind/gcc-O2-pie"
make -C "$tests/.." --no-print-directory B="$WEFT_BUILD" "$chain" \
	"$load/unwind/plugin_a.so" >"$dir/log" 2>&1 || {
	say <"$dir/log"
	echo "Bail out! the programs could not be built"
	exit 1
}

# Times are of CPU, not of the clock: the machine may have other things to do.
cat >"$dir/late.pl" <<'PERL'
sub burn {
	my $end = (times)[0] + $_[0] * $ARGV[0];
	while ((times)[0] < $end) { my $x = 0; $x += $_ * $_ for 1 .. 1000 }
}
burn(1);
my $child = fork;
if (!$child) {
	print "forked $$\n";
	burn(3);
	exit;
}
require List::Util;
print "late $$\n";
List::Util::first(sub { burn(3); 1 }, 1);
waitpid($child, 0);
PERL
# Once before the rest, so that the files' tables are there.
cat >"$dir/run_all" <<'RUN'
"$1" deep-20 0.1 early >/dev/null
"$1" lazy 0.1 early >/dev/null
perl "$2/late.pl" 0.1 >/dev/null
sleep 0.5
for mode in deep-20 thread signal-alt lazy; do
	"$1" $mode 3 | sed "s/\([0-9]*\).*/$mode \1/"
done
perl "$2/late.pl" 1
RUN
WEFT_MAPPINGS=list "$weft" record -F 997 --detail off -o "$dir/list.db" -- \
	sh "$dir/run_all" "$chain" "$dir" >"$dir/programs" 2>"$dir/log"
say <"$dir/log"
check "it is said that mappings are followed from user space" "$(
	grep -c 'mappings are followed from user space' "$dir/log")"
check_ledger "$dir/list.db"

# Of each program's user samples, how many are whole; the shell's, before it
# became the program, count too.
while read -r program pid; do
	echo "INSERT INTO program VALUES ('$program', $pid);"
done <"$dir/programs" >"$dir/insert"
sqlite3 -readonly "$dir/list.db" >"$dir/figures" <<SQL
.separator ' '
CREATE TEMP TABLE program (name, pid);
$(cat "$dir/insert")
CREATE TEMP TABLE counted AS
SELECT g.name, t.stack_id, s.status, s.ended, sum(t.count) AS count
FROM program g JOIN process p ON p.pid = g.pid
JOIN stack_total t ON t.process_id = p.id
JOIN stack s ON s.id = t.stack_id
WHERE s.status <> 'no_user' GROUP BY 1, 2, 3, 4;
SELECT 'whole', name,
       sum(CASE WHEN status IN ('complete', 'truncated') THEN count ELSE 0 END),
       sum(count)
FROM counted GROUP BY name;
SELECT 'ended', name, ended, sum(count) FROM counted GROUP BY name, ended;
CREATE TEMP TABLE deep AS
SELECT c.count, f.address, ifnull(n.name, '') AS name, c.stack_id
FROM counted c JOIN stack_frame sf ON sf.stack_id = c.stack_id
JOIN frame f ON f.id = sf.frame_id
LEFT JOIN frame_function ff ON ff.frame_id = f.id
LEFT JOIN function n ON n.id = ff.function_id
WHERE c.name = 'deep-20' AND c.status = 'complete';
SELECT 'chain', sum(count), sum(CASE WHEN levels = 20 AND starts = 1
	THEN count ELSE 0 END)
FROM (SELECT count, sum(name = 'chain_level') AS levels,
             sum(name = '_start') AS starts
        FROM deep GROUP BY stack_id HAVING sum(name = 'chain_leaf'));
SELECT 'late', sum(c.count)
FROM counted c WHERE c.name = 'late' AND c.status = 'complete' AND EXISTS
  (SELECT 1 FROM stack_frame sf JOIN frame f ON f.id = sf.frame_id
   JOIN binary b ON b.id = f.binary_id
   WHERE sf.stack_id = c.stack_id AND b.path LIKE '%/List/Util/Util.so');
SQL
say <"$dir/figures"
figure() {
	awk -v a="$1" -v b="$2" -v column="$3" \
		'$1 == a && (b == "" || $2 == b) { n = $column }
		END { print n + 0 }' "$dir/figures"
}
for program in deep-20 thread signal-alt lazy forked late; do
	whole=$(figure whole $program 3)
	all=$(figure whole $program 4)
	check "$program: at least 95 % of its stacks are whole" \
		"$(both "$(is "$all" -ge 300)" \
			"$(is $((100 * whole)) -ge $((95 * all)))")"
done
check "deep-20: stacks to its innermost function have all 20 callers" \
	"$(both "$(is "$(figure chain '' 2)" -ge 300)" \
		"$(is "$(figure chain '' 2)" = "$(figure chain '' 3)")")"
check "late: stacks through the library that was loaded late are whole" \
	"$(is "$(figure late '' 2)" -ge 300)"

live_done

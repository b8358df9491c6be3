#!/bin/sh
# SPDX-License-Identifier: MIT
#
# JIT code whose address is used again: samples have the name of the code that
# was there in their interval, none is renamed, and what the perf map did not
# tell in time stays without a name. Also of processes in a pid namespace, for
# whom the maps that lie around outside are others'.
# JIT_MODES: how code is replaced ("swap late"; all: swap grow anew late).
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# Of each interval, samples by the name of their innermost frame, if that is
# JIT code.
leaves="CREATE TEMP TABLE leaf AS
	SELECT p.inner_pid, i.start_ns, i.end_ns, f.id AS frame_id, f.address,
	       f.version, ifnull(n.name, '-') AS name, sum(c.count) AS count
	FROM stack_count c JOIN interval i ON i.id = c.interval_id
	JOIN process p ON p.id = c.process_id
	JOIN stack_frame sf ON sf.stack_id = c.stack_id AND sf.position = 0
	JOIN frame f ON f.id = sf.frame_id
	JOIN binary b ON b.id = f.binary_id AND b.kind = 'jit'
	LEFT JOIN frame_function ff ON ff.frame_id = f.id
	LEFT JOIN function n ON n.id = ff.function_id
	GROUP BY i.id, c.process_id, f.id"

# figures FILE FIRST SECOND <OUTPUT: of jit's run, what is right and wrong in
# the intervals before and after the change of code. What the map says a
# little later than an interval's end may still count for it.
figures() {
	read -r pid address before after
	echo "# pid $pid, code at $address, changed at $before to $after"
	sqlite3 "$1" >"$dir/figures" <<-SQL
		.separator ' '
		$leaves;
		SELECT 'first', ifnull(sum(count) FILTER (WHERE name = '$2'), 0),
		       ifnull(sum(count) FILTER (WHERE name NOT IN ('$2', '-')), 0)
		FROM leaf WHERE end_ns < $before - 700000000;
		SELECT 'second', ifnull(sum(count) FILTER (WHERE name = '$3'), 0),
		       ifnull(sum(count) FILTER (WHERE name NOT IN ('$3', '-')), 0)
		FROM leaf WHERE start_ns > $after;
		SELECT 'nameless', ifnull(sum(count), 0) FROM leaf
		WHERE name = '-' AND (start_ns > $after OR '$2' <> '-');
		SELECT 'not_read', ifnull(sum(count), 0) FROM ledger
		WHERE entry = 'jit_not_read';
		SELECT 'named', name, count(DISTINCT frame_id), sum(count)
		FROM leaf GROUP BY name;
		SELECT 'shared', count(*) FROM (SELECT 1 FROM leaf
			GROUP BY address HAVING count(DISTINCT version) = 2);
	SQL
	say <"$dir/figures"
}
# figure NAME COLUMN
figure() {
	awk -v name="$1" -v column="$2" '$1 == name { n = $column }
		END { print n + 0 }' "$dir/figures"
}
# check_named WHAT: the figures just made
check_named() {
	check "$1: of $(figure first 2) samples before, $(figure first 3) have another name" \
		"$(both "$(is "$(figure first 2)" -ge 20)" \
			"$(is "$(figure first 3)" = 0)")"
	check "$1: of $(figure second 2) samples after, $(figure second 3) have another name" \
		"$(both "$(is "$(figure second 2)" -ge 20)" \
			"$(is "$(figure second 3)" = 0)")"
	check "$1: $(figure nameless 2) samples have none, and are counted ($(figure not_read 2))" \
		"$(is "$(figure nameless 2)" -le "$(figure not_read 2)")"
	check "$1: one address has two frames" \
		"$(is "$(figure shared 2)" -ge 1)"
}

# shellcheck disable=SC2086 # words
for mode in ${JIT_MODES:-swap late}; do
	"$weft" record -q --interval 0.2 --detail off -o "$dir/$mode.db" -- \
		"$load/jit" $mode 3 $mode >"$dir/out" 2>"$dir/err" || say <"$dir/err"
	check_ledger "$dir/$mode.db"
	first=${mode}_first
	[ $mode != late ] || first=-
	figures "$dir/$mode.db" "$first" ${mode}_second <"$dir/out"
	check_named $mode
done

# Recorded again, with nothing to tell of what was: a process that is still
# there has frames in the file already.
background "$load/jit" swap 6 twice >"$dir/out"
jit=$!
wait_for 10 test -s "/tmp/perf-$jit.map"
"$weft" record -q --interval 0.2 --detail off -d 3 -p $jit \
	-o "$dir/twice.db" 2>&1 | say
wait_for 10 test -s "$dir/out"
"$weft" record -q --interval 0.2 --detail off -d 3 -p $jit --append \
	-o "$dir/twice.db" 2>&1 | say
figures "$dir/twice.db" twice_first twice_second <"$dir/out"
check_named "added to a file"

# A map that leads to a file which may be anybody's.
background "$load/jit" swap 60 trap >/dev/null
jit=$!
wait_for 10 test -s "/tmp/perf-$jit.map"
echo "0 7fffffffffff secret" >"$dir/secret"
ln -sf "$dir/secret" "/tmp/perf-$jit.map"
"$weft" record --detail off -d 1 -p $jit -o "$dir/trap.db" 2>"$dir/err"
rm -f "/tmp/perf-$jit.map"
kill $jit
say <"$dir/err"
check "a map that is a link is not read, and its process is named" \
	"$(both "$(grep -c "process $jit: its perf map is not read" "$dir/err")" \
		"$(is "$(sql "$dir/trap.db" "SELECT count(*) FROM function
			WHERE name = 'secret'")" = 0)")"

# ---- two of them, both number 1 in a pid namespace, with a /tmp of their own.
# Outside lie maps for 1 and for the numbers that they have here.
if [ -e /tmp/perf-1.map ]; then
	echo "# SKIP of namespaces: /tmp/perf-1.map is somebody's"
	live_done
fi
trap 'rm -f /tmp/perf-1.map $lies; live_end' EXIT
lies=
echo "0 7fffffffffff lie" >/tmp/perf-1.map
cat >"$dir/contained" <<'RUN'
# JIT NAME: in its namespaces; the program is hidden by the new /tmp
exec 9<"$1"
mount --make-rprivate /
mount -t tmpfs none /tmp
exec /proc/self/fd/9 swap 3 "$2"
RUN
cat >"$dir/both" <<'RUN'
# DIR JIT
for name in one two; do
	unshare --pid --fork --mount --mount-proc \
		sh "$1/contained" "$2" $name >"$1/$name" &
	eval "$name=$!"
done
for parent in $one $two; do
	pid=
	until [ "$pid" ]; do
		pid=$(tr -d ' ' <"/proc/$parent/task/$parent/children") || exit
	done
	echo "0 7fffffffffff lie" >"/tmp/perf-$pid.map"
	chown 4321 "/tmp/perf-$pid.map"
	echo "/tmp/perf-$pid.map"
done
wait
RUN
"$weft" record -q --interval 0.2 --detail off -o "$dir/both.db" -- \
	sh "$dir/both" "$dir" "$load/jit" >"$dir/out" 2>"$dir/err" || say <"$dir/err"
lies=$(tr '\n' ' ' <"$dir/out")
check_ledger "$dir/both.db"
for name in one two; do
	figures "$dir/both.db" ${name}_first ${name}_second <"$dir/$name" >/dev/null
	sqlite3 "$dir/both.db" "$leaves; SELECT inner_pid, name, sum(count)
		FROM leaf GROUP BY 1, 2" | say
	n=$(sqlite3 "$dir/both.db" "$leaves; SELECT count(*) FROM leaf
		WHERE name <> '-' AND (inner_pid IS NOT 1 OR name NOT IN
		('one_first', 'one_second', 'two_first', 'two_second'))")
	check "$name: named by its own map ($(figure first 2), $(figure second 2) samples), nobody by others' ($n)" \
		"$(both "$(both "$(is "$(figure first 2)" -ge 20)" \
			"$(is "$(figure second 2)" -ge 20)")" \
			"$(is "$n" = 0)")"
done

live_done

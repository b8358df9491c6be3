#!/bin/sh
# SPDX-License-Identifier: MIT
#
# BPF programs that are loaded and unloaded while weft records, each run by a
# process of its name, each where the one before may have been: a frame has
# the name of the program that was there in its interval, or none.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# figures FILE: leaves in the kernel of processes spin_*: of the program of
# that name, of another of them, and not named
figures() {
	sqlite3 -readonly "$1" <<'SQL'
.separator ' '
CREATE TEMP TABLE leaf AS
SELECT t.count, p.comm, g.name
FROM stack_total t
JOIN process p ON p.id = t.process_id
JOIN stack_node n ON n.id = t.stack_id
JOIN frame f ON f.id = n.frame_id
LEFT JOIN frame_function ff ON ff.frame_id = f.id
LEFT JOIN function g ON g.id = ff.function_id
WHERE f.in_kernel AND p.comm GLOB 'spin_*';
SELECT 'right', ifnull(sum(count), 0) FROM leaf
WHERE name GLOB 'bpf_prog_*_' || comm;
SELECT 'wrong', ifnull(sum(count), 0) FROM leaf
WHERE name GLOB 'bpf_prog_*_spin_*' AND name NOT GLOB 'bpf_prog_*_' || comm;
SELECT 'unnamed', ifnull(sum(count), 0) FROM leaf WHERE name IS NULL;
SELECT 'named', comm, sum(count) FROM leaf
WHERE name GLOB 'bpf_prog_*_' || comm GROUP BY comm;
SQL
}
figure() {
	awk -v want="$1" '$1 == want { print $2 }' "$dir/figures"
}

# Each for longer than two intervals, so that one is all its own.
"$weft" record -q -F 499 -o "$dir/slow.db" -- \
	"$load/bpf_spin" 2600 spin_a spin_b spin_a >"$dir/addresses"
check_ledger "$dir/slow.db"
say <"$dir/addresses"
figures "$dir/slow.db" >"$dir/figures"
say <"$dir/figures"
check "programs loaded while recording are named" \
	"$(is "$(grep -c '^named' "$dir/figures")" = 2)"
check "no program has the name of one that was there before" \
	"$(is "$(figure wrong)" = 0)"

# Many in each interval.
set -- 60
for _ in 1 2 3 4 5 6 7; do
	set -- "$@" spin_a spin_b spin_c
done
"$weft" record -q -F 997 -o "$dir/fast.db" -- "$load/bpf_spin" "$@" \
	>"$dir/addresses"
check_ledger "$dir/fast.db"
figures "$dir/fast.db" >"$dir/figures"
say <"$dir/figures"
check "many in one interval: none has another's name" \
	"$(is "$(figure wrong)" = 0)"
check "and they were seen" \
	"$(is "$(($(figure right) + $(figure unnamed)))" -gt 300)"

# The recorder is held up between reading the clock and ending the interval:
# what was loaded meanwhile is counted in it.
LATE_MS=500 LD_PRELOAD="$WEFT_BUILD/fault/late.so" "$weft" record -q -F 499 \
	--interval 0.3 -o "$dir/late.db" -- "$load/bpf_spin" 200 \
	spin_a spin_b spin_c spin_a spin_b spin_c spin_a spin_b >"$dir/addresses"
check_ledger "$dir/late.db"
figures "$dir/late.db" >"$dir/figures"
say <"$dir/figures"
check "ended late: none has another's name" "$(is "$(figure wrong)" = 0)"
check "and they were seen" \
	"$(is "$(($(figure right) + $(figure unnamed)))" -gt 300)"

# One that was there before weft.
"$load/bpf_spin" 60000 spin_a >"$dir/addresses" &
live_children="$live_children $!"
wait_for 10 grep -q spin_a "$dir/addresses"
"$weft" record -q -a -F 499 -d 2 -o "$dir/before.db"
kill -KILL $!
check_ledger "$dir/before.db"
figures "$dir/before.db" >"$dir/figures"
say <"$dir/figures"
check "one that was there before is named" \
	"$(is "$(grep -c '^named' "$dir/figures")" = 1)"
check "and none has another's name" "$(is "$(figure wrong)" = 0)"

# A kernel that hides its addresses, as with kernel.kptr_restrict=2: that is said,
# its frames have no names, those of programs do.
if unshare -m true 2>/dev/null; then
	sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms >"$dir/hidden"
	cat >"$dir/run.sh" <<-'SH'
	"$1" 1 >/dev/null
	dd if=/dev/zero of=/dev/null bs=1 count=500000 2>/dev/null
	SH
	# shellcheck disable=SC2016 # the inner shell's words
	unshare -m sh -c 'mount --bind "$0" /proc/kallsyms && exec "$@"' \
		"$dir/hidden" "$weft" record -F 1999 -o "$dir/hidden.db" -- \
		sh "$dir/run.sh" "$load/spin" 2>"$dir/log"
	say <"$dir/log"
	check_ledger "$dir/hidden.db"
	check "hidden addresses: said once, and by which sysctl" \
		"$(is "$(grep -c kernel.kptr_restrict "$dir/log")" = 1)"
	same "hidden addresses: no kernel frame has a name, programs have" \
		"$dir/hidden.db" "SELECT max(f.in_kernel), total(f.in_kernel AND
		EXISTS (SELECT 1 FROM frame_function ff WHERE ff.frame_id =
		f.id)), (SELECT count(*) > 0 FROM function WHERE name = 'main')
		FROM frame f" "1|0.0|1"
else
	echo "# skipped: no mount namespace to hide addresses in"
fi

live_done

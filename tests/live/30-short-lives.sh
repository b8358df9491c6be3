#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Processes that live for milliseconds are known: a compile of this project's
# own store, of which every compiler, assembler and linker must appear.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

# What is generated, by few and long lives, is there already.
mkdir "$dir/build"
cp -a "$WEFT_BUILD/gen" "$dir/build/"
"$weft" record -q -F 1999 -o "$dir/make.db" -- \
	make -C "$tests/.." --no-print-directory B="$dir/build" \
	"$dir/build/store.a" "$dir/build/tests/t_store_names" \
	>"$dir/log" 2>&1 || say <"$dir/log"
check_ledger "$dir/make.db"
sqlite3 -readonly "$dir/make.db" >"$dir/figures" <<'SQL'
.mode list
.separator ' '
CREATE TEMP TABLE user AS
SELECT t.count, p.comm, f.in_kernel, b.kind
FROM stack_total t
JOIN stack s ON s.id = t.stack_id
JOIN process p ON p.id = t.process_id
LEFT JOIN stack_node n ON n.id = t.stack_id
LEFT JOIN frame f ON f.id = n.frame_id
LEFT JOIN binary b ON b.id = f.binary_id
WHERE s.status <> 'no_user' AND s.status <> 'lost';
SELECT 'samples', sum(count) FROM user;
SELECT 'named_process', sum(count) FROM user WHERE comm <> '';
SELECT 'known_leaf', sum(count) FROM user WHERE kind <> 'unknown';
SELECT 'both', sum(count) FROM user WHERE comm <> '' AND kind <> 'unknown';
SELECT 'program', comm, sum(count) FROM user GROUP BY comm
ORDER BY 3 DESC LIMIT 12;
SQL
say <"$dir/figures"
figure() {
	awk -v want="$1" '$1 == want { print $2 }' "$dir/figures"
}
check "at least 95 % of user samples have a named process and a known leaf" \
	"$(is $((100 * $(figure both))) -ge $((95 * $(figure samples))))"
for program in cc1 as ld; do
	check "$program appears" "$(is "$(sql "$dir/make.db" \
		"SELECT count(*) FROM process WHERE comm = '$program'")" -gt 0)"
done

live_done

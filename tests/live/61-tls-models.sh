#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Whatever way a program was built: an ID is the sampled thread's own. Writers
# of each way run at the same time, their IDs say process, thread and number;
# a writer that changes its record while it is valid must be found out, or
# none of it proves anything.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

seconds=${TLS_SECONDS:-4}
tls="$load/tls"

# writer NAME STYLE PROGRAM [LIBRARY]: a line of $dir/writers
writer() {
	echo "$1	$2	$tls/$3${4:+	$tls/$4}" >>"$dir/writers"
}

writer exe-gnu-pie swap exe-glibc-gnu-pie
writer exe-gnu-nopie place exe-glibc-gnu-nopie
writer exe-gnu2-pie place exe-glibc-gnu2-pie
writer exe-gnu2-nopie swap exe-glibc-gnu2-nopie
writer exe-static swap exe-glibc-gnu-static
writer exe-static-pie place exe-glibc-gnu2-staticpie
writer exe-lld swap exe-glibc-gnu-pie-lld
writer start-gnu swap start-glibc-gnu
writer start-gnu2 place start-glibc-gnu2
writer start-initial-exec place start-glibc-ie
writer open-gnu place opener-glibc lib-glibc-gnu.so
writer open-gnu2 swap opener-glibc lib-glibc-gnu2.so
writer open-gnu2-large place opener-glibc lib-glibc-gnu2-large.so
writer open-gnu2-full swap opener-glibc lib-glibc-gnu2.so
writer open-initial-exec swap opener-glibc lib-glibc-ie.so
writer open-by-name swap opener-glibc lib-glibc-none.so
if [ -x "$tls/opener-musl" ]; then
	writer musl-exe-gnu swap exe-musl-gnu-pie
	writer musl-exe-gnu2 place exe-musl-gnu2-pie
	writer musl-static place exe-musl-gnu-static
	writer musl-start-gnu swap start-musl-gnu
	writer musl-start-gnu2 place start-musl-gnu2
	writer musl-open-gnu place opener-musl lib-musl-gnu.so
	writer musl-open-gnu2 swap opener-musl lib-musl-gnu2.so
else
	echo "# no musl-gcc: its builds are left out"
fi
writer broken broken exe-glibc-gnu-pie

cat >"$dir/run_all" <<'RUN'
while IFS='	' read -r name style program library; do
	[ $name != open-gnu2-full ] ||
		export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0
	"$program" $name $style "$2" $library &
	echo "$!	$name" >>"$3"
	unset GLIBC_TUNABLES
done <"$1"
wait
RUN
"$weft" record -q -F 4999 --detail 1/1 -o "$dir/tls.db" -- \
	sh "$dir/run_all" "$dir/writers" "$seconds" "$dir/pids" 2>&1 | say
check_ledger "$dir/tls.db"

sqlite3 -readonly "$dir/tls.db" >"$dir/figures" <<SQL
CREATE TEMP TABLE writer (pid INTEGER, name TEXT);
.mode tabs
.import --schema temp $dir/pids writer
CREATE TEMP TABLE judged AS
SELECT w.name, s.trace_id, s.context_status,
  substr(s.trace_id, 1, 8) <> printf('%08x', s.pid) AS other_process,
  substr(s.trace_id, 9, 8) <> printf('%08x', s.tid) AS other_thread,
  substr(s.trace_id, 17) <> s.span_id AS torn
FROM samples s JOIN writer w USING (pid);
SELECT name, count(*), count(trace_id), total(other_process),
  total(other_thread), total(torn),
  sum(context_status LIKE 'e_%'), sum(context_status = 'no_entry')
FROM judged GROUP BY name;
SQL
awk -F '\t' 'BEGIN { print "build samples with_id other_process " \
	"other_thread torn failed no_entry" }
	{ print $1, $2, $3, $4, $5, $6, $7, $8 }' "$dir/figures" | column -t | say

figure() {
	awk -F '\t' -v name="$1" -v column="$2" '$1 == name {
		n = $column } END { printf "%d", n }' "$dir/figures"
}
while IFS='	' read -r name style rest; do
	: "$rest"
	ids=$(figure "$name" 3)
	wrong=$(($(figure "$name" 4) + $(figure "$name" 5)))
	torn=$(figure "$name" 6)
	[ "$style" != broken ] || continue
	check "$name: $ids IDs, each of the sampled thread and whole" \
		"$(both "$(is "$ids" -gt 0)" "$(is $((wrong + torn)) = 0)")"
done <"$dir/writers"
check "a writer that is wrong is found out ($(figure broken 6) torn IDs)" \
	"$(is "$(figure broken 6)" -gt 0)"

live_done

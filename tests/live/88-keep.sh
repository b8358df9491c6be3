#!/bin/sh
# SPDX-License-Identifier: MIT
#
# While it is recorded, what is old goes: detail by age, and whatever is oldest
# by size; what has gone is named, and recording goes on. A file that is being
# recorded is nobody else's to clean.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

background "$load/spin" 600 2 >/dev/null

# Called through wait_for.
# shellcheck disable=SC2317
has_expired() {
	[ "$(entry "$1" expired)" -ge "$2" ]
}

# Called through wait_for.
# shellcheck disable=SC2317
has_interval_after() {
	[ "$(sql "$1" "SELECT max(id) FROM interval")" -gt "$2" ]
}

# begin NAME OPTION...: a recording in the background; $recorder, $db
begin() {
	db="$dir/$1.db"
	shift
	background "$weft" record --interval 0.2 -F 1999 --detail 1/1 \
		-o "$db" "$@" 2>"$dir/said"
	recorder=$!
}

end() {
	kill -INT "$recorder"
	status=0
	wait "$recorder" || status=$?
}

begin aged --keep-detail 1s
wait_for 60 has_expired "$db" 2000 || true
status=0
"$weft" gc -i "$db" --keep-detail 1s 2>"$dir/refused" || status=$?
say <"$dir/refused"
check "weft gc leaves a file alone that is being recorded" \
	"$(both "$(is $status = 1)" \
		"$(grep -c 'weft record itself lets go' "$dir/refused")")"
before=$(sql "$db" "SELECT max(id) FROM interval")
wait_for 60 has_expired "$db" 4000 || true
wait_for 60 has_interval_after "$db" "$before" || true
after=$(sql "$db" "SELECT max(id) FROM interval")
end
say <"$dir/said"
echo "expired $(entry "$db" expired), stored $(entry "$db" stored)" | say
check "by age: recording went on ($before, then $after intervals), status 0" \
	"$(both "$(is "$after" -gt "$before")" "$(is $status = 0)")"
check "by age: old samples went, and are named" \
	"$(is "$(entry "$db" expired)" -ge 4000)"
check "by age: new ones are there, none older than what went" \
	"$(is "$(sql "$db" "SELECT count(*) > 0 AND min(interval_id) >=
		(SELECT max(interval_id) FROM ledger
		 WHERE entry = 'expired' AND count > 0) FROM sample")" = 1)"
check "by age: counts are whole" "$(is "$(sql "$db" "SELECT
	(SELECT sum(count) FROM stack_count) = (SELECT sum(count) FROM ledger
	 WHERE entry = 'counted')")" = 1)"
check_ledger "$db"

# More stacks than fit.
background "$load/stacks" 17 600 >/dev/null
begin sized --max-size 1M --max-wal 1M
wait_for 60 has_expired "$db" 2000 || true
sleep 1
end
say <"$dir/said"
check "by size: recording ended as usual" "$(is $status = 0)"
check "by size: the oldest went first, and is named" \
	"$(is "$(sql "$db" "SELECT ifnull(min(interval_id) >=
		(SELECT max(interval_id) FROM ledger
		 WHERE entry = 'expired' AND count > 0), 1) FROM sample")" = 1)"
check_ledger "$db"
check "by size: the file is whole" \
	"$(is "$(sqlite3 "$db" 'PRAGMA integrity_check')" = ok)"

live_done

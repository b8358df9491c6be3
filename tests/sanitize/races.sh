#!/bin/sh
# SPDX-License-Identifier: MIT
#
# No two threads of the recorder and of its helpers touch the same unordered, by
# ThreadSanitizer: recordings in which all that runs beside the loop has work
# (the writer, unwind tables that come and go, the health file, retention, spans),
# that are added to, end in each way, and find the disk full. `make check-tsan`
# builds what it needs: WEFT_BUILD with the sanitizer, programs of known
# behaviour in WEFT_LOAD without.
#
# Inspectors have one thread each; of them the sanitizer's build lacks the filter
# of system calls and the limit of addresses, which it cannot live with. What it
# finds it writes, a file for each process.
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/../live/live.sh"

found="$dir/found"
mkdir "$found" "$dir/disk"
export TSAN_OPTIONS="log_path=$found/race exitcode=66 second_deadlock_stack=1"

# reports: how many files of them there are, each shown once
reports() {
	n=0
	for file in "$found"/*; do
		[ -s "$file" ] || continue
		n=$((n + 1))
		head -n 60 "$file" >&2
	done
	echo $n
}

# clean CLAIM: nothing was found since the last time
clean() {
	n=$(reports 2>"$dir/shown")
	say <"$dir/shown"
	check "$1" "$(is "$n" = 0)"
	rm -f "$found"/*
}

nm -D "$WEFT_BUILD/weft-record" | grep -q tsan ||
	live_skip "$WEFT_BUILD was built without ThreadSanitizer"
cc -O0 -g -fsanitize=thread -pthread -o "$dir/race" \
	"$(dirname "$0")/race.c"
"$dir/race" >/dev/null 2>&1 || true
n=$(reports 2>"$dir/shown")
check "a race that there is, is found" "$(is "$n" -ge 1)"
rm -f "$found"/*

# has_intervals FILE RECORDING: or there is no recorder any more. Called through
# wait_for.
# shellcheck disable=SC2317
has_intervals() {
	! grep -q '^State:[^Z]*$' "/proc/$recorder/status" ||
		[ "$(sql "$1" "SELECT count(*) FROM interval
			WHERE recording_id = $2")" -ge 2 ]
}

# begin OPTION...: a recording in the background; $recorder
begin() {
	background "$weft" record -p "$ours" --interval 0.1 -F 499 "$@" \
		2>"$dir/said"
	recorder=$!
}

# end SIGNAL...: and its exit status, which is the sanitizer's where it found
# something
end() {
	for signal in "$@"; do
		kill -"$signal" "$recorder" 2>/dev/null || true
	done
	status=0
	wait "$recorder" || status=$?
	say <"$dir/said"
}

# Ours alone are recorded: a whole machine is too much for a recorder that is ten
# times as slow.
background "$load/spin" 600 1 >/dev/null
ours=$$,$!
background "$load/exec_loop" 5 600 5 >/dev/null
ours=$ours,$!
background "$load/jit" grow 600 races >/dev/null 2>&1
ours=$ours,$!

# ---- all at once, many files that were never seen before
port=$((20000 + $$ % 10000))
db="$dir/busy.db"
begin -e wall --detail 1/2 --attributes --health "$dir/busy.prom" \
	--keep-detail 2s --max-size 16M --max-wal 1M --max-tables 8M \
	--examples 1 --measure 'n = hist(args.count) by comm @ tracepoint:syscalls:sys_enter_read' \
	--otlp-listen "127.0.0.1:$port" -o "$db"
wait_for 120 has_intervals "$db" 1 || true
for i in 1 2 3 4 5 6 7 8; do
	for k in 1 2 3 4 5; do
		cp "$load/spin" "$dir/spin$i$k"
		timeout 0.4 "$dir/spin$i$k" 1 1 >/dev/null 2>&1 &
		live_children="$live_children $!"
	done
	sleep 0.3
	"$weft" -i "$db" >/dev/null 2>&1 || true
done
python3 "$tests/live/70-spans.py" $port >"$dir/answers" 2>&1 || true
echo "$(grep -c ' 200 ' "$dir/answers") of $(wc -l <"$dir/answers") requests" \
	"were accepted" | say
sleep 2
end INT
check "busy: it ended as usual (status $status)" "$(is $status = 0)"
check "busy: spans came, and samples are there" "$(both \
	"$(is "$(grep -c '[1-9] spans were received' "$dir/said")" = 1)" \
	"$(is "$(sql "$db" "SELECT sum(count) > 0 FROM stack_count")" = 1)")"
clean "busy: no race"

# ---- added to; ends by a hang-up, and at once
begin --append -o "$db"
wait_for 120 has_intervals "$db" 2 || true
end HUP
check "append: it ended as usual (status $status)" "$(is $status = 0)"
clean "append, ended by SIGHUP: no race"
begin -o "$dir/twice.db"
wait_for 60 has_intervals "$dir/twice.db" 1 || true
end INT INT
check "two signals: status 0 or 1 (is $status)" "$(is $status -le 1)"
clean "ended by two signals: no race"

# ---- names that are asked for: of what is mapped and gone, and of a closed file
begin -e off-cpu -e run-queue --no-inline -o "$dir/names.db"
wait_for 120 has_intervals "$dir/names.db" 1 || true
for i in 1 2 3; do
	for k in 1 2 3 4 5; do
		rm -f "$dir/spin$i$k"
	done
	sleep 0.3
done
end TERM
clean "names: no race"
for program in "symbolize -i" "gc --keep-detail 0s -i" "import-spans -i"; do
	file=
	[ "${program%% *}" != import-spans ] || file=$dir/spans.json
	echo '{"resourceSpans":[]}' >"$dir/spans.json"
	status=0
	# shellcheck disable=SC2086 # the program's words
	timeout 120 "$weft" $program "$dir/names.db" $file >"$dir/said" 2>&1 ||
		status=$?
	check "weft ${program%% *}: it ended as usual (status $status)" \
		"$(is $status -le 4)"
done
timeout 60 "$weft" doctor -p $$ >"$dir/said" 2>&1 || true
clean "weft symbolize, gc, import-spans, doctor: no race"

# ---- the disk is full, and is so no more
if mount -t tmpfs -o size=1M none "$dir/disk"; then
	trap 'umount -l "$dir/disk" 2>/dev/null || true; live_end' EXIT
	begin -F 4999 --detail 1/1 --health "$dir/full.prom" -o "$dir/disk/full.db"
	told=$(if wait_for 60 grep -q "trying again" "$dir/said"; then
		echo 1; else echo 0; fi)
	mount -o remount,size=256M "$dir/disk"
	wait_for 60 grep -q "writing again" "$dir/said" || true
	end INT
	check "full: it was, and it ended as usual (status $status)" \
		"$(both "$told" "$(is $status = 0)")"
	clean "full: no race"
	check_ledger "$dir/disk/full.db"
else
	echo "# skipped: needs a file system of its own"
fi

live_done

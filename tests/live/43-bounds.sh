#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What recording takes at most, as README.md states it: with 500 new processes a
# second, and again with 10,000 threads besides, memory and descriptors of the
# recorder stay below their bounds, and what is recorded adds up. How many there
# were depends on the machine, and is told. (3,000 binaries are in
# 33-many-binaries.)
set -eu
# shellcheck source=tests/live/live.sh
. "$(dirname "$0")/live.sh"

threads=10000
seconds=${BOUNDS_SECONDS:-5}
# largest KEY: of what the health file has said, looked at meanwhile
largest() {
	awk -v key="$1" '$1 == key && $2 > most { most = $2 }
		END { printf "%.0f\n", most }' "$dir/looks"
}

# storm_of NAME OPTION...: record a storm into NAME.db
storm_of() {
	name=$1
	db=$dir/$1.db
	shift
	: >"$dir/looks"
	rm -f "$dir/b.prom"
	background "$weft" record -q -a "$@" --health "$dir/b.prom" -o "$db"
	recorder=$!
	wait_for 60 test -s "$dir/b.prom"
	"$load/storm" 500 "$seconds" 1 >"$dir/storm" &
	storm=$!
	while kill -0 $storm 2>/dev/null; do
		cat "$dir/b.prom" >>"$dir/looks"
		sleep 0.5
	done
	wait $storm
	cat "$dir/b.prom" >>"$dir/looks"
	asked=$(date +%s%N)
	kill -INT "$recorder"
	status=0
	wait "$recorder" || status=$?
	took=$((($(date +%s%N) - asked) / 1000000))
	check "$name: recording ended as usual" "$(is $status = 0)"
	kb=$(($(largest weft_self_resident_bytes) / 1024))
	descriptors=$(largest weft_self_descriptors)
	children=$(sql "$db" "SELECT count(*) FROM process WHERE comm = 'storm'")
	echo "of $((500 * seconds)) processes the machine made $(cat "$dir/storm")" |
		say
	echo "# figure: bounds_resident_kb_most $kb"
	echo "# figure: bounds_descriptors_most $descriptors"
	echo "# figure: bounds_exit_ms_most $took"
	echo "# figure: bounds_${name}_processes_a_second $((children / seconds))"
	check "$name: resident memory below 512 MiB ($kb kB)" "$(both \
		"$(is "$kb" -gt 0)" "$(is "$kb" -lt $((512 << 10)))")"
	check "$name: descriptors below 256 and 16 a CPU ($descriptors)" "$(both \
		"$(is "$descriptors" -gt 0)" \
		"$(is "$descriptors" -lt $((256 + 16 * $(nproc))))")"
	check "$name: processes that came and went are in the file ($children)" \
		"$(is "$children" -ge 100)"
	check_ledger "$db"
}

storm_of alone

# Threads that wake up now and then; a line once all are there.
cat >"$dir/threads.py" <<'PY'
import sys, threading, time
n = int(sys.argv[1])
threading.stack_size(64 << 10)
stop = threading.Event()
def live():
    while not stop.wait(3):
        pass
for i in range(n):
    threading.Thread(target=live, daemon=True).start()
print("there", flush=True)
time.sleep(600)
PY
background python3 "$dir/threads.py" $threads >"$dir/threads" 2>"$dir/threads.err"
python=$!
# Called through wait_for.
# shellcheck disable=SC2317
there() {
	grep -q there "$dir/threads" || ! kill -0 "$python"
}
wait_for 60 there
grep -q there "$dir/threads" || {
	say <"$dir/threads.err"
	echo "# skipped: this machine does not let a process have $threads threads"
	live_done
}

storm_of threads -e cpu-clock -e off-cpu
seen=$(sql "$dir/threads.db" "SELECT count(*) FROM thread t JOIN process p
	ON p.id = t.process_id WHERE p.pid = $python")
echo "# figure: bounds_threads $seen"
check "threads are in the file ($seen)" "$(is "$seen" -ge 1000)"

live_done

#!/bin/bash
# SPDX-License-Identifier: MIT
# weft top --follow: a block when it begins, one for each change, none without,
# and it ends with the recording, however that ends.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# hold: as a recorder holds the file, until its standard input ends
hold() {
	python3 -c '
import fcntl, os, struct, sys
fd = os.open("weft.db.lock", os.O_RDWR | os.O_CREAT)
fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
print("held", flush=True)
sys.stdin.read()'
}

blocks() {
	grep -c '^cpu-clock of recording 1' follow || true
}

# until_blocks N: a watchdog, not a measure
until_blocks() {
	local left=400
	until [ "$(blocks)" -ge "$1" ]; do
		left=$((left - 1))
		[ "$left" -gt 0 ]
		sleep 0.05
	done
}

# follow SQL: a recording that runs, after that change
follow() {
	recording weft.db "UPDATE recording SET ended_ns = NULL;" "$1"
	mkfifo gate
	hold <gate >held &
	exec 8>gate
	until grep -q held held; do sleep 0.05; done
	"$weft" top --follow=0.1 >follow 2>err 8>&- &
	follower=$!
}

begin() {
	follow "UPDATE function SET name = 'first' WHERE id = 4;"
	until_blocks 1
}

ends_cleanly() {
	begin
	sleep 1 # ten looks
	[ "$(blocks)" = 1 ]
	sqlite3 weft.db "UPDATE function SET name = 'second' WHERE id = 4"
	until_blocks 2
	sqlite3 weft.db "UPDATE recording SET ended_ns = 1700000002000000000"
	wait "$follower"
	cat follow
	[ "$(blocks)" = 3 ]
	[ ! -s err ]
	[ "$(grep -c 'still recording or cut short$' follow)" = 2 ]
	has follow ' first '
	has follow ' second '
	lacks follow "$(printf '\033')"
	exec 8>&-
}

is_killed() {
	begin
	exec 8>&-
	wait "$follower"
	[ "$(blocks)" = 1 ]
}

too_young() {
	follow "CREATE TABLE kept AS SELECT * FROM interval;
		DELETE FROM interval;"
	sleep 0.5
	[ ! -s follow ]
	sqlite3 weft.db "INSERT INTO interval SELECT * FROM kept;
		UPDATE recording SET ended_ns = 1700000002000000000"
	wait "$follower"
	[ "$(blocks)" = 1 ]
	exec 8>&-
}

words() {
	recording weft.db
	run "$weft" top --follow
	expect 0
	run "$weft" top --follow=x
	expect 2
	has err "--follow takes seconds"
	run "$weft" top --follow=0
	expect 2
	run "$weft" top --follow nonesuch.db
	expect 1
}

# A look that takes long says so on a terminal, and nowhere else; the line is
# gone before the answer.
progress() {
	recording weft.db "WITH RECURSIVE more(n) AS (SELECT 1000 UNION ALL
		  SELECT n + 1 FROM more WHERE n < 500000)
		INSERT INTO stack_total SELECT 1, n, 4, 1, 1 FROM more"
	python3 - "$weft" >seen 2>err <<-'END'
	import os, pty, signal, subprocess, sys, threading, time
	pid, fd = pty.fork()
	if pid == 0:
	    os.execv(sys.argv[1], [sys.argv[1], "top"])
	# It runs for a small part of the time, so that it takes long.
	is_over = threading.Event()
	def hold():
	    while not is_over.is_set():
	        os.kill(pid, signal.SIGSTOP)
	        time.sleep(0.1)
	        os.kill(pid, signal.SIGCONT)
	        time.sleep(0.003)
	holder = threading.Thread(target=hold)
	holder.start()
	data = b""
	try:
	    while chunk := os.read(fd, 65536):
	        data += chunk
	except OSError:
	    pass
	is_over.set()
	holder.join()
	os.waitpid(pid, 0)
	shown = data.rfind(b"\rreading 'weft.db': ")
	print(shown >= 0, b"\r\033[K" in data[shown + 1:],
	      data.find(b"FUNCTION") > shown)
	plain = subprocess.run([sys.argv[1], "top"], capture_output=True)
	print(b"reading" in plain.stdout + plain.stderr, plain.returncode)
	END
	is seen 'True True True
False 0'
}

it "a block for each change, the last when the recording has ended" ends_cleanly
it "it ends where the recorder was killed" is_killed
it "it waits for a recording that is too young" too_young
it "an ended recording is one block; wrong words are refused" words
it "a look that takes long says so, on a terminal" progress
finish

#!/bin/bash
# SPDX-License-Identifier: MIT
# Which files are read, and how others are refused.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

refused() {
	local pattern=$1 file=$2 before
	before=$(sha256sum "$file")
	run "$weft" top "$file"
	expect 1
	[ ! -s out ]
	has err "$pattern"
	[ "$(wc -l <err)" = 1 ]
	[ "$(sha256sum "$file")" = "$before" ]
	run "$weft" sql -i "$file" "SELECT 1"
	expect 1
	has err "$pattern"
}

text_file() {
	echo "hello, this is a text that is longer than a header" >a
	refused 'not an SQLite file' a
	: >b
	refused 'not an SQLite file' b
	head -c 4096 /dev/urandom >c
	refused 'not an SQLite file' c
}

A=0af7651916cd43dd8448eb211c80319c

foreign_database() {
	sqlite3 a 'CREATE TABLE t (a); INSERT INTO t VALUES (1);'
	refused "an SQLite file, but not a weft recording" a
}

newer() {
	recording a 'PRAGMA user_version = 99;'
	newest=$(find "$root/store/sql/schema" -name '*.sql' | wc -l)
	refused "schema 99 is newer than this weft's \($newest\)" a
}

drop_sums='DROP TABLE ledger_sum; ALTER TABLE event DROP COLUMN cpu_ns;'
drop_leaf_frame="$drop_sums DROP INDEX stack_leaf_frame;
	ALTER TABLE stack DROP COLUMN leaf_frame_id;"

# What schema 1 did not have is not known; all else reads the same.
older() {
	recording new
	recording old "$drop_leaf_frame
		DROP VIEW stack_ends; ALTER TABLE stack DROP COLUMN ended;
		DROP INDEX frame_identity; ALTER TABLE frame DROP COLUMN version;
		ALTER TABLE event DROP COLUMN tau_ns; PRAGMA user_version = 1;"
	sha256sum old >before
	for command in "top" "top --by process" "loss" "export"; do
		# shellcheck disable=SC2086
		run "$weft" $command -i new
		expect 0
		sed 's/ (most: no_frame)//; s/no_frame (100 %)$/-/; s/  no_frame$/  -/
			/^no_frame: /d' out >want
		# shellcheck disable=SC2086
		run "$weft" $command -i old
		expect 0
		[ ! -s err ]
		diff -u want out
	done
	run "$weft" sql -i old --json \
		"SELECT count(*), count(depth), count(ended) FROM stack"
	expect 0
	[ "$(json out 'j["results"][0]["rows"]')" = '[[10, 10, 0]]' ]
	sha256sum -c --quiet before
}

# The same of the schemas in between: what came later is not missed.
between() {
	recording new
	recording v8 "$drop_leaf_frame PRAGMA user_version = 8;"
	cp v8 v4
	sqlite3 v4 'DROP TABLE pin; DROP TABLE binary_segment;
		DROP VIEW metric_total;
		DROP VIEW metric_histogram; DROP VIEW metric_loss;
		DROP VIEW metric_examples; DROP TABLE metric_exemplar;
		DROP TABLE metric_interval; DROP TABLE metric_bucket;
		DROP TABLE metric_value; DROP TABLE metric_key; DROP TABLE metric;
		ALTER TABLE event DROP COLUMN tau_ns; PRAGMA user_version = 4;'
	cp v4 v3
	sqlite3 v3 'DROP TABLE stack_attribute_total;
		DROP TABLE stack_attribute_count; DROP TABLE shape_attribute;
		DROP TABLE process_attribute; PRAGMA user_version = 3;'
	for command in "top" "top --by thread" "top --by attribute" "traces" "trace $A" "timeline" \
		"loss" "hist --of cpu" "export" "diff --trace $A" "flame"; do
		# shellcheck disable=SC2086
		run "$weft" $command -i new
		cp out want
		mv err want_err
		was=$status
		for old in v3 v4 v8; do
			# shellcheck disable=SC2086
			run "$weft" $command -i $old
			expect "$was"
			sed "s/\b$old\b/new/g" out | diff -u want -
			sed "s/\b$old\b/new/g" err | diff -u want_err -
		done
	done
	for old in v3 v4; do
		run "$weft" measure -i "$old"
		expect 4
	done
}

# A journal beside the file has what undoes a change that is half done: without
# it the file is no answer.
half_done() {
	recording a
	run "$weft" top -i a
	expect 0
	mv out want
	python3 - <<-'END'
		import os, sqlite3
		file = sqlite3.connect("a", isolation_level=None)
		file.executescript("PRAGMA cache_size = 1; PRAGMA cache_spill = 1;")
		file.execute("BEGIN IMMEDIATE")
		for table in ("stack_total", "stack_count", "sample_sealed"):
		    file.execute(f"UPDATE {table} SET value = value * 2")
		os._exit(0)
	END
	[ -s a-journal ]
	run "$weft" top -i a
	expect 1
	has err "'a': its writer left a change unfinished .* \`weft gc a\`"
	"$weft" gc -q a
	run "$weft" top -i a
	expect 0
	diff want out
}

damaged() {
	recording a
	size=$(stat -c %s a)
	cp a cut
	truncate -s $((size / 2)) cut
	refused 'the file is damaged' cut
	# every page but the first: the header is that of a good file
	cp a holes
	dd if=/dev/urandom of=holes bs=4096 seek=1 conv=notrunc \
		count=$((size / 4096 - 1)) status=none
	run "$weft" top holes
	expect 1
	[ ! -s out ]
}

table_is_gone() {
	recording a 'DROP TABLE stack_node;'
	run "$weft" top a
	expect 1
	[ ! -s out ]
	has err 'it lacks the table stack_node'
}

absent() {
	run "$weft" top absent.weft
	expect 1
	has err "cannot open 'absent.weft': No such file or directory; record"
	mkdir dir
	run "$weft" top dir
	expect 1
	has err "not a regular file"
	mkfifo fifo
	run timeout 10 "$weft" top fifo
	expect 1
	has err "not a regular file"
}

no_permission() {
	[ "$(id -u)" = 0 ] || return 0
	command -v setpriv >/dev/null || return 0
	recording a
	chmod 600 a
	chmod 755 .
	run setpriv --reuid 65534 --regid 65534 --clear-groups "$weft" top a
	expect 3
	has err "cannot open 'a': Permission denied"
}

defaults() {
	recording weft.db
	recording other.weft "UPDATE event SET name = 'other';"
	run "$weft" top
	expect 0
	has out '^cpu-clock of'
	run env WEFT_DB=other.weft "$weft" top
	expect 0
	has out '^other of'
	run env WEFT_DB=nonesuch "$weft" top -i other.weft
	expect 0
	run "$weft" top other.weft
	expect 0
	has out '^other of'
	run "$weft" top other.weft -i weft.db
	expect 2
	has err 'two files are named'
}

odd_name() {
	recording 'a?mode=rw#%41.weft'
	run "$weft" top 'a?mode=rw#%41.weft'
	expect 0
}

read_only_place() {
	mkdir ro
	recording ro/a
	sqlite3 ro/a 'PRAGMA journal_mode = WAL;' >journal
	rm -f ro/a-wal ro/a-shm
	mount -t tmpfs none ro 2>/dev/null || { echo "no mount"; return 0; }
	recording ro/a
	sqlite3 ro/a 'PRAGMA journal_mode = WAL;' >journal
	rm -f ro/a-wal ro/a-shm
	mount -o remount,ro ro
	run "$weft" top ro/a
	umount ro
	expect 0
	has out '^cpu-clock of'
}

while_written() {
	recording a
	sqlite3 a 'PRAGMA journal_mode = WAL;' >journal
	mkfifo hold
	sqlite3 a <hold &
	exec 9>hold
	echo "BEGIN IMMEDIATE; UPDATE event SET name = 'unfinished';" >&9
	run "$weft" top a
	exec 9>&-
	wait
	expect 0
	has out '^cpu-clock of'
}

# What a writer has committed and not yet moved out of its log: readers see it, and
# leave file and log as they are. Two that move it would lose rows (SQLite before
# 3.51.3), so only the writer does.
log_is_left() {
	local command
	recording a
	sqlite3 a ".dbconfig no_ckpt_on_close on" "PRAGMA journal_mode = WAL;
		UPDATE event SET name = 'in_the_log';" >journal
	[ -s a-wal ]
	sha256sum a a-wal >before
	for command in top traces "trace $A" loss timeline export flame \
		"sql @hot_stacks" "diff --slow 50"; do
		# shellcheck disable=SC2086 # its words
		run "$weft" $command -i a
		[ "$status" -eq 0 ] || [ "$status" -eq 4 ]
		sha256sum -c --quiet before
	done
	run "$weft" top a
	has out '^in_the_log of'
}

# Who reads the output may take as long as they like: nothing is held meanwhile
# that keeps the writer from beginning its log anew. Without a buffer, the first
# byte waits already.
slow_pipe() {
	recording a "$(cat "$root/tests/data/spans.sql")"
	sqlite3 a 'PRAGMA journal_mode = WAL;' >journal
	cat >slow.py <<-'END'
	import os, sqlite3, subprocess, sys, time
	db = sqlite3.connect("a", timeout=0.1)
	for line in sys.stdin:
	    command = ["stdbuf", "-o0", sys.argv[1], *line.split(), "-i", "a"]
	    from_it, to_us = os.pipe()
	    os.set_blocking(to_us, False)
	    try:
	        while True:
	            os.write(to_us, b"x" * 4096)
	    except BlockingIOError:
	        os.set_blocking(to_us, True)
	    p = subprocess.Popen(command, stdout=to_us)
	    while "pipe_write" not in open("/proc/%d/wchan" % p.pid).read():
	        assert p.poll() is None, "%s: ended with %s" % (line, p.returncode)
	        time.sleep(0.01)
	    db.execute("UPDATE recording SET ended_ns = ended_ns + 1")
	    db.commit()
	    is_busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
	    os.close(to_us)
	    while os.read(from_it, 65536):
	        pass
	    assert p.wait() == 0, "%s: status %s" % (line, p.returncode)
	    print("busy" if is_busy else "free", line, end="")
	END
	ASAN_OPTIONS=verify_asan_link_order=0 timeout -s KILL 120 python3 slow.py "$weft" >said <<-END
	top
	top --by stack -n 0
	top --by thread
	traces
	trace $A
	timeline
	loss
	loss --prometheus
	hist
	hist --of duration
	export
	export --format csv
	export --format pprof
	flame
	sql SELECT*FROM[samples]
	sql --json SELECT*FROM[samples]
	diff --after +1
	END
	cat said
	[ "$(grep -c ^free said)" = 17 ]
}

# A byte of each page: its kind, where it goes on, or where its cells are. There is
# an answer or a sentence, and no half report.
flipped() {
	local size at n=0
	recording a
	size=$(stat -c %s a)
	for at in $(seq 0 4096 $((size - 1))); do
		at=$((at + 12 * (at / 4096 % 3)))
		cp a b
		printf '\377' | dd of=b bs=1 seek="$at" conv=notrunc status=none
		run timeout -s KILL 60 "$weft" top --by stack b
		case $status in
		0) ;;
		1 | 4)
			n=$((n + 1))
			[ -s err ]
			[ ! -s out ]
			;;
		*) expect 1 ;;
		esac
	done
	echo "$n refused"
	[ "$n" -gt 5 ]
}

it "a file that is no database is refused" text_file
it "another program's database is refused, and named so" foreign_database
it "a newer schema is refused, naming both" newer
it "an older schema is read, and what it lacks is not known" older
it "so are those in between" between
it "a change that was half done is undone before anybody reads it" half_done
it "a damaged file is refused without a half report" damaged
it "a byte that is another on any page: an answer, or a sentence" flipped
it "a missing table is an error, not an empty report" table_is_gone
it "a missing file says how to get one" absent
it "a file that may not be read gives exit status 3" no_permission
it "the file is -i, the operand, \$WEFT_DB, then weft.db" defaults
it "a name that looks like a URI is a name" odd_name
it "a file left in WAL mode opens in a read-only place" read_only_place
it "readers leave the log to its writer" log_is_left
it "who reads the output slowly holds up no writer" slow_pipe
it "a writer in the middle of a transaction is no obstacle" while_written
finish

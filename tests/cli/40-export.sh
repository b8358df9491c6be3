#!/bin/bash
# SPDX-License-Identifier: MIT
# weft export and weft loss.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

folded() {
	recording weft.db
	run "$weft" export --format folded
	expect 0
	[ ! -s err ]
	golden folded.txt out
	run "$weft" export -o file
	expect 0
	[ ! -s out ]
	golden folded.txt file
}

readable() {
	recording weft.db
	"$weft" export >out
	python3 - <<-'END'
	import re
	data = open("out", "rb").read().decode("utf-8", "strict")
	assert data.endswith("\n") and not data.endswith("\n\n")
	total = 0
	for line in data[:-1].split("\n"):
	    m = re.fullmatch(r"(.*) (\d+)", line)
	    assert m and ";" in m[1] and int(m[2]) > 0, line
	    assert not re.search(r"\s[\d.]+$", m[1]), line
	    assert line.isprintable(), line
	    assert all(m[1].split(";")), line
	    total += int(m[2])
	assert total == 300, total
	lines = data[:-1].encode().split(b"\n")
	assert lines == sorted(lines)
	END
}

# The rest is one line: what is left adds up to the same, and is the most
# frequent.
cut_off() {
	local n
	recording weft.db
	"$weft" export >all
	for n in 1 3 1000; do
		run "$weft" export --max-stacks "$n"
		expect 0
		[ ! -s err ]
		python3 - "$n" <<-'END'
		import sys
		def read(name):
		    lines = [x.rsplit(" ", 1) for x in open(name)]
		    return {a: int(b) for a, b in lines}
		most, whole, cut = int(sys.argv[1]), read("all"), read("out")
		assert sum(whole.values()) == sum(cut.values()), cut
		other = cut.pop("[other]", 0)
		assert (other > 0) == (len(whole) > most), cut
		assert len(cut) == min(most, len(whole)), cut
		assert sorted(cut.values()) == sorted(whole.values())[-most:], cut
		assert all(whole[x] == cut[x] for x in cut), cut
		END
	done
	run "$weft" export --max-stacks 0
	expect 0
	diff all out
	run "$weft" export --max-stacks 3 --format csv
	expect 2
}

# Names of programs that the format gives a meaning to, and bytes that are no
# UTF-8, each with 4 frames, with none, and without a stack: every line is still
# one stack, its last word the count; and where there are escapes, the bytes come
# back from them.
comms() {
	recording weft.db "DELETE FROM stack_total; DELETE FROM stack_count;
		DELETE FROM sample_sealed;
		CREATE TEMP TABLE c (id INTEGER PRIMARY KEY, comm);
		INSERT INTO c VALUES (11, 'a;b'),
		(12, 'x' || char(10) || 'main 1000000'), (13, 'worker 7'),
		(14, '[ET_NET 0]'), (15, ''), (16, '  lead'),
		(17, 'tab' || char(9) || 'here'), (18, '#note'), (19, ' 12'),
		(20, CAST(x'c3a9c3a9c3a9c3a9c3a9c3a9c3a9c3' AS TEXT)),
		(21, CAST(x'fffe' AS TEXT)), (22, CAST(x'eda080' AS TEXT)),
		(23, CAST(x'61c0af' AS TEXT)), (24, '\\x41');
		INSERT INTO process SELECT id, 1, 900 + id, id, 1, 1, NULL, comm,
		NULL, NULL, NULL FROM c;
		INSERT INTO stack (id, status, depth, ended) VALUES (-64, 'complete', 0, NULL);
		INSERT INTO stack_total SELECT 1, id, 4, id, id * 10000000 FROM c;
		INSERT INTO stack_total SELECT 1, id, -64, 100, 1000000000 FROM c;
		INSERT INTO stack_total SELECT 1, id, -4, 1, 10000000 FROM c;
		INSERT INTO stack_count SELECT 1, event_id, process_id, stack_id,
		count, value FROM stack_total"
	"$weft" export >out
	"$weft" sql --json "SELECT comm, hex(comm) FROM process
		WHERE id > 10" >names.json
	python3 - <<-'END'
	import json, re
	lines = open("out", "rb").read().decode("utf-8", "strict").split("\n")
	assert lines.pop() == ""
	seen, total = {}, 0
	for line in lines:
	    assert line.isprintable() and not re.match(r"[\s#]", line), line
	    stack, count = line.rsplit(" ", 1)
	    assert not re.search(r" [\d.]+$", stack), line
	    comm, *frames = stack.split(";")
	    assert comm, line
	    seen.setdefault(comm, []).append((len(frames), int(count)))
	    total += int(count)
	assert total == sum(range(11, 25)) + 14 * 101, total
	assert len(seen) == 14, seen
	for comm, rows in seen.items():
	    assert sorted(rows)[:2] == [(1, 1), (1, 100)], (comm, rows)
	    assert sorted(rows)[2][0] == 4, (comm, rows)
	for comm in "worker 7", "[ET_NET 0]", "a:b", "[unknown]":
	    assert comm in seen, comm
	# a \xNN is a byte, all else is what it is
	for comm, want in json.load(open("names.json"))["results"][0]["rows"]:
	    got = re.sub(rb"\\x([0-9a-f]{2})", lambda m:
	                 bytes([int(m[1], 16)]), comm.encode())
	    assert got.hex().upper() == want, (comm, want)
	END
}

empty() {
	recording weft.db "DELETE FROM stack_count; DELETE FROM stack_total;"
	run "$weft" export
	expect 4
	[ ! -s out ]
	has err 'no sample to export'
	run "$weft" export -o file
	expect 4
	[ ! -e file ]
}

bad_output() {
	recording weft.db
	run "$weft" export -o /nonesuch/file
	expect 1
	has err "cannot create '/nonesuch/file'"
	run "$weft" export --format pproff
	expect 2
	"$weft" export -o /dev/full 2>err && return 1
	has err "cannot write '/dev/full'"
	"$weft" export >/dev/full 2>err && return 1
	has err 'cannot write the output'
}

# In a directory of ours a link is what we have made of it.
no_link_of_others() {
	recording weft.db
	mkdir public
	echo mine >victim
	ln -s ../victim public/link
	chmod 1777 public
	for command in export flame; do
		run "$weft" "$command" -o public/link
		expect 1
		has err "'public/link': it is a symbolic link"
		is victim mine
	done
	if [ "$(id -u)" -eq 0 ]; then
		ln -s .. public/way
		chown -h 1234 public/way
		run "$weft" export -o public/way/victim
		expect 1
		has err "'public/way' is a symbolic link of another user"
		is victim mine
	fi
	"$weft" export -o public/file
	[ -s public/file ]
	chmod 755 public
	"$weft" export -o public/link
	cmp victim public/file
}

# A recording is not written over, by whatever name; nor is another database.
no_database() {
	recording weft.db
	cp weft.db kept
	cp weft.db other.db
	ln weft.db hard.folded
	ln -s weft.db link.html
	run "$weft" export -o weft.db
	expect 1
	has err "'weft.db' is a database"
	run "$weft" export -o hard.folded
	expect 1
	run "$weft" flame -o link.html
	expect 1
	run "$weft" flame --against other.db -o other.db
	expect 1
	cmp weft.db kept
	cmp other.db kept
}

# small_disk COMMAND...: run it where files cannot be larger than 1 KiB
small_disk() {
	(
		trap '' XFSZ
		ulimit -f 1
		"$@"
	) 2>err && return 1
	return 0
}

# Half of an output is none; what OUT only points to is left empty.
half() {
	recording weft.db
	ln -s real link
	small_disk "$weft" export --format csv --only detail -o a.csv
	has err "cannot write 'a.csv'"
	[ ! -e a.csv ]
	small_disk "$weft" export --format csv --only detail -o link
	[ -L link ]
	[ -f real ]
	[ ! -s real ]
	small_disk "$weft" flame -o a.html
	has err "cannot write 'a.html'"
	[ ! -e a.html ]
}

limits() {
	recording weft.db
	run "$weft" loss --fail-above 7
	expect 0
	run "$weft" loss --fail-above 6.5
	expect 1
	has err '6\.667 % was lost or does not add up; the limit is 6\.5 %'
	[ -s out ]
	for value in x 101 -1 5% nan ""; do
		run "$weft" loss --fail-above "$value"
		expect 2
	done
}

# Each metric has its help and type once, before all of its lines; the numbers
# are those of the report; a name cannot break out of its label.
prometheus() {
	recording weft.db 'UPDATE event SET name = '"'a\"b\\c
d'"' WHERE id = 1'
	run "$weft" loss --prometheus
	expect 0
	python3 - out >seen <<'PY'
import re
import sys

metric, seen, values = None, set(), {}
for line in open(sys.argv[1], encoding="utf-8"):
    head = re.fullmatch(r"# (HELP|TYPE) (\w+) (.*)\n", line)
    if head and head[1] == "HELP":
        assert head[2] not in seen, line
        metric = head[2]
        seen.add(metric)
        continue
    if head:
        assert head[2] == metric and head[3] in ("counter", "gauge"), line
        continue
    row = re.fullmatch(
        r'(\w+)(\{\w+="(?:[^"\\\n]|\\.)*"(?:,\w+="(?:[^"\\\n]|\\.)*")*\})? (\S+)\n',
        line)
    assert row and row[1] == metric, line
    values[row[1] + (row[2] or "")] = float(row[3])
event = 'event="a\\"b\\\\c\\\\x0ad"'
for name in ("fired", "counted", "lost_ring_full"):
    print(name, int(values['weft_ledger_total{%s,entry="%s"}' % (event, name)]))
print(int(values["weft_intervals_total"]), int(values["weft_recording_open"]))
print(sum(v != 0 for k, v in values.items() if "difference" in k))
PY
	run "$weft" loss --json
	is seen "$(json out '"fired %d\ncounted %d\nlost_ring_full %d" % tuple(
		j["entries"][k] for k in ("fired", "counted", "lost_ring_full"))')
$(sqlite3 weft.db 'SELECT (SELECT count(*) FROM interval) || " " ||
	(ended_ns IS NULL) FROM recording')
$(json out 'sum(i["difference"] not in (0, None)
	for i in j["identities"])')"
	run "$weft" loss --prometheus --fail-above 6.5
	expect 1
	run "$weft" loss --prometheus --json
	expect 2
	run "$weft" loss --prometheus --event cpu-clock
	expect 2
}

not_adding_up() {
	recording weft.db "DELETE FROM sample_sealed WHERE id = 20;
		UPDATE stack_count SET count = count + 7
		 WHERE stack_id = 4 AND interval_id = 1;"
	run "$weft" loss --json
	expect 0
	[ "$(json out '[(i["difference"], i["worst_interval"])
		for i in j["identities"] if i["difference"]]')" = \
		"[(-7, 1), (1, 2)]" ]
	run "$weft" loss --fail-above 6.7
	expect 0
	recording weft.db "UPDATE ledger_row SET count = count + 50
		WHERE entry_id = 2;"
	run "$weft" loss --fail-above 6.7
	expect 1
}

not_measured() {
	recording weft.db "UPDATE ledger_row SET count = NULL
		WHERE entry_id = 3 AND interval_id = 2;"
	run "$weft" loss --json
	expect 0
	[ "$(json out 'j["entries"]["not_run"], j["entries"]["filtered"],
		j["identities"][0]["measured"]')" = "(None, 0, False)" ]
}

it "folded stacks are as expected, to a stream and to a file" folded
it "folded stacks are what readers accept, and add up" readable
it "stacks above --max-stacks are one line, and all adds up" cut_off
it "whatever a program is called, a line is a stack and its count" comms
it "an empty export says so with exit status 4" empty
it "output that cannot be written is an error" bad_output
it "no link is followed that another may have made" no_link_of_others
it "no database is written over" no_database
it "half of an output is none" half
it "loss --fail-above fails above its limit" limits
it "loss as Prometheus reads it" prometheus
it "an identity that does not hold is shown with its worst interval" \
	not_adding_up
it "0 and not measured differ" not_measured
finish

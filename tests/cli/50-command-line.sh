#!/bin/bash
# SPDX-License-Identifier: MIT
# The command line: help, suggestions, exit statuses, terminals and pipes.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

commands="top traces trace timeline hist flame sql loss export symbolize"

help() {
	local command
	run "$weft" --help
	expect 0
	[ ! -s err ]
	for command in $commands; do
		has out "^  $command "
	done
	for command in $commands; do
		run "$weft" "$command" --help
		expect 0
		[ ! -s err ]
		has out "^usage: weft $command "
		has out '^  -i, --input FILE'
		[ "$(wc -L <out)" -le 100 ]
	done
	run "$weft" help top
	expect 0
	has out '^usage: weft top '
	run "$weft" help tpo
	expect 2
	has err "did you mean 'top'"
	# Text of several lines stays in its column.
	run "$weft" record --help
	expect 0
	has out '^ {29}BINARY:usdt:'
	has out '^ {29}trace=hex@0'
	run "$weft" --version
	expect 0
	has out '^weft [0-9]'
}

# A line of names ends between them, not within a character.
alone_with_many() {
	local n
	for n in 0 1 2 3; do
		recording weft.db "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL
				SELECT i + 1 FROM n WHERE i < 40)
			INSERT INTO event (id, recording_id, name, unit)
			SELECT i, 1, substr('abc', 1, $n) ||
				replace(hex(zeroblob(12)), '0', 'é'), 'ns'
			FROM n;"
		run "$weft"
		expect 0
		iconv -f utf-8 -t utf-8 out >/dev/null
		has out '^  events .*é \(0 samples, 0 ns\)$'
	done
}

usage() {
	run "$weft" tpo
	expect 2
	has err "did you mean 'top'"
	for command in $commands; do
		run "$weft" "$command" --nonesuch
		expect 2
		[ ! -s out ]
		has err "unknown option '--nonesuch'"
		has err "^usage: weft $command "
		run "$weft" "$command" -i
		expect 2
		has err 'needs a value'
	done
	run "$weft" -i weft.db
	expect 2
	has err "'-i' needs a command before it; weft alone reads \\\$WEFT_DB"
	run "$weft" top --sinse=1
	expect 2
	has err "did you mean '--since'"
	run "$weft" top a b
	expect 2
	has err "unexpected 'b'"
	run "$weft" top -n x
	expect 2
	run "$weft" top --by stak
	expect 2
	has err "did you mean 'stack'"
	run "$weft" traces --sort cups
	expect 2
	has err "did you mean 'cpu'"
	run "$weft" traces --sort nonesuch
	expect 2
	has err 'weft traces --help. has the words'
	# A file in the place of the ID: not that weft.db is missing.
	run "$weft" trace other.db
	expect 2
	has err "'other.db' is no trace ID"
}

alone() {
	run "$weft"
	expect 0
	[ ! -s err ]
	has out '^No recording at hand: .WEFT_DB is not set'
	has out '^  sudo weft record -d 10 '
	has out '^  weft --help '
	WEFT_DB=other.db run "$weft"
	expect 1
	has err 'other.db'
	recording weft.db "$(cat "$root/tests/data/spans.sql")" \
		"$(cat "$root/tests/data/measures.sql")"
	run "$weft"
	expect 0
	[ ! -s err ]
	lacks out "$(printf '\033')"
	has out '^weft.db: 1 recording of host host, '
	has out '^cpu-clock of recording 1: 2.00 s, 2 CPUs, 300 samples '
	has out '^  processes  worker \(pid 100, 282 samples\), e;vil'
	has out '^  requests   3 with a sample, 2 with spans only$'
	has out '^  measures   '
	has out '^  weft trace 0af7651916cd '
	has out '^  weft traces --sort duration '
	has out '^  weft measure '
	has out '^  weft symbolize '
	# what it says to ask has an answer
	sed -n 's/^  \(weft [^ ]*\( [^ ]\+\)*\)  .*/\1/p' out >asked
	[ "$(wc -l <asked)" -ge 7 ]
	while read -r _ line; do
		case $line in symbolize*) continue ;; esac
		# shellcheck disable=SC2086 # its words
		run "$weft" $line
		expect 0
	done <asked
	# the request may be of another recording than the last
	recording weft.db "INSERT INTO recording SELECT 2, started_ns + 9e9, NULL,
		host, kernel, arch, cpus, weft_version, command, boot_id, detail_n,
		interval_ns FROM recording;
	INSERT INTO event (id, recording_id, name, unit, requested_hz)
		VALUES (2, 2, 'cpu-clock', 'ns', 100);
	INSERT INTO interval SELECT id + 2, 2, start_ns + 9e9, end_ns + 9e9,
	  clock_offset_ns, clock_error_ns, self_cpu_ns, self_rss_bytes, NULL, NULL
	  FROM interval;"
	run "$weft"
	expect 0
	has out 'with spans only, in all recordings$'
	sed -n 's/^  weft \(trace .*\)  the first of them.*/\1/p' out >asked
	# shellcheck disable=SC2046 # its words
	run "$weft" $(cat asked)
	expect 0
	has out '^trace .* samples, estimated'
	# other IDs may begin as its own
	recording weft.db "UPDATE trace SET trace_id =
		CAST(printf('same begin %05d', id) AS BLOB);"
	run "$weft"
	expect 0
	sed -n 's/^  weft \(trace .*\)  the first of them.*/\1/p' out >asked
	# shellcheck disable=SC2046 # its words
	run "$weft" $(cat asked)
	expect 0
	# one that was ended before it began
	recording weft.db "DELETE FROM interval; DELETE FROM event;
		DELETE FROM recording;"
	run "$weft"
	has out '^weft.db: 0 recordings, [0-9.]* MB$'
	# and what is not in the file is not asked for
	recording weft.db "DELETE FROM sample_sealed; DELETE FROM trace;
		DELETE FROM frame WHERE id IN (7, 10); "
	run "$weft"
	expect 0
	lacks out 'weft (trace|measure|symbolize)'
	lacks out 'requests'
	has out '^  weft top '
	# a recording too young for a report
	recording weft.db "DELETE FROM interval;"
	run "$weft"
	expect 0
	has out '^weft.db: 1 recording'
	lacks out 'weft top'
	: >weft.db
	run "$weft"
	expect 1
}

list() {
	run "$weft" list usdt "$weft"
	expect 4
	has err "'$weft' has no USDT probes built in"
	run "$weft" list symbols "$weft"
	expect 0
	has out '^main$'
	run "$weft" list evnts
	expect 2
	has err "did you mean 'events'"
}

record() {
	mkdir bin path
	cp "$weft" bin/weft
	printf '#!/bin/sh\necho "beside $*"\nexit 7\n' >bin/weft-record
	printf '#!/bin/sh\necho "path $*"\n' >path/weft-record
	chmod +x bin/weft-record path/weft-record
	run env PATH="$PWD/path:$PATH" bin/weft record -p 1 -- x
	expect 7
	is out 'beside -p 1 -- x'
	rm bin/weft-record
	run env PATH="$PWD/path:$PATH" bin/weft record -a
	expect 0
	is out 'path -a'
	run env PATH=/nonesuch bin/weft record
	expect 1
	has err 'cannot run weft-record'
}

pipe() {
	recording weft.db
	"$weft" sql "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL
		SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n" 2>err |
		head -n 1 >out
	[ "${PIPESTATUS[0]}" = 0 ]
	[ ! -s err ]
}

width() {
	recording weft.db "UPDATE function SET name = printf('%.*c', 300, 'x')
		WHERE id = 4;"
	terminal 90 top
	has out '^\s*53\.33 .*  x+\.\.  worker$'
	has out "$(printf '\033')\\[1m"
	[ "$(grep -c '.\{91,\}' <(grep -a '^ *[0-9<]' out))" = 0 ]
	NO_COLOR=1 terminal 90 top
	lacks out "$(printf '\033')"
	# nor is anything but text for one that knows no more
	TERM=dumb terminal 90 top
	lacks out "$(printf '\033')"
	TERM=dumb terminal 90 top --follow
	lacks out "$(printf '\033')"
	run "$weft" top
	has out 'x{300}  worker$'
}

it "help comes from the table of options, on stdout" help
it "weft alone: what is in the file and what to ask next, or how to begin" alone
it "weft alone: names that do not fit are left out" alone_with_many
it "usage errors say what is wrong and suggest the nearest" usage
it "list: names, or that there are none" list
it "record runs the weft-record beside weft, else in the path" record
it "a reader that goes away is no error" pipe
it "on a terminal lines fit and titles are bold; elsewhere nothing is cut" width
finish

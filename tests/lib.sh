# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Tests in shell that speak TAP; a script sources this, calls `it` for each
# claim and ends with `finish`. Run them with prove.
#
#   it "claims something" function [argument...]
#
# runs the function in an empty directory under `set -e`. The subshell must not
# stand within `if`, `&&` or `||`: there the shell turns -e off, and a step
# that fails would pass. tests/cli/00-harness.sh holds us to that.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
weft=${WEFT:-${WEFT_BUILD:-$root/build}/weft}
case $weft in /*) ;; *) weft=$PWD/$weft ;; esac
tests_run=0
tests_failed=0
unset WEFT_DB COLUMNS NO_COLOR
export TERM=xterm

if [ ! -x "$weft" ]; then
	echo "Bail out! no $weft: build it, or name one in \$WEFT"
	exit 1
fi
kept=$(mktemp -d) # what all of a script's tests share; finish removes it

it() {
	local name=$1 status work
	shift
	work=$(mktemp -d)
	tests_run=$((tests_run + 1))
	(
		set -e
		cd "$work"
		"$@"
	) >"$work.log" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok $tests_run - $name"
	else
		tests_failed=$((tests_failed + 1))
		echo "not ok $tests_run - $name"
		sed 's/^/# /' "$work.log"
		echo "# (status $status)"
	fi
	rm -rf "$work" "$work.log"
}

finish() {
	rm -rf "$kept"
	echo "1..$tests_run"
	[ $tests_failed -eq 0 ]
	exit
}

# run COMMAND...: its exit status in $status, its streams in files out and err.
run() {
	status=0
	"$@" >out 2>err || status=$?
}

# on_terminals COLUMNS FILE: run weft with the words of each line of the file on
# a terminal; what it wrote, to files out.1 and so on.
on_terminals() {
	python3 - "$weft" "$@" <<-'END'
	import os, pty, sys
	for i, line in enumerate(open(sys.argv[3])):
	    pid, fd = pty.fork()
	    if pid == 0:
	        os.environ["COLUMNS"] = sys.argv[2]
	        os.execv(sys.argv[1], [sys.argv[1]] + line.split())
	    data = b""
	    try:
	        while chunk := os.read(fd, 65536):
	            data += chunk
	    except OSError:
	        pass
	    os.waitpid(pid, 0)
	    open("out.%d" % (i + 1), "wb").write(data.replace(b"\r\n", b"\n"))
	END
}

# terminal COLUMNS WORD...: the same of those words, to file out.
terminal() {
	local columns=$1
	shift
	echo "$*" >words
	on_terminals "$columns" words
	mv out.1 out
}

# expect STATUS: that was its exit status.
expect() {
	[ "$status" -eq "$1" ] && return 0
	echo "exit status $status, not $1; stdout, stderr:"
	cat out err
	return 1
}

# is FILE TEXT: the file holds exactly that and a newline.
is() {
	printf '%s\n' "$2" | diff -u - "$1"
}

# has FILE PATTERN: a line of the file matches (grep -E).
has() {
	grep -Eq -- "$2" "$1" && return 0
	echo "no line of $1 matches '$2':"
	cat "$1"
	return 1
}

# lacks FILE PATTERN: none does.
lacks() {
	grep -Eqa -- "$2" "$1" || return 0
	echo "a line of $1 matches '$2':"
	cat "$1"
	return 1
}

# golden NAME FILE: the file is as tests/golden/NAME says. With GOLDEN=write
# it is written; the difference is for a reviewer.
golden() {
	if [ "$GOLDEN" = write ]; then
		cp "$2" "$root/tests/golden/$1"
	fi
	diff -u "$root/tests/golden/$1" "$2"
}

# report_as GOLDEN ARGUMENT...: what weft prints with them is the golden file's
# text, nothing is on stderr, and with --json it parses.
report_as() {
	local name=$1
	shift
	run "$weft" "$@"
	expect 0
	golden "$name" out
	[ ! -s err ]
	lacks out "$(printf '\033')"
	run "$weft" "$@" --json
	expect 0
	[ ! -s err ]
	is_json out
}

# recording FILE [SQL...]: a recording of tests/data/small.sql, on which SQL was
# run. A script makes it once, and each of them is a copy.
recording() {
	local file=$1 sql
	shift
	[ -f "$kept/small.db" ] || make_small "$kept/small.db"
	cp "$kept/small.db" "$file"
	[ $# -gt 0 ] || return 0
	{
		echo "PRAGMA synchronous = OFF;"
		for sql in "$@"; do
			echo "$sql"
		done
	} | sqlite3 -bail "$file"
	# An older schema has no sums.
	[ "$(sqlite3 "$file" "PRAGMA user_version")" -lt 10 ] ||
		sqlite3 -bail "$file" <"$root/tests/data/sums.sql"
}

make_small() {
	local schema=("$root"/store/sql/schema/*.sql)
	{
		echo "PRAGMA synchronous = OFF; BEGIN;"
		cat "${schema[@]}"
		echo "PRAGMA user_version = ${#schema[@]};"
		echo "CREATE VIEW sample AS SELECT * FROM sample_sealed;"
		cat "$root/store/sql/views.sql" "$root/tests/data/small.sql"
		echo "UPDATE stack SET leaf_frame_id = (
			SELECT n.frame_id FROM stack_node n WHERE n.id = stack.id);"
		cat "$root/tests/data/sums.sql"
		echo "COMMIT;"
	} | sqlite3 -bail "$1.new"
	mv "$1.new" "$1"
}

# is_json FILE: one JSON object in valid UTF-8.
is_json() {
	python3 -c '
import json, sys
with open(sys.argv[1], "rb") as f:
    value = json.loads(f.read().decode("utf-8", "strict"))
assert isinstance(value, dict), "not an object"
' "$1"
}

# json FILE EXPRESSION: print what a Python expression makes of it (as `j`).
json() {
	python3 -c '
import json, sys
j = json.load(open(sys.argv[1]))
print(eval("(" + sys.argv[2] + ")"))
' "$1" "$2"
}

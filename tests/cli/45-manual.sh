#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual is whole: each command, option, table, column, view and question
# of this weft is in its pages, and nothing else.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

man=$root/man

# section PAGE TITLE: the lines of a subsection whose title begins so
section() {
	awk -v title="$2" '
		/^\.S[sh] / { on = index($0 " ", ".Ss " title " ") == 1; next }
		on' "$man/$1"
}

# options COMMAND: the long options that its help has
options() {
	"$weft" "$1" --help |
		sed -n 's/^  \(-.,\|   \) --\([a-z-]*\).*/\2/p'
}

# lacking LIST TEXT: no line of LIST may be missing as an option in TEXT
lacking() {
	local word missing=0
	while read -r word; do
		grep -Eq -- "(Fl|,) -$word( |\$)" "$2" && continue
		echo "no option --$word in the page"
		missing=1
	done <"$1"
	return "$missing"
}

commands() {
	local command page
	"$weft" --help | sed -n 's/^  \([a-z][a-z-]*\)  *[a-z].*/\1/p' >commands
	[ "$(wc -l <commands)" -ge 13 ]
	while read -r command; do
		echo "command $command:"
		case $command in
		record) page='weft-record.1' ;;
		*) page='weft.1' ;;
		esac
		options "$command" >want
		section weft.1 "weft $command" >text
		[ -s text ]
		if [ "$command" = record ]; then
			cat "$man/weft-record.1" >text
		fi
		section weft.1 'Options of every report' >>text
		[ "$command" = list ] || [ -s want ]
		lacking want text
		# and none that it has not
		section weft.1 "weft $command" |
			sed -n 's/^\.It //p' | grep -Eo '(Fl|,) -[a-z-]+' |
			sed 's/.* -//' >have || true
		grep -Fxv -f want have >extra || true
		[ ! -s extra ] || { cat extra; return 1; }
	done <commands
	# of record, its own page
	options record >want
	sed -n 's/^\.It //p' "$man/weft-record.1" | grep -Eo '(Fl|,) -[a-z-]+' |
		sed 's/.* -//' | sort >have
	sort want | diff - have
}

schema() {
	recording weft.db "CREATE VIEW kept AS SELECT 1;" "DROP VIEW kept;"
	sqlite3 weft.db "SELECT m.name, c.name FROM sqlite_schema m,
		pragma_table_xinfo(m.name) c WHERE m.type IN ('table', 'view')
		AND m.name NOT LIKE 'sqlite%' ORDER BY 1, 2" >want
	awk '
		/^\.Sh / { on = $2 == "TABLES" || $2 == "VIEWS" }
		/^\.Ss / { name = $2 }
		on && /^\.It Va / {
			for (i = 3; i <= NF; i++) {
				if ($i == "Pq")
					break
				if ($i != "," && $i != "Va")
					print name "|" $i
			}
		}' "$man/weft-schema.5" | LC_ALL=C sort >have
	LC_ALL=C sort want | diff - have
}

questions() {
	"$weft" sql --list | sed 's/ .*//' | LC_ALL=C sort >want
	sed -n 's/^\.It Ic //p' "$man/weft-sql.7" | tr -d ' ' | tr , '\n' |
		LC_ALL=C sort | diff want -
	# each parameter of a question is told of it
	"$weft" sql --list --json >list.json
	python3 - "$man/weft-sql.7" <<-'END'
	import json, re, sys
	pages = re.split(r"^\.It Ic ", open(sys.argv[1]).read(), flags=re.M)
	for q in json.load(open("list.json"))["queries"]:
	    text = " ".join(p for p in pages if "@" + q["name"] in
	                    p.split("\n")[0].split(" , "))
	    for name in set(re.findall(r"[:$]([a-z_]+)", q["sql"])) - {"n"}:
	        assert name in text, (q["name"], name)
	END
}

functions() {
	"$weft" sql --help | sed -n '/^Functions:/,/^$/p' |
		grep -Eo '[a-z_]+\(' | tr -d '(' | LC_ALL=C sort -u >want
	[ "$(wc -l <want)" -ge 10 ]
	grep -Eo '\bFn [a-z_]+' "$man/weft-sql.7" | sed 's/Fn //' |
		LC_ALL=C sort | diff want -
}

lint() {
	local page
	for page in "$man"/*.[1-9]; do
		mandoc -Tlint -W warning "$page"
		mandoc -Tutf8 "$page" >out
		[ "$(wc -l <out)" -ge 40 ]
	done
	[ "$(find "$man" -type f | wc -l)" = 4 ]
}

it "each command and option is in the pages, and no other" commands
it "each table, view and column is in weft-schema(5), and no other" schema
it "each named question is in weft-sql(7), with its parameters" questions
it "each function of weft sql is in weft-sql(7), and no other" functions
it "mandoc has nothing to complain about" lint
finish

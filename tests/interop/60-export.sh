#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Exports in the readers that they are for: go tool pprof, speedscope's own
# importer, flamegraph.pl, protoc; of a small file, one with hostile names, one
# with a single stack, and one with a million stacks. All sums are compared with
# the file's, by SQL.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

skip() {
	echo "1..0 # SKIP $1"
	exit 0
}
for partner in go node npm protoc xmllint; do
	command -v $partner >/dev/null || skip "needs $partner"
done
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
[ -e $flamegraph ] || skip "needs libdevel-nytprof-perl"

files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export PPROF_TMPDIR=$files
speedscope=${INTEROP_SPEEDSCOPE:-$files/npm}
[ -d "$speedscope/node_modules" ] || {
	mkdir -p "$speedscope"
	(cd "$speedscope" && npm install --no-audit --no-fund \
		--loglevel=error speedscope@1.25.0) 2>&1 | sed 's/^/# /'
}
[ -d "$speedscope/node_modules/speedscope" ] ||
	skip "the npm registry cannot be reached"

bad="'#' || char(27) || '[2J' || char(0x9b) || char(13, 10) || ';' || '\"\\'
	|| CAST(x'fffe' AS TEXT) || '</text>' || char(0x202e) || ' 12'"
recording "$files/small.db"
recording "$files/hostile.db" "UPDATE function SET name = name || $bad,
		linkage_name = $bad || id, file = $bad;
	UPDATE process SET comm = $bad, exe = $bad || pid, service = $bad;
	UPDATE thread SET comm = $bad;
	UPDATE binary SET path = $bad || id, build_id = $bad;"
recording "$files/tiny.db" "DELETE FROM stack_total WHERE stack_id <> -4;
	DELETE FROM stack_count WHERE stack_id <> -4;
	DELETE FROM sample_sealed WHERE id <> 1;"
recording "$files/million.db" "$(cat "$root/tests/data/million.sql")"

# of_file DB FORM: samples and ns, by SQL
of_file() {
	case $2 in
	shape) sqlite3 -separator ' ' "$1" \
		"SELECT sum(count), sum(value) FROM stack_total" ;;
	*) sqlite3 -separator ' ' "$1" "SELECT CAST(sum(weight) AS INT),
		CAST(sum(weight * value) AS INT) FROM sample" ;;
	esac
}

# same WHAT GOT WANT: they are; the figure is printed
same() {
	echo "$1: $2, of the file $3" >>"$files/figures"
	[ "$2" = "$3" ] && return 0
	echo "$1: $2, not $3"
	return 1
}

# The sums of both sample types that pprof -raw shows.
raw_sums() {
	go tool pprof -raw "$@" 2>err | awk '
		/^Locations/ { exit }
		/^ *[0-9]+ +[0-9]+: / { n += $1; sub(":", "", $2); v += $2 }
		END { printf "%.0f %.0f\n", n, v }'
}

pprof() {
	local db=$files/$1.db form forms="shape detail"
	# a million take pprof minutes each time
	[ "$1" != million ] || forms=shape
	for form in $forms; do
		"$weft" export -o "$form.pb.gz" --only "$form" "$db"
		same "$1, pprof -raw, $form" "$(raw_sums "$form.pb.gz")" \
			"$(of_file "$db" "$form")"
		go tool pprof -top "$form.pb.gz" >top 2>err
		has top '^Type: cpu$'
		lacks top "$(printf '\033')"
	done
	[ "$1" != million ] || return 0
	same "$1, pprof of it twice" "$(raw_sums shape.pb.gz shape.pb.gz)" \
		"$(of_file "$db" shape | awk '{ printf "%.0f %.0f", 2 * $1, 2 * $2 }')"
}

pprof_labels() {
	"$weft" export -o a.pb.gz --only detail "$files/small.db"
	go tool pprof -tags a.pb.gz >tags 2>err
	has tags '0af7651916cd43dd8448eb211c80319c$'
	go tool pprof -top -tagfocus 0af76519ffffffffffffffffffffffff a.pb.gz \
		>top 2>err
	has top '^Showing nodes accounting for 600ms'
	"$weft" export -o b.pb.gz "$files/small.db"
	go tool pprof -top b.pb.gz >top 2>err
	has top '^File: worker$'
	has top '^Build ID: aa$'
	has top 'lost_counts_full=4'
	has top ' 0\.24s .* memcpy \(inline\)$'
}

speedscope() {
	local db=$files/$1.db n ns
	read -r n ns < <(of_file "$db" shape)
	"$weft" export -o a.speedscope.json "$db"
	"$weft" export -o b.pb.gz "$db"
	set -- "$1" a.speedscope.json b.pb.gz
	# of a million, the lines are longer than a string of node's can be
	[ "$1" = million ] || set -- "$@" c.folded
	"$weft" export -o c.folded "$db"
	node --max-old-space-size=6000 --stack-size=4000 \
		"$root/tests/interop/speedscope-import.js" \
		"$speedscope/node_modules/speedscope" \
		"${@:2}" 2>err | grep '^{' >got
	local want="a.speedscope.json $ns nanoseconds; b.pb.gz $ns nanoseconds; "
	[ "$1" = million ] || want="${want}c.folded $n none; "
	same "$1, speedscope" "$(python3 -c '
import json
for line in open("got"):
    j = json.loads(line)
    print(j["file"], j["total"], j["unit"], end="; ")
')" "$want"
}

flamegraph() {
	local db=$files/$1.db n ns
	read -r n ns < <(of_file "$db" shape)
	"$weft" export --format folded "$db" >a.folded
	# this one takes bytes for characters unless perl is told otherwise
	perl -CSD "$flamegraph" a.folded >a.svg 2>err
	lacks err '[Ii]gnored'
	xmllint --huge --noout a.svg
	same "$1, flamegraph.pl" "$(grep -o 'all ([0-9,]* samples, 100%)' \
		a.svg | head -1 | tr -dc '0-9 ' | awk '{ print $1 + 0 }' |
		sed 's/100$//')" "$n"
}

# Nothing but what the schemas have; unknown fields show as numbers.
schemas() {
	local db=$files/$1.db
	sed 's/repeated bytes scope_profiles/repeated ScopeProfiles scope_profiles/
		s/repeated bytes profiles/repeated Profile profiles/' \
		"$root/query/export/otlp_profiles.proto" >otlp.proto
	"$weft" export -o a.otlp "$db"
	protoc --decode=otlp_profiles.ExportRequest otlp.proto <a.otlp >text
	has text 'weft.detail'
	lacks text '^ *[0-9]+[:{ ]'
	"$weft" export --format pprof "$db" | gzip -dc |
		protoc -I "$root/query/export" --decode=pprof.Profile \
			pprof.proto >text
	has text 'sample_type'
	lacks text '^ *[0-9]+[:{ ]'
}

own_decoder() {
	local db=$files/$1.db n ns
	read -r n ns < <(of_file "$db" shape)
	"$weft" export -o a.otlp "$db"
	python3 "$root/tests/cli/read_profile.py" otlp a.otlp >got
	same "$1, OTLP shape" "$(json got 'sum(p["sum"]
		for p in j["profiles"] if p["scope"] == "weft")')" "$n"
	same "$1, OTLP detail" "$(json got 'sum(p["points"] * p["period"]
		for p in j["profiles"] if p["scope"] == "weft.detail")')" \
		"$(of_file "$db" detail | cut -d' ' -f2)"
	"$weft" export --format csv "$db" >a.csv
	same "$1, CSV" "$(python3 -c '
import csv
n = v = 0
for row in csv.DictReader(open("a.csv", newline="")):
    n += int(row["count"])
    v += int(row["value"])
print(n, v)')" "$n $ns"
}

# Far below the text of the stacks: what query/frames.h says, and a tree of
# names for folded. The limit is of the address space.
memory() {
	local format
	for format in folded pprof speedscope otlp csv; do
		python3 - "$weft" "$format" "$files/million.db" <<-'END' >>"$files/figures"
		import os, resource, subprocess, sys
		limit = 600 << 20
		run = subprocess.run(
		    [sys.argv[1], "export", "--format", sys.argv[2], "-o", "out",
		     sys.argv[3]],
		    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
		                                          (limit, limit)))
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
		print(f"million, {sys.argv[2]}: {peak} MiB at most, "
		      f"{os.path.getsize('out') >> 20} MiB written")
		sys.exit(run.returncode)
		END
	done
}

for file in small tiny hostile million; do
	it "$file: go tool pprof reads it, sums are the file's, it merges" \
		pprof $file
	it "$file: speedscope's importer reads what it is given, totals fit" \
		speedscope $file
	it "$file: the tests' decoder finds the file's sums in OTLP and CSV" \
		own_decoder $file
done
for file in small tiny hostile; do
	it "$file: flamegraph.pl draws it whole, the picture is XML" \
		flamegraph $file
	it "$file: protoc finds nothing that the schemas do not have" \
		schemas $file
done
it "pprof tells labels, inlined functions, build IDs and losses" pprof_labels
it "a million stacks take bounded memory" memory
sed 's/^/# /' "$files/figures"
finish

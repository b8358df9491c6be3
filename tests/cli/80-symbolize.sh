#!/bin/bash
# SPDX-License-Identifier: MIT
# Names after the fact: from which files, and that no others are believed.
# shellcheck disable=SC2317 # functions are called through `it`
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

# offset FILE FUNCTION: where in the file it is, plus 1
offset() {
	local address
	address=0x$(nm "$1" | awk -v name="$2" '$3 == name { print $1 }')
	readelf -lW "$1" | awk '$1 == "LOAD" && / R E / { print $2, $3, $5 }' |
		while read -r at start size; do
			[ $((address - start)) -lt $((size)) ] &&
				echo $((at + address - start + 1))
		done
}

# program NAME [FLAG...]: NAME.full with symbols alpha and beta, NAME stripped,
# NAME.debug what was stripped; $id its build ID, $alpha and $beta offsets
program() {
	local name=$1
	shift
	[ -e "$name.c" ] || cat >"$name.c" <<-'END'
		int sink;
		__attribute__((noinline)) void alpha(void) { sink++; }
		__attribute__((noinline)) void beta(void) { sink--; alpha(); }
		int main(void) { beta(); return sink; }
	END
	gcc -O1 -g -Wl,--build-id "$@" -o "$name.full" "$name.c"
	cp "$name.full" "$name"
	objcopy --only-keep-debug "$name" "$name.debug"
	strip "$name"
	id=$(readelf -n "$name.full" | awk '/Build ID:/ { print $3 }')
	alpha=$(offset "$name.full" alpha)
	beta=$(offset "$name.full" beta)
}

# of_program FILE PATH [SQL...]: a recording whose binary 1 is the program, at
# PATH; frames 3 and 4 are alpha and beta, and have no names
of_program() {
	local file=$1 path=$2 has_id=NULL
	shift 2
	[ -z "$id" ] || has_id="'$id'"
	recording "$file" "DELETE FROM frame_function WHERE frame_id IN (3, 4);
		UPDATE frame SET address = $alpha WHERE id = 3;
		UPDATE frame SET address = $beta WHERE id = 4;
		UPDATE binary SET path = '$path', build_id = $has_id WHERE id = 1;
		UPDATE binary SET build_id = '00112233' WHERE id = 3;" "$@"
}

# put FILE DIR [SUFFIX]: by build ID into DIR/.build-id
put() {
	mkdir -p "$2/.build-id/${id:0:2}"
	cp "$1" "$2/.build-id/${id:0:2}/${id:2}$3"
}

ask() {
	sqlite3 -readonly "$1" "$2"
}

# named FILE SOURCE: alpha and beta are named, by that source
named() {
	[ "$(ask "$1" "SELECT group_concat(f.id || n.name || n.source, ' ')
		FROM frame f JOIN frame_function ff ON ff.frame_id = f.id
		JOIN function n ON n.id = ff.function_id
		WHERE f.id IN (3, 4)")" = "3alpha$2 4beta$2" ] && return 0
	ask "$1" "SELECT * FROM frame_function JOIN function ON id = function_id"
	return 1
}

unnamed() {
	[ "$(ask "$1" "SELECT count(*) FROM frame_function
		WHERE frame_id IN (3, 4)")" = 0 ]
}

# state: of the program, as --json says it
state() {
	json out '[b["state"] for b in j["binaries"] if b["path"] == "/opt/app"][0]'
}

elsewhere() {
	program app
	of_program weft.db /opt/app
	recordings=$(ask weft.db "SELECT * FROM recording")
	mkdir -p symfs/opt
	cp app symfs/opt
	put app.debug symfs/usr/lib/debug .debug
	run "$weft" symbolize --symfs symfs weft.db
	expect 0
	[ ! -s err ]
	has out '^5 of 8 frames in files were named, 7 are now$'
	has out '^ +7 +5 +7  build-id 2 +/opt/app$'
	has out '^ +1 +0 +0  - +/usr/lib/lib;c\.so: not found$'
	named weft.db build-id
	[ "$(ask weft.db "SELECT * FROM recording")" = "$recordings" ]
	# closed cleanly, as weft-record leaves it
	[ "$(ls weft.db*)" = weft.db ]
	[ "$(ask weft.db 'PRAGMA journal_mode')" = delete ]
	run "$weft" top weft.db
	expect 0
	has out ' alpha +app$'
	run "$weft" symbolize --symfs symfs weft.db
	expect 4
	has err 'nothing more could be named'
}

nothing_to_do() {
	recording weft.db "DELETE FROM stack_node WHERE frame_id = 7;
		DELETE FROM frame WHERE id = 7;"
	run "$weft" symbolize
	expect 4
	has err 'nothing to do: every frame in a file has a name'
	is out '7 of 7 frames in files were named, 7 are now'
}

places() {
	program app
	mkdir -p path/opt full debug
	cp app.full path/opt/app
	put app.full full ""
	put app debug ""
	put app.debug debug .debug
	of_program weft.db /opt/app
	run "$weft" symbolize -i weft.db --symfs path
	expect 0
	named weft.db symtab
	of_program weft.db /opt/app
	run env WEFT_DB=weft.db "$weft" symbolize --symfs full
	expect 0
	named weft.db symtab
	of_program weft.db /opt/app
	run "$weft" symbolize --debug-dir debug
	expect 0
	named weft.db build-id
	# the path itself, and what its debug link names
	objcopy --add-gnu-debuglink=app.debug app linked
	of_program weft.db "$PWD/linked"
	run "$weft" symbolize
	expect 0
	named weft.db debuglink
}

look_alike() {
	local tree
	program other -DOTHER
	other_id=$id
	sed 's/sink--/sink -= 2/' other.c >app.c
	program app
	of_program weft.db /opt/app
	mkdir -p symfs/opt
	cp other.full symfs/opt/app
	put other.debug symfs .debug
	put other.full symfs ""
	run "$weft" symbolize --symfs symfs --json
	expect 4
	is_json out
	[ "$(state)" = refused ]
	tree=symfs/.build-id/${id:0:2}/${id:2}
	[ "$(json out '" ".join(o["path"] + " " + o["build_id"]
		for o in j["binaries"][0]["others"])')" = \
		"symfs/opt/app $other_id $tree $other_id $tree.debug $other_id" ]
	unnamed weft.db
	run "$weft" symbolize --symfs symfs
	expect 4
	has out '/opt/app: not it, or not readable: symfs/opt/app$'
	# each of them once, and what it is
	has out "^ +symfs/opt/app is another file: its build ID is $other_id, not $id\$"
	[ "$(grep -c ' is another file: ' out)" = 3 ]
	has err '3 files are there and not used, the report says why; '
	# what is named so is no reason not to look further
	cp app.full symfs/.build-id/"${id:0:2}/${id:2}"
	run "$weft" symbolize --symfs symfs
	expect 0
	named weft.db symtab
}

# The program is there, what it is named by is of another build.
look_alike_debug() {
	program other
	other_id=$id
	sed 's/sink--/sink -= 2/' other.c >app.c
	program app
	of_program weft.db /opt/app
	mkdir -p symfs/opt
	cp app symfs/opt
	put app symfs ""
	put other.debug debug .debug
	run "$weft" symbolize --symfs symfs --debug-dir debug
	expect 4
	has out "^ +debug/.build-id/${id:0:2}/${id:2}\.debug is another file: its build ID is $other_id, not $id\$"
	has err '1 file is there and not used, the report says why; '
	run "$weft" symbolize --symfs symfs --debug-dir debug --json
	[ "$(state)" = proven ]
	unnamed weft.db
	# one that has none
	objcopy --remove-section .note.gnu.build-id other.debug bare.debug
	put bare.debug debug .debug
	run "$weft" symbolize --symfs symfs --debug-dir debug
	expect 4
	has out "\.debug is another file: it has no build ID, not $id\$"
	# what names all leaves nothing to say of others
	put app.debug symfs .debug
	run "$weft" symbolize --symfs symfs --debug-dir debug
	expect 0
	lacks out 'another file'
	named weft.db build-id
}

# What is at hand and cannot be used is told, each once, where it matters.
passed_over() {
	local tree
	program app
	objcopy --remove-section .note.gnu.build-id app.debug bare.debug
	objcopy --add-gnu-debuglink=bare.debug app linked
	tree=.build-id/${id:0:2}/${id:2}
	mkdir -p symfs/opt symfs/.build-id/"${id:0:2}" \
		symfs/usr/lib/debug/.build-id/"${id:0:2}" debug/.build-id/"${id:0:2}"
	cp linked symfs/opt/app
	# which is not what it links to any more
	cp bare.debug "symfs/opt/bare.debug"
	echo >>symfs/opt/bare.debug
	ln -s "${id:2}.debug" "symfs/$tree.debug"
	: >"symfs/usr/lib/debug/$tree.debug"
	mkfifo "debug/$tree.debug" "symfs/$tree"
	of_program weft.db /opt/app
	run timeout 60 "$weft" symbolize --symfs symfs --debug-dir debug
	expect 4
	has out "^ +symfs/opt/bare\.debug is another file: its build ID, or else its CRC, is not what was linked\$"
	has out "^ +symfs/$tree\.debug leads through too many symbolic links\$"
	has out "^ +symfs/usr/lib/debug/$tree\.debug is empty, or no ELF file\$"
	has out "^ +debug/$tree\.debug is no regular file\$"
	has out "^ +symfs/$tree is no regular file\$"
	[ "$(grep -cE '(symfs|debug)/.* (is|leads) ' out)" = 5 ]
	has out '^What is used is a regular file in ELF '
	has err '5 files are there and not used, the report says why; '
	run timeout 60 "$weft" symbolize --symfs symfs --debug-dir debug --json
	expect 4
	[ "$(json out '[o["why"] for o in j["binaries"][0]["others"]
		if o["path"].startswith("debug/")]')" = "['is no regular file']" ]
	# what comes after some of them, and names all
	rm "debug/$tree.debug"
	put app.debug debug .debug
	run "$weft" symbolize --symfs symfs --debug-dir debug
	expect 0
	lacks out ' (is|leads) (no|another|through)'
	lacks out '^What is used'
	named weft.db build-id
}

# Of very many the first are told, and the others counted.
passed_over_often() {
	recording weft.db "DELETE FROM frame_function;
		WITH RECURSIVE n (i) AS
			(SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
		INSERT INTO binary (id, kind, path, identity, build_id)
		SELECT i, 'elf', '/opt/' || i || char(27), '', printf('%08x', i) FROM n;
		INSERT INTO frame (id, binary_id, address, in_kernel)
		SELECT id, id, 0, 0 FROM binary WHERE id >= 100"
	mkdir -p symfs/opt
	for i in {100..199}; do
		: >"symfs/opt/$i$(printf '\033')"
	done
	run timeout 60 "$weft" symbolize --symfs symfs
	expect 4
	[ "$(grep -c 'is empty, or no ELF file$' out)" = 64 ]
	has out '^36 more files were not used; --json lists them$'
	lacks out "$(printf '\033')"
}

no_build_id() {
	program app -Wl,--build-id=none
	[ -z "$id" ]
	inode=$(stat -c '%Hd:%Ld:%i' app.full)
	of_program weft.db "$PWD/app.full" \
		"UPDATE binary SET identity = '$inode' WHERE id = 1"
	cp weft.db moved.db
	cp app.full new
	mv new app.full # an inode of its own
	run "$weft" symbolize
	expect 4
	unnamed weft.db
	mkdir -p "symfs$PWD"
	cp app.full "symfs$PWD"
	run "$weft" symbolize --symfs symfs
	expect 0
	has out 'app.full: has no build ID; --symfs vouches for it$'
	named weft.db symtab
	inode=$(stat -c '%Hd:%Ld:%i' app.full)
	of_program weft.db "$PWD/app.full" \
		"UPDATE binary SET identity = '$inode' WHERE id = 1"
	run "$weft" symbolize
	expect 0
	named weft.db symtab
}

debug_file_alone() {
	program app
	of_program weft.db /opt/app
	mkdir none
	put app.debug debug .debug
	run "$weft" symbolize --debug-dir debug --json
	expect 4
	[ "$(state)" = silent ]
	unnamed weft.db
	run "$weft" symbolize --debug-dir debug
	has out 'does not tell file offsets; the program is needed too'
	# elfutils leaves the segments as they were
	cp app.full app2
	eu-strip -f app2.debug app2
	put app2.debug debug .debug
	run "$weft" symbolize --debug-dir debug
	expect 0
	named weft.db build-id
}

again() {
	local other="SELECT ff.*, n.name, n.source FROM frame_function ff
		JOIN function n ON n.id = ff.function_id
		WHERE frame_id NOT IN (3, 4) ORDER BY 1, 2"
	program app
	mkdir -p symfs/opt
	cp app.full symfs/opt/app
	of_program weft.db /opt/app "INSERT INTO function VALUES
		(20, 'exported', NULL, NULL, NULL, 'dynsym'),
		(21, 'from_future', NULL, NULL, NULL, 'oracle');
		UPDATE frame SET address = address + 1 WHERE id = 5;
		INSERT INTO frame_function VALUES (3, 0, 20, NULL);
		UPDATE function SET source = 'perf-map' WHERE id = 4"
	before=$(ask weft.db "$other")
	# without --again what has a name is left alone
	run "$weft" symbolize --symfs symfs
	expect 0
	[ "$(ask weft.db "SELECT name FROM frame_text WHERE frame_id = 3")" = exported ]
	# sources that know nothing take nothing away
	run "$weft" symbolize --again
	expect 4
	[ "$(ask weft.db "SELECT name FROM frame_text WHERE frame_id = 3")" = exported ]
	run "$weft" symbolize --again --symfs symfs
	expect 0
	has out '; 1 got a better name$'
	named weft.db symtab
	[ "$(ask weft.db "$other")" = "$before" ]
	[ "$(ask weft.db "SELECT count(*) FROM function WHERE name = 'exported'")" = 0 ]
	# equal answers change nothing
	run "$weft" symbolize --again --symfs symfs
	expect 4
	has out '; 0 got a better name$'
	# more inlined functions, or a source that we cannot judge, are kept
	of_program weft.db /opt/app "INSERT INTO function VALUES
		(21, 'from_future', NULL, NULL, NULL, 'oracle');
		INSERT INTO frame_function VALUES (3, 0, 7, NULL), (3, 1, 8, NULL),
			(4, 0, 21, NULL)"
	run "$weft" symbolize --again --symfs symfs
	expect 4
	[ "$(ask weft.db "SELECT group_concat(folded) FROM frame_text
		WHERE frame_id IN (3, 4)")" = 'fast_copy;memcpy,from_future' ]
}

kernel_and_jit() {
	program app
	mkdir -p symfs/opt
	cp app.full symfs/opt/app
	of_program weft.db /opt/app "UPDATE binary SET kind = 'jit' WHERE id = 1"
	run "$weft" symbolize --again --symfs symfs
	expect 4
	unnamed weft.db
	of_program weft.db /opt/app "UPDATE frame SET in_kernel = 1 WHERE id = 3"
	run "$weft" symbolize --again --symfs symfs
	expect 0
	[ "$(ask weft.db "SELECT count(*) FROM frame_function WHERE frame_id = 3")" = 0 ]
}

hostile_files() {
	local kind
	program app
	for kind in fifo loop cut directory outside device text; do
		mkdir -p "$kind/opt"
	done
	mkfifo fifo/opt/app
	ln -s app loop/opt/app
	head -c 3000 app.full >cut/opt/app
	mkdir directory/opt/app
	ln -s "$PWD/app.full" outside/opt/app
	ln -s /dev/zero device/opt/app
	echo hello >text/opt/app
	for kind in fifo loop cut directory outside device text; do
		of_program weft.db /opt/app
		run timeout 60 "$weft" symbolize --symfs "$kind" --json
		expect 4
		is_json out
		# what a link in DIR names is looked for in DIR
		case $kind in
		outside | device) [ "$(state)" = absent ] ;;
		# the build ID is there, symbols are not
		cut) [ "$(state)" = proven ] ;;
		*) [ "$(state)" = refused ] ;;
		esac
		unnamed weft.db
		[ "$kind" = cut ] || [ ! -s err ] ||
			lacks err 'section headers'
	done
	# which is told; what it says of itself finds its debug file still
	put app.debug cut .debug
	run "$weft" symbolize --symfs cut
	expect 0
	[ "$(grep -c "cut/opt/app': symbols of the file itself are not read: its section headers are cut off or damaged" err)" = 1 ]
	named weft.db build-id
}

hostile_recording() {
	program app
	of_program weft.db "/opt/../$(printf '\033')[2Japp" \
		"UPDATE binary SET build_id = '../../../../opt/app' WHERE id = 1"
	run "$weft" symbolize --symfs .
	expect 4
	lacks out "$(printf '\033')"
	run "$weft" symbolize --json
	expect 4
	is_json out
	of_program weft.db relative "CREATE TRIGGER t INSERT ON function BEGIN
		SELECT 1; END"
	run "$weft" symbolize
	expect 1
	has err 'it has triggers'
}

locked() {
	program app
	of_program weft.db /opt/app
	mkdir -p symfs/opt
	cp app.full symfs/opt/app
	run python3 - "$weft" <<-'END'
		import fcntl, os, struct, subprocess, sys
		fd = os.open("weft.db.lock", os.O_RDWR | os.O_CREAT)
		# F_OFD_SETLK
		fcntl.fcntl(fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
		sys.exit(subprocess.call([sys.argv[1], "symbolize", "--symfs", "symfs"]))
	END
	expect 1
	has err 'weft.db'
	unnamed weft.db
}

# serve DIR: by HTTP on loopback, until the end of the test; $port, log in
# file served
serve() {
	python3 - "$1" >port 2>served <<-'END' &
		import functools, http.server, sys
		handler = functools.partial(http.server.SimpleHTTPRequestHandler,
		                            directory=sys.argv[1])
		server = http.server.HTTPServer(("127.0.0.1", 0), handler)
		print(server.server_port, flush=True)
		server.serve_forever()
	END
	server=$!
	trap 'kill $server' EXIT
	while [ ! -s port ]; do sleep 0.1; done
	port=$(cat port)
}

debuginfod() {
	program app
	mkdir -p "www/buildid/$id" cache
	cp app.debug "www/buildid/$id/debuginfo"
	cp app "www/buildid/$id/executable"
	serve www
	export DEBUGINFOD_URLS="http://127.0.0.1:$port" DEBUGINFOD_CACHE_PATH=$PWD/cache
	of_program weft.db /opt/app
	# not without being asked
	run "$weft" symbolize
	expect 4
	[ ! -s served ]
	run "$weft" symbolize --debuginfod
	expect 0
	[ ! -s err ]
	named weft.db build-id
	has out 'lib;c\.so: not found, nor by debuginfod$'
	has served "GET /buildid/$id/debuginfo"
	has served "GET /buildid/$id/executable"
	# from the cache
	: >served
	of_program weft.db /opt/app
	run "$weft" symbolize --debuginfod
	expect 0
	lacks served "$id"
	# what a server says is proven as well
	rm -rf cache
	cp /bin/true "www/buildid/$id/executable"
	sed 's/sink--/sink -= 2/' app.c >other.c
	good=$id
	program other
	cp other.debug "www/buildid/$good/debuginfo"
	id=$good
	of_program weft.db /opt/app
	run "$weft" symbolize --debuginfod --json
	expect 4
	[ "$(state)" = refused ]
	unnamed weft.db
}

# "The servers have nothing" is not "nobody answered".
debuginfod_is_down() {
	program app
	mkdir -p www cache
	serve www
	kill "$server"
	wait "$server" || :
	trap - EXIT
	export DEBUGINFOD_URLS="http://127.0.0.1:$port" DEBUGINFOD_CACHE_PATH=$PWD/cache
	of_program weft.db /opt/app
	run "$weft" symbolize --debuginfod
	expect 4
	has err "debuginfod could not be asked for [0-9]+ files, .*: Connection refused"
	unnamed weft.db
}

command_line() {
	recording weft.db
	run "$weft" symbolize --help
	expect 0
	has out '^usage: weft symbolize '
	[ "$(wc -L <out)" -le 100 ]
	run "$weft" symbolize --agian
	expect 2
	has err "did you mean '--again'"
	run "$weft" symbolize a b
	expect 2
	run "$weft" symbolize --symfs
	expect 2
	has err 'needs a value'
	run "$weft" symbolize --symfs nonesuch
	expect 2
	run env -u DEBUGINFOD_URLS "$weft" symbolize --debuginfod
	expect 2
	has err 'DEBUGINFOD_URLS'
	run "$weft" symbolize absent.db
	expect 1
	has err "cannot open 'absent.db'"
	[ ! -e absent.db ]
	echo hello >text
	run "$weft" symbolize text
	expect 1
	is text hello
}

it "a stripped program is named from a copy of its files elsewhere" elsewhere
it "a recording in which all has names is left alone" nothing_to_do
it "files are found by path, by build ID and by debug link" places
it "a file with another build ID is not believed" look_alike
it "a debug file with another build ID is not believed, and told" look_alike_debug
it "what is at hand and cannot be used is told, and why" passed_over
it "of very many such files the first are told" passed_over_often
it "without a build ID the inode decides, or who gives --symfs" no_build_id
it "a debug file alone names only if it tells file offsets" debug_file_alone
it "--again makes names better, and never takes one away" again
it "code of the kernel and of JITs is left alone" kernel_and_jit
it "files that are no programs are refused and hold nobody up" hostile_files
it "what a recording says of its binaries is not trusted" hostile_recording
it "a recording that is being written is refused" locked
it "debuginfod is asked if that is wanted, and proven too" debuginfod
it "servers that do not answer are told" debuginfod_is_down
it "the command line says what is wrong" command_line
finish

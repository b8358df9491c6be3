# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# What the tests of split DWARF share: a library in $split, whose function
# outer() is asked for. Source it after tests/lib.sh.

split=$(mktemp -d)
trap 'rm -rf "$split"' EXIT

# split_needs PROGRAM: where it is not there, or files cannot be given away,
# skip all
split_needs() {
	if [ "$(id -u)" != 0 ] || ! command -v "$1" >/dev/null; then
		echo "1..0 # SKIP needs root, to give a file to another user, and $1"
		exit 0
	fi
}

# split_link FLAG: x.c becomes whole
split_link() {
	gcc -O2 "$1" -gsplit-dwarf -fPIC -shared -nostdlib -Wl,--build-id \
		-o whole "$split/x.c"
}

# split_strip: whole becomes library, and whole.debug, which that names
split_strip() {
	objcopy --only-keep-debug whole whole.debug
	objcopy --strip-debug --add-gnu-debuglink=whole.debug whole library
}

# chain FILE NAMES: of the code at outer(), innermost first
chain() {
	local got
	got=$(nm "$split/whole" | awk '/ T outer$/ { print $1 }' |
		"$(dirname "$weft")/lines/ask_lines" "$split/$1" |
		sed -n '2~2p' | tr '\n' ' ')
	[ "$got" = "$2 " ] || {
		echo "'$got', not '$2 '"
		return 1
	}
}

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What -gsplit-dwarf moved to other files is read where the file that names
# them is root's or ours, and nowhere else: libdw opens what it is told.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${WEFT_BUILD:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "$(id -u)" != 0 ] || ! command -v objcopy >/dev/null; then
	echo '1..0 # SKIP needs root, to give a file to another user, and objcopy'
	exit 0
fi

cd "$work"
echo 'int outer(int x) { return x + 1; }' >x.c
gcc -O2 -gdwarf-5 -gsplit-dwarf -fPIC -shared -nostdlib -Wl,--build-id \
	-o whole "$work/x.c"
objcopy --only-keep-debug whole whole.debug
objcopy --strip-debug --add-gnu-debuglink=whole.debug whole library
address=$(nm whole | awk '/ T outer$/ { print $1 }')

# name_in FILE: what it is called at the address
name_in() {
	echo "$address" | "$build/lines/ask_lines" "$work/$1" | sed -n 2p
}

n=0
failed=0
# check WHAT IS SHOULD
check() {
	n=$((n + 1))
	if [ "$2" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "# '$2', not '$3'"
		failed=1
	fi
}

check "a file of root's" "$(name_in whole)" outer
check "a file of root's, with a debug file of root's" \
	"$(name_in library)" outer
chown 65534 whole.debug
check "a file of root's, with a debug file of another user's" \
	"$(name_in library)" '??'
chown 65534 whole
check "a file of another user's" "$(name_in whole)" '??'
echo "1..$n"
exit $failed

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Split DWARF in a package, FILE.dwp, which lies beside the program or its
# debug file: it is read as a debug file is, also for other users' programs.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${WEFT_BUILD:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "$(id -u)" != 0 ] || ! command -v dwp >/dev/null; then
	echo '1..0 # SKIP needs root, to give a file to another user, and dwp'
	exit 0
fi

cd "$work"
cat >x.c <<'C'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
int outer(int x) { return inner(x) + 1; }
C
gcc -O2 -gdwarf-4 -gsplit-dwarf -fPIC -shared -nostdlib -Wl,--build-id \
	-o whole "$work/x.c"
dwp -e whole -o whole.dwp
rm ./*.dwo
objcopy --only-keep-debug whole whole.debug
objcopy --strip-debug --add-gnu-debuglink=whole.debug whole library
address=$(nm whole | awk '/ T outer$/ { print $1 }')

# names_in FILE: the chain at the address
names_in() {
	echo "$address" | "$build/lines/ask_lines" "$work/$1" |
		sed -n '2~2p' | tr '\n' ' '
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

check "beside the program" "$(names_in whole)" 'inner outer '
mv whole.dwp library.dwp
check "not there" "$(names_in whole)" '?? '
check "a program with a debug file" "$(names_in library)" 'inner outer '
mv library.dwp whole.debug.dwp
check "beside the debug file" "$(names_in library)" 'inner outer '
mv whole.debug.dwp whole.dwp
chown 65534 whole
check "a program of another user's" "$(names_in whole)" 'inner outer '
chmod 600 whole.dwp
check "which may not read it" "$(names_in whole)" '?? '
rm whole.dwp
mkfifo whole.dwp
check "a FIFO" "$(names_in whole)" '?? '
echo "1..$n"
exit $failed

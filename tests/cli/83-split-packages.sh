#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Split DWARF in a package, FILE.dwp, which lies beside the program or its
# debug file: it is read as a debug file is, also for other users' programs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/cli/split.sh
. "$(dirname "$0")/split.sh"
split_needs dwp

set -e
cd "$split"
cat >x.c <<'C'
static inline __attribute__((always_inline)) int inner(int x) { return x * x; }
int outer(int x) { return inner(x) + 1; }
C
split_link -gdwarf-4
dwp -e whole -o whole.dwp
rm ./*.dwo
split_strip
set +e

it "beside the program" chain whole 'inner outer'
mv whole.dwp library.dwp
it "not there" chain whole '??'
it "a program with a debug file" chain library 'inner outer'
mv library.dwp whole.debug.dwp
it "beside the debug file" chain library 'inner outer'
mv whole.debug.dwp whole.dwp
chown 65534 whole
it "a program of another user's" chain whole 'inner outer'
chmod 600 whole.dwp
it "which may not read it" chain whole '??'
rm whole.dwp
mkfifo whole.dwp
it "a FIFO" chain whole '??'
finish

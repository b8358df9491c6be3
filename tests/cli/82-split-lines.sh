#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What -gsplit-dwarf moved to other files is read where the file that names
# them is root's or ours, and nowhere else: libdw opens what it is told.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=tests/cli/split.sh
. "$(dirname "$0")/split.sh"
split_needs objcopy

set -e
cd "$split"
echo 'int outer(int x) { return x + 1; }' >x.c
split_link -gdwarf-5
split_strip
set +e

it "a file of root's" chain whole outer
it "a file of root's, with a debug file of root's" chain library outer
chown 65534 whole.debug
it "a file of root's, with a debug file of another user's" chain library '??'
chown 65534 whole
it "a file of another user's" chain whole '??'
finish

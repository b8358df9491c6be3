#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What fuzzing has found, and seeds, through every parser of foreign bytes.
set -eu
cd "$(dirname "$0")/../.."
WEFT_BUILD=${WEFT_BUILD:-build}

n=0
failed=0
for source in tests/fuzz/f_*.c; do
	name=$(basename "$source" .c)
	name=${name#f_}
	corpus=tests/fuzz/corpus/$name
	n=$((n + 1))
	if "$WEFT_BUILD/fuzz/f_$name" "$corpus" >/dev/null 2>&1; then
		echo "ok $n - the corpus of $name is read without harm"
	else
		echo "not ok $n - the corpus of $name is read without harm"
		"$WEFT_BUILD/fuzz/f_$name" "$corpus" 2>&1 | tail -n 20 |
			sed 's/^/# /'
		failed=1
	fi
done
echo "1..$n"
exit $failed

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The comparison of 20-unwind-against-gdb.sh, on lists made by hand: frames by
# one letter, leaf first.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
count=0
failed=0

list() {
	printf 'thread\t7\n'
	printf %s "$1" | sed 's/./frame	&	f&	x\n/g'
}

# compared OURS THEIRS EXPECTED
compared() {
	count=$((count + 1))
	list "$1" >"$dir/ours"
	list "$2" >"$dir/theirs"
	awk -f "$here/compare-frames.awk" "$dir/ours" "$dir/theirs" |
		sed 's/ (.*//' | tr '\t\n' '  ' | sed 's/ $//' >"$dir/found"
	if [ "$(cat "$dir/found")" = "$3" ]; then
		echo "ok $count - $1 against $2"
	else
		echo "# found: $(cat "$dir/found")"
		echo "not ok $count - $1 against $2 is $3"
		failed=1
	fi
}

compared abcd abcd 'total 1 1 4 4'
compared ab abcd 'total 1 0 4 2 ours_ends fb in x'
compared abcd ab 'total 1 0 4 2 theirs_ends fb in x'
compared abd abcd 'total 1 0 4 3 ours_lacks fb in x'
compared abcd acd 'total 1 0 4 3 theirs_lacks fa in x'
compared abcd axcd 'total 1 0 4 3 differ fa in x'
compared abcd axyz 'total 1 0 4 1 differ fa in x'
compared xbcd abcd 'total 1 0 4 3 differ the leaf'
compared aaaa aaa 'total 1 0 4 3 theirs_ends fa in x'
printf 'thread\t8\nframe\ta\n' >"$dir/other"
list a >"$dir/ours"
awk -f "$here/compare-frames.awk" "$dir/ours" "$dir/other" | sort |
	tr '\t\n' '  ' >"$dir/found"
count=$((count + 1))
if [ "$(cat "$dir/found")" = 'absent 7 absent 8 total 0 0 0 0 ' ]; then
	echo "ok $count - a thread that only one has is named"
else
	echo "not ok $count - a thread that only one has is named"
	failed=1
fi
echo "1..$count"
exit "$failed"

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The publisher on aarch64: compiled without a warning, and run under an
# emulator, where it looks at itself. The same here, for comparison.
set -eu
publisher=$(cd "$(dirname "$0")/../../tools/publisher" && pwd)
source=$(dirname "$0")/service/self_check.c
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# claims NAME: what a run said, as TAP
claims() {
	while read -r result; do
		count=$((count + 1))
		echo "$result" | sed "s/ - / $count - $1: /"
		case $result in "not ok"*) failed=1 ;; esac
	done <"$dir/out"
}

# run NAME COMPILER [COMMAND...]
run() {
	name=$1
	compiler=$2
	shift 2
	"$compiler" -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic -Werror \
		-static -I"$publisher" "$source" "$publisher/otel-thread-ctx.c" \
		-o "$dir/check"
	# "$@" is the emulator, which the program is told of
	"$@" "$dir/check" "$@" >"$dir/out" || true
	[ -s "$dir/out" ] || echo "not ok - it runs" >"$dir/out"
	claims "$name"
}

count=0
failed=0
run here cc
if command -v aarch64-linux-gnu-gcc >/dev/null &&
	command -v qemu-aarch64 >/dev/null
then
	run aarch64 aarch64-linux-gnu-gcc qemu-aarch64
else
	echo "# skipped aarch64: needs gcc-aarch64-linux-gnu and qemu-user"
fi
echo "1..$count"
exit $failed

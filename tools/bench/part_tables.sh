#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Unwind tables: what they take to build and to keep, for some known files and
# for all programs and libraries of this machine.
set -eu
# shellcheck source=tools/bench/measure.sh
. "$(dirname "$0")/measure.sh"
build_table=$WEFT_BUILD/bench/build_table
title "tables: unwind tables, built by one CPU"

# What of the known ones is here.
known() {
	find /usr/lib -maxdepth 2 -name libc.so.6
	readlink -f /usr/bin/python3
	gcc -print-prog-name=cc1
	find /usr/lib -name 'libLLVM-*.so*' -type f 2>/dev/null | head -n 1
}

printf '%-28s %8s %8s %9s %9s %6s %4s %10s %7s\n' file ms "code MB" entries \
	rows rules bad bytes "% code"
known | $build_table >"$dir/known"
awk -F '\t' 'NF > 2 {
	sub(/.*\//, "", $1)
	printf "%-28s %8.1f %8.1f %9d %9d %6d %4d %10d %7.1f\n", $1, $2, $3 / 1e6,
		$4, $5, $6, $7, $8, 100 * $8 / $3 }' "$dir/known"

# sums WORDS FILE
sums() {
	awk -F '\t' -v words="$1" '
		/Exec format error/ { next }
		NF == 2 { none[$2]++; next }
		{ files++; ms += $2; code += $3; rows += $5; bad += $7 }
		$8 == 0 { without++ }
		{ bytes += $8; if ($8 > most) { most = $8; largest = $1 } }
		$2 > longest { longest = $2; slowest = $1 }
		END {
			printf "%s: %d ELF files, %d of them without unwind entries\n",
				words, files, without
			printf "    %.1f MB of tables for %.1f MB of code " \
				"(%.1f %%), %d rows, %d not to be expressed\n",
				bytes / 1e6, code / 1e6, 100 * bytes / code, rows, bad
			printf "    %.2f s to build all; longest %.0f ms, %s\n",
				ms / 1e3, longest, slowest
			printf "    largest %.2f MB, %s\n", most / 1e6, largest
			for (why in none)
				printf "    %d have none: %s\n", none[why], why
		}' "$2"
}

# Each file once, whatever its names. What is not ELF says so.
find /usr/bin /usr/sbin /usr/lib /usr/libexec -xdev -type f -size +1k \
	! -name '*.o' ! -name '*.debug' ! -path '*/debug/*' >"$dir/all"
$build_table <"$dir/all" >"$dir/built"
sums "/usr/bin, /usr/sbin, /usr/lib, /usr/libexec" "$dir/built"

# What a recording of the whole machine would need now.
cat /proc/[0-9]*/maps 2>/dev/null |
	awk '$2 ~ /x/ && $6 ~ /^\// && !seen[$6]++ { print $6 }' >"$dir/mapped"
$build_table <"$dir/mapped" >"$dir/needed"
sums "mapped by running processes" "$dir/needed"

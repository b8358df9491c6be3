#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Functions, inlined ones too, files and lines as an inspector tells them,
# against eu-addr2line and binutils' addr2line, at addresses spread evenly over
# the code of Debian's libraries with their debug files, and of programs built
# here. The judges differ from each other, so that one of them must agree; the
# kinds in which addresses are counted:
#
#   equal          the whole chain, names, files and lines, as a judge has it
#   neither        no side knows anything: padding, code without DWARF
#   theirs-symbol  judges fall back to the symbol table, for code that has
#                  lines but no function, or neither; we ask for symbols apart.
#                  Of code without DWARF (of crtstuff.c) binutils' has the file
#                  from there, too, and eu-addr2line the last line before it
#   alias          another name of the same code, with and without __GI_
#
# Where no judge agrees, witnesses are asked, and must have what we have:
#
#   by-llvm        llvm-symbolizer has the whole chain, names, files and lines.
#                  Seen: of clang's DWARF 5 the judges leave out what was
#                  inlined, elfutils all lines, and binutils takes the file for
#                  another at three addresses; of libbfd and libctf, which are
#                  of -flto and went through dwz, both leave out the innermost;
#                  elfutils leaves that out in Go's, where binutils repeats the
#                  name of the outermost
#   by-gdb         gdb's blocks have the functions, a judge the place. Seen:
#                  functions that dwz moved to another file (startswith(),
#                  bfd.h), whose names llvm-symbolizer does not find; Go's
#                  assembly, whose symbols have .abi0 added to what DWARF says;
#                  parts of functions that -flto renamed (.lto_priv)
#   by-both        gdb has the functions, llvm-symbolizer all places. Seen: where a
#                  function was inlined twice, one call after the other, an
#                  instruction that is of both; elfutils has the second call,
#                  binutils none
#   no-unit        a judge has a line of padding behind a function: the line
#                  table has a row for it, but no unit of DWARF a range, say gdb
#                  and llvm-symbolizer, too
#
# What else there may be is not explained, and fails the test:
#
#   ours-missing   a judge knows more than we do
#   theirs-missing we know more than both
#   chain, name, file, line: what of it differs
#
# Judges alone: for each file also the share that a judge has as we do, without
# witnesses. Of clang's DWARF 5, of Go's, and of what binutils built with -flto
# and dwz, the judges leave out what was said above; of all other files, 20 and
# 50000 addresses at least, one of them must have the same at 99.9 %.
#
# LINES_EACH: addresses of each file (2600); LINES_VERBOSE=-v shows what is not
# explained, -vv also what witnesses explain.
set -u
cd "$(dirname "$0")/../.." || exit 1
here=tests/interop
build=$(cd "${WEFT_BUILD:-build}" && pwd) || exit 1
each=${LINES_EACH:-2600}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for need in eu-addr2line addr2line gdb llvm-symbolizer readelf; do
	command -v $need >/dev/null || {
		echo "1..0 # SKIP no $need: tools/setup.sh interop"
		exit 0
	}
done

cat >"$work/many.cc" <<'C'
#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main(int argc, char **argv)
{
	std::map<std::string, std::vector<int>> seen;
	std::regex word("([a-z]+)([0-9]*)");
	for (int i = 0; i < argc; i++) {
		std::smatch match;
		std::string text = argv[i];
		if (std::regex_search(text, match, word))
			seen[match[1]].push_back(i);
	}
	int sum = 0;
	for (auto &pair : seen) {
		std::sort(pair.second.begin(), pair.second.end());
		sum += pair.second.back();
	}
	return sum;
}
C
cat >"$work/many.rs" <<'R'
use std::collections::BTreeMap;
fn main() {
    let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, word) in std::env::args().enumerate() {
        seen.entry(word.to_lowercase()).or_default().push(i);
    }
    for (word, at) in &seen {
        println!("{word} {:?}", at.iter().map(|i| i * 2).collect::<Vec<_>>());
    }
}
R
cat >"$work/many.go" <<'G'
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

func main() {
	words := strings.Fields(strings.Join(os.Args, " "))
	sort.Strings(words)
	fmt.Println(len(words), words)
}
G

# make NAME COMMAND...: build $work/NAME
make() {
	name=$1
	shift
	"$@" -o "$work/$name" >"$work/log" 2>&1 && return
	echo "# not built: $name"
	sed -n '1,3s/^/#   /p' "$work/log"
}
# separate NAME: the same with its DWARF in a debug file, by build ID
separate() {
	[ -e "$work/$1" ] || return
	mkdir -p "$work/apart"
	objcopy --only-keep-debug "$work/$1" "$work/apart/$1.debug"
	strip -g -o "$work/apart/$1" "$work/$1"
	objcopy --add-gnu-debuglink="$work/apart/$1.debug" "$work/apart/$1"
}
c="-g -fPIC -shared -D_GNU_SOURCE -I. -I$build collector/elf/cfi.c
	collector/elf/fde.c collector/elf/table.c collector/elf/symbols.c
	collector/elf/dwarf.c collector/demangle.c collector/inspect/reply.c"
# shellcheck disable=SC2086
{
	make gcc5.so gcc -O2 -gdwarf-5 $c
	make gcc4.so gcc -O3 -gdwarf-4 -gz $c
	make gccl.so gcc -O2 -flto $c
	make clang5.so clang -O2 -gdwarf-5 $c
	make clang4.so clang -O1 -gdwarf-4 $c
}
make cc g++ -O2 -g "$work/many.cc"
make clangcc clang++ -O2 -g "$work/many.cc"
# Which way to mangle is the default has changed, and may not be asked for.
for way in legacy v0; do
	make rust-$way env RUSTC_BOOTSTRAP=1 rustc -Z unstable-options -g -O \
		-C symbol-mangling-version=$way "$work/many.rs"
done
env GOCACHE="$work/go-cache" go build -o "$work/go" "$work/many.go" \
	>"$work/log" 2>&1 || echo "# not built: go"
for name in gcc5.so clang5.so cc rust-legacy; do
	separate $name
done

lib=/usr/lib/$(gcc -print-multiarch)
{
	for name in libc.so.6 libm.so.6 ld-linux-x86-64.so.2 libresolv.so.2 \
		libmvec.so.1 libthread_db.so.1 libnss_compat.so.2 \
		libc_malloc_debug.so.0 liblua5.4.so.0 libpcre.so.3 \
		libkrb5.so.3 libk5crypto.so.3 libgssapi_krb5.so.2 \
		libgsl.so.27; do
		[ -e "$lib/$name" ] && echo "$lib/$name"
	done
	ls "$lib"/libbfd-*-system.so "$lib"/libopcodes-*-system.so \
		"$lib"/libctf.so.0 2>/dev/null
	echo "$build/weft-record"
	for name in gcc5.so gcc4.so gccl.so clang5.so clang4.so cc clangcc \
		rust-legacy rust-v0 go apart/gcc5.so apart/clang5.so apart/cc \
		apart/rust-legacy; do
		[ -e "$work/$name" ] && echo "$work/$name"
	done
} >"$work/files"

# addresses FILE: of its .text
addresses() {
	readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] *\.text  *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\).*/\1 \2/p' |
		python3 -c "
at, size = (int(word, 16) for word in input().split())
n = min($each, size)
for i in range(n):
    print(hex(at + i * size // n))"
}

: >"$work/all"
: >"$work/judged"
while read -r file; do
	file=$(readlink -f "$file")
	addresses "$file" >"$work/addresses"
	"$build/lines/ask_lines" "$file" <"$work/addresses" >"$work/ours"
	eu-addr2line -a -f -i -e "$file" <"$work/addresses" >"$work/eu" 2>&1
	addr2line -a -f -i -e "$file" <"$work/addresses" >"$work/bin" 2>&1
	python3 $here/compare-lines.py "$work/ours" "$work/eu" "$work/bin" \
		>"$work/asked"
	: >"$work/gdb"
	: >"$work/llvm"
	if [ -s "$work/asked" ]; then
		ADDRESSES=$work/asked gdb -batch -nx \
			-iex 'set debuginfod enabled off' \
			-x $here/gdb-chains.py "$file" 2>/dev/null |
			grep '^0x' >"$work/gdb"
		llvm-symbolizer --output-style=GNU -a -f -i --no-demangle \
			-e "$file" <"$work/asked" >"$work/llvm" 2>&1
	fi
	# shellcheck disable=SC2086
	python3 $here/compare-lines.py ${LINES_VERBOSE-} "$work/ours" \
		"$work/eu" "$work/bin" -w "$work/gdb" "$work/llvm" \
		>"$work/kinds"
	grep -v '^[a-z-]* [0-9]*$' "$work/kinds"
	grep '^[a-z-]* [0-9]*$' "$work/kinds" >>"$work/all"
	case ${file##*/} in
	clang5.so | clangcc | go | libbfd-* | libctf.* | libopcodes-*) whole=0 ;;
	*) whole=1 ;;
	esac
	grep '^[a-z-]* [0-9]*$' "$work/kinds" |
		awk -v file="${file#"$work/"}" -v whole=$whole '
		{ n += $2; text = text " " $0 }
		$1 ~ /^(equal|neither|theirs-symbol|alias)$/ { judged += $2 }
		END {
			printf "# %s:%s; by judges alone %.2f %%\n", file, text,
				n ? 100 * judged / n : 0
			print whole, n, judged + 0 >"/dev/stderr"
		}' 2>>"$work/judged"
done <"$work/files"

awk 'function result(i, holds, claim) {
		printf "%s %d - %s\n", holds ? "ok" : "not ok", i, claim
	}
	{ n[$1] += $2; all += $2 }
	END {
		for (k in n)
			printf "# %-15s %d\n", k, n[k]
		good = n["equal"] + n["neither"] + n["theirs-symbol"]
		good += n["alias"]
		printf "# %d of %d addresses as a judge has them: %.3f %%\n",
			good, all, 100 * good / all
		good += n["by-llvm"] + n["by-gdb"] + n["by-both"]
		printf "# %d with what witnesses have: %.3f %%\n", good,
			100 * good / all
		result(1, all >= 50000, "at least 50000 addresses were compared")
		# What nobody knows shows nothing.
		result(2, n["equal"] + n["by-llvm"] > 0.8 * all,
			"most of them have functions and lines")
		result(3, good >= 0.999 * all,
			"functions, chains and lines agree at 99.9 % of them")
		result(4, good + n["no-unit"] == all,
			"each of the differences is one that is explained")
	}' "$work/all"
n=$(wc -l <"$work/files")
if [ "$n" -ge 20 ]; then
	echo "ok 5 - over $n files"
else
	echo "not ok 5 - over only $n files"
fi
awk '{ all += $2; judged += $3 }
	$1 { files++; of += $2; equal += $3 }
	END {
		printf "# by judges alone: %d of %d addresses of %d files, %.3f %%\n",
			judged, all, NR, 100 * judged / all
		printf "# of which they read all: %d of %d addresses of %d files, %.3f %%\n",
			equal, of, files, of ? 100 * equal / of : 0
		holds = files >= 20 && of >= 50000 && equal >= 0.999 * of
		printf "%s 6 - of 20 files and 50000 addresses judges alone have 99.9 %%\n",
			holds ? "ok" : "not ok"
	}' "$work/judged"
echo "1..6"

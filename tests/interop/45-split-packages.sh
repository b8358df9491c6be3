#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Split DWARF of C++ programs: at each byte of their code, functions, inlined
# ones too, files and lines are the same from a package, from .dwo files, and
# from the program where nothing was moved out of it. By g++ and clang++,
# DWARF 4 and 5. Of Debian 12's packers, binutils' dwp knows DWARF 4 only, and
# llvm-dwp of LLVM 14 does not end at DWARF 5 as gcc writes it.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${WEFT_BUILD:-build}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for need in g++ clang++ dwp llvm-dwp-16; do
	command -v $need >/dev/null || {
		echo "1..0 # SKIP no $need: tools/setup.sh interop"
		exit 0
	}
done

cat >"$work/one.cc" <<'C'
#include <algorithm>
#include <string>
#include <vector>
int two(int);
namespace space {
struct thing {
	std::vector<int> all;
	int sum() const;
	static int twice(int x) { return two(x) * 2; }
};
int thing::sum() const
{
	int sum = 0;
	for (int x : all)
		sum += x;
	return sum;
}
}
static inline int halve(int x)
{
	if (x > 1000)
		throw std::string("too large");
	return x / 2;
}
__attribute__((cold)) int rare(int x) { return halve(x) + 1; }
int main(int argc, char **)
{
	space::thing t;
	for (int i = 0; i < argc; i++)
		t.all.push_back(halve(i));
	std::sort(t.all.begin(), t.all.end());
	return t.sum() + space::thing::twice(argc) + (argc > 99 ? rare(argc) : 0);
}
C
cat >"$work/two.cc" <<'C'
#include <map>
static inline int first(int x)
{
	std::map<int, int> all;
	all[x] = x;
	return all.begin()->second;
}
int two(int x) { return first(x) + 3; }
C

# ask PROGRAM: at each byte of its .text
ask() {
	readelf -SW "$1" | sed -n 's/^ *\[ *[0-9]*\] *\.text  *PROGBITS *\([0-9a-f]*\) [0-9a-f]* \([0-9a-f]*\).*/0x\1 0x\2/p' | {
		read -r at size
		seq $((at)) $((at + size - 1)) | xargs printf '%x\n'
	} | "$build/lines/ask_lines" "$PWD/$1"
}

# compare COMPILER FLAGS...: in a directory of its own
compare() {
	mkdir "$work/$n"
	cd "$work/$n"
	"$@" -O2 -c "$work/one.cc" "$work/two.cc"
	g++ -o whole one.o two.o
	"$@" -O2 -gsplit-dwarf -c "$work/one.cc" "$work/two.cc"
	g++ -o split one.o two.o
	case "$*" in
	*-gdwarf-4*) dwp -e split -o split.dwp ;;
	*) llvm-dwp-16 -e split -o split.dwp ;;
	esac
	ask whole >whole.out
	[ "$(grep -c . whole.out)" -gt 10000 ]
	mv split.dwp aside.dwp
	ask split >dwo.out
	rm ./*.dwo
	ask split >none.out
	mv aside.dwp split.dwp
	ask split >dwp.out
	cmp dwo.out whole.out
	cmp dwp.out whole.out
	! cmp -s none.out whole.out
}

n=0
failed=0
for compiler in g++ clang++; do
	for flags in -gdwarf-4 -gdwarf-5 "-gdwarf-4 -ffunction-sections" \
		"-gdwarf-5 -ffunction-sections"; do
		n=$((n + 1))
		# Not within `if`, where -e does nothing.
		set +e
		# shellcheck disable=SC2086
		(set -e; compare $compiler $flags) >"$work/log" 2>&1
		rc=$?
		set -e
		if [ $rc = 0 ]; then
			echo "ok $n - $compiler $flags"
		else
			echo "not ok $n - $compiler $flags"
			sed 's/^/# /' "$work/log"
			failed=1
		fi
	done
done
echo "1..$n"
exit $failed

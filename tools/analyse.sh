#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Look for mistakes in the programs' C without running it, by clang-tidy with
# .clang-tidy, which needs what `make` generates, and by cppcheck with what
# .cppcheck-suppressions says of its mistakes. Files in the arguments, else all.
set -eu
cd "$(dirname "$0")/.."
build=${WEFT_BUILD:-build}
failed=0
# shellcheck disable=SC2046 # no name of ours has a space
[ $# -gt 0 ] || set -- $(git ls-files 'store/*.c' 'collector/*.c' \
	'query/*.c' 'tools/*.c')

# shellcheck disable=SC2016 # the inner shell's words
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 4 sh -c '
	build=$1
	shift
	clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE -I. -I"$build" \
		-Itools/publisher 2>/dev/null' sh "$build" || failed=1

# One configuration: there are no others but sanitizers. Without the headers of
# libraries and what is generated, which would be most of the work.
cppcheck -j "$(nproc)" -q --error-exitcode=1 --max-configs=1 --std=c11 \
	--enable=warning,performance,portability \
	--library=posix --library=gnu --inline-suppr \
	--suppressions-list=.cppcheck-suppressions \
	-D_GNU_SOURCE '-DLIBBPF_OPTS(type, name, ...)=struct type name = { 0 }' \
	'-Dbpf_object__for_each_program(p, o)=while ((p = next_program(o)))' \
	-I. "$@" || failed=1

exit $failed

#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What can be checked of the style: format, layers, banned calls, scripts.
set -eu
cd "$(dirname "$0")/.."
failed=0

complain() {
	echo "lint: $1" >&2
	failed=1
}

# shellcheck disable=SC2046
clang-format --dry-run --Werror $(git ls-files '*.c' '*.h') ||
	complain "run clang-format -i on the files above"

# Who may include whom: room, then the rooms (or headers) that it may name.
allowed() {
	case "$1" in
	store) echo 'store/|gen/store_sql' ;;
	bpf) echo 'kern.h|measure_wire.h|trace_id.h|unwind.h|wire.h|[a-z_]*\.bpf\.h' ;;
	collector) echo 'collector/|store/store.h|store/retention.h|store/weft.h|bpf/wire.h|bpf/measure_wire.h|gen/' ;;
	query) echo 'query/|store/weft.h|store/store.h|store/owner.h|store/schema.h|gen/query_sql|gen/pprof|gen/otlp_profiles|gen/flame_page' ;;
	esac
}
for room in store bpf collector query; do
	wrong=$(git grep -nE '^#include "' "$room/*.[ch]" |
		grep -vE "#include \"($(allowed "$room"))" || true)
	[ -z "$wrong" ] || complain "not to be included from $room/:
$wrong"
done
wrong=$(git grep -nE '^#include <(uv|bpf/|libelf|gelf|elfutils|dwarf)' \
	'store/*.[ch]' 'query/*.[ch]' || true)
[ -z "$wrong" ] || complain "a library that this room does not know:
$wrong"

wrong=$(git grep -nwE '(atoi|atol|strcpy|strcat|sprintf|strtok|gets|alloca|system|popen|localtime)\(' \
	'store/*.c' 'collector/*.c' 'query/*.c' || true)
[ -z "$wrong" ] || complain "banned calls:
$wrong"

# What a comment or ARCHITECTURE.md names by its file name alone is there.
here=$(git ls-files | sed 's,.*/,,' && echo customlabels.h)
wrong=$(git grep -hoE '(^|[^A-Za-z0-9_./<-])[a-z][a-z_]*(\.bpf)?\.[ch]\b' \
	'bpf/*.[ch]' 'collector/*.[ch]' 'query/*.[ch]' 'store/*.[ch]' \
	ARCHITECTURE.md | sed 's/^[^a-z]//' | sort -u | grep -vxF "$here" || true)
[ -z "$wrong" ] || complain "files that are named, but are not there:
$wrong"

# Tests are run by name.
wrong=$(git ls-files 'tests/*/[0-9]*.sh' | while read -r script; do
	[ -x "$script" ] || echo "$script"
done)
[ -z "$wrong" ] || complain "not executable (chmod +x):
$wrong"

# shellcheck disable=SC2046
shellcheck $(git ls-files '*.sh') || complain "shellcheck, above"

exit $failed

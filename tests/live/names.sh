# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# What tests of names share: builds of tests/load/names.c, whose children are
# called as the function is that they spend their time in.

# names_build OUT [FLAG...]: as a program by default
names_build() {
	out=$1
	shift
	cc -std=c11 -D_GNU_SOURCE -O2 -fno-toplevel-reorder -o "$out" \
		"$tests/load/names.c" "$@" 2>"$dir/cc.log" || {
		say <"$dir/cc.log"
		return 1
	}
}

# names_in FILE [PATH]: of the children's own leaves in binaries that PATH (a
# pattern of GLOB) matches: how many functions were named right, and how many
# samples wrong, and not at all
names_in() {
	sqlite3 -readonly "$1" <<SQL
.separator ' '
CREATE TEMP TABLE leaf AS
SELECT t.count, p.comm, g.name, b.kind
FROM stack_total t
JOIN process p ON p.id = t.process_id
JOIN stack_node n ON n.id = t.stack_id
JOIN frame f ON f.id = n.frame_id
JOIN binary b ON b.id = f.binary_id
LEFT JOIN frame_function ff ON ff.frame_id = f.id AND ff.inline_depth = 0
LEFT JOIN function g ON g.id = ff.function_id
WHERE NOT f.in_kernel AND p.comm GLOB 'f_[0-9][0-9]' AND b.path GLOB '${2:-*}';
SELECT count(DISTINCT CASE name WHEN comm THEN comm END),
  ifnull(sum(CASE WHEN name GLOB 'f_[0-9][0-9]' AND name <> comm
    THEN count END), 0),
  ifnull(sum(CASE WHEN name IS NULL THEN count END), 0)
FROM leaf;
SQL
}

# check_names CLAIM FILE PATH WANT: so many functions are named right, and no
# sample wrong
check_names() {
	# shellcheck disable=SC2046
	set -- "$@" $(names_in "$2" "$3")
	echo "$5 right; samples: $6 wrong, $7 not named: $1" | say
	check "$1" "$(both "$(is "$5" = "$4")" "$(is "$6" = 0)")"
}

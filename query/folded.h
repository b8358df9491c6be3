/* SPDX-License-Identifier: MIT */
/*
 * A line of folded stacks: "frame;frame;frame count", root first, as
 * flamegraph.pl, inferno, speedscope and others read it. The format has no
 * escapes, so what would break it is replaced:
 *
 *   ;                              :
 *   what weft_is_unsafe() names    ?
 *   bytes that are not UTF-8       U+FFFD
 *   # or a blank at the line start _# or _
 *   blank before digits at the end _    (they would pass for a count)
 *   an empty name                  [unknown]
 */
#ifndef WEFT_FOLDED_H
#define WEFT_FOLDED_H

#include <stddef.h>

/* Where in a line a name stands. */
enum folded_place {
	FOLDED_FIRST,
	FOLDED_WITHIN,
	FOLDED_LAST
};

/* A name as it stands there, suffix added. The caller frees it; NULL: out of
 * memory. */
char *folded_name(const char *name, const char *suffix,
		  enum folded_place place);

#endif

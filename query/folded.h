/* SPDX-License-Identifier: MIT */
/*
 * A line of folded stacks: "frame;frame;frame count", root first, as
 * flamegraph.pl, inferno, speedscope and others read it. The format has no
 * escapes, so what would break it is replaced:
 *
 *   ;                              :
 *   control characters             ?
 *   bytes that are not UTF-8       U+FFFD
 *   # or a blank at the line start _# or _
 *   blank before digits at the end _    (they would pass for a count)
 *   an empty name                  [unknown]
 */
#ifndef WEFT_FOLDED_H
#define WEFT_FOLDED_H

#include <stddef.h>

/* The frames as one text, without the count. The caller frees it; NULL: out
 * of memory. */
char *folded_text(const char *const *names, size_t n);

#endif

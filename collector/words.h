/* SPDX-License-Identifier: MIT */
/* A list of words that there are: to print, or to suggest the nearest of. */
#ifndef WEFT_WORDS_H
#define WEFT_WORDS_H

#include "store/weft.h"

/* All 0: empty. */
struct words {
	char **word; /* owned, each too; ends with NULL. NULL: there are none */
	size_t n, room;
};

/* Add "PREFIX:NAME", or without a prefix (NULL) the name. -ENOMEM. */
int words_add(struct words *w, const char *prefix, const char *name) MUST_CHECK;
void words_sort(struct words *w);

/* The one that text may have meant, as weft_nearest(); NULL: none. */
const char *words_nearest(const struct words *w, const char *text);

void words_release(struct words *w);

#endif

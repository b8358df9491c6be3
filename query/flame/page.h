/* SPDX-License-Identifier: MIT */
/*
 * The page of a flame graph: one HTML document that needs nothing else. Its
 * text stands in query/flame/ and is built in; between its two halves goes the
 * data, as JSON in which no `<` stands, so that no name can end its element.
 */
#ifndef WEFT_FLAME_PAGE_H
#define WEFT_FLAME_PAGE_H

#include "query/flame/load.h"

/* The data alone: what the page has, for other programs. Returns 0 or
 * -ENOMEM; errors of the stream are the caller's to find. */
int flame_page_json(const struct flame_load *l, FILE *to) MUST_CHECK;

/* The page. The same. */
int flame_page_write(const struct flame_load *l, FILE *to) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* Address ranges that may overlap, by address. */
#ifndef WEFT_ELF_SPANS_H
#define WEFT_ELF_SPANS_H

#include "store/weft.h"

#include <stddef.h>

struct span {
	uint64_t start, end;
	uint64_t reach; /* the highest end of all up to this */
	void *what;     /* borrowed */
};

struct spans {
	struct span *at; /* owned */
	size_t n, room;
};

/* Returns 0 or -ENOMEM. */
int spans_add(struct spans *spans, uint64_t start, uint64_t end,
	      void *what) MUST_CHECK;

/* To be called once all are added. */
void spans_sort(struct spans *spans);

/*
 * The next range that covers an address: those that start last come first, of
 * these the shortest. *cursor is 0 at first. Returns NULL for no more.
 */
const struct span *spans_next(const struct spans *spans, uint64_t address,
			      size_t *cursor);

void spans_release(struct spans *spans);

#endif

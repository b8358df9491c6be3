/* SPDX-License-Identifier: MIT */
/*
 * Rows of one table that are remembered by key, up to a ceiling. They are of
 * two ages: when the young are half of the ceiling they become the old, and
 * the old are forgotten. Who is asked for is young again, so that what is in
 * use stays, however much passes by.
 */
#ifndef WEFT_MEMORY_H
#define WEFT_MEMORY_H

#include "store/idmap.h"

struct memory {
	struct idmap young, old;
	int64_t next;   /* id that the next new row gets */
	size_t ceiling; /* entries */
	bool knows_all; /* what is not in here is not in the file */
};

/* Empty, of a table without a row. */
void memory_init(struct memory *m, size_t ceiling);
void memory_release(struct memory *m);

/* The id of key, or 0. */
int64_t memory_find(struct memory *m, struct idmap_key key);

/* Add a key that is not there, whether or not there is room. Returns 0 or
 * -ENOMEM (m unchanged). */
int memory_add(struct memory *m, struct idmap_key key, int64_t id) MUST_CHECK;

/* Are the young half of what there may be, with so many more? */
bool memory_is_full(const struct memory *m, size_t n_more);

/* Would ageing forget some? */
bool memory_has_old(const struct memory *m);

/* The young become the old; if that forgets some, not all is known any more. */
void memory_age(struct memory *m);

size_t memory_count(const struct memory *m);

/* Forget every id that is at least first; it is the next. */
void memory_forget_from(struct memory *m, int64_t first);

/* Forget every id of which is_gone() says so. */
void memory_drop_if(struct memory *m, bool (*is_gone)(void *ctx, int64_t id),
		    void *ctx);

/* Forget all: the file has to be asked. */
void memory_clear(struct memory *m);

#endif

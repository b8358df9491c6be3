/* SPDX-License-Identifier: MIT */
/*
 * A hash table of pointers, open addressing, for the collector's own indexes.
 * It keeps (hash, pointer); what is equal, the caller says.
 */
#ifndef WEFT_TABLE_H
#define WEFT_TABLE_H

#include "store/weft.h"

struct table_slot {
	uint64_t hash;
	void *entry; /* NULL: free */
};

/* Zero is an empty table. */
struct table {
	struct table_slot *slots; /* owned */
	size_t n, size;           /* size: 0 or a power of two */
};

typedef bool table_same_fn(const void *entry, const void *wanted);

/* Of bytes; seeded, so that tables in one process may differ. */
uint64_t table_hash(const void *data, size_t size, uint64_t seed);

void *table_find(const struct table *t, uint64_t hash, table_same_fn *same,
		 const void *wanted);

/* The caller knows that it is not there yet. 0 or -ENOMEM. */
int table_add(struct table *t, uint64_t hash, void *entry) MUST_CHECK;

/* Remove this very pointer, if it is there. */
void table_remove(struct table *t, uint64_t hash, const void *entry);

/* Forget all entries; frees nothing that they point to. */
void table_release(struct table *t);

#endif

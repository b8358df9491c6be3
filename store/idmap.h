/* SPDX-License-Identifier: MIT */
/*
 * A hash map from a key of two words to a row id: what the store remembers
 * of rows that it has written, so that equal things become equal rows without
 * asking the file. Ids are positive; keys are spread by a secret, so that
 * text and trace IDs that others choose cannot slow it down.
 */
#ifndef WEFT_IDMAP_H
#define WEFT_IDMAP_H

#include "store/weft.h"

struct idmap_key {
	uint64_t word[2];
};

struct idmap_slot {
	struct idmap_key key;
	int64_t id; /* 0: slot is free */
};

struct idmap {
	struct idmap_slot *slot; /* owned, NULL while empty */
	size_t size;             /* slots, a power of two */
	size_t n;                /* used; at most 3/4 of size */
	uint64_t secret[2];
};

/* Start empty. Takes no memory yet. */
void idmap_init(struct idmap *map);
void idmap_release(struct idmap *map);

/* The id of key, or 0. */
int64_t idmap_find(const struct idmap *map, struct idmap_key key);

/*
 * Take one more word into a key that stands for a sequence of them; it begins
 * with zeros. Two sequences get one key by chance only, which is one in 2^64 or
 * less, and nobody without the secret can tell which do.
 */
void idmap_take(const struct idmap *map, struct idmap_key *key, uint64_t word);

/* Add a key that is not there. Returns 0 or -ENOMEM (map unchanged). */
int idmap_add(struct idmap *map, struct idmap_key key, int64_t id) MUST_CHECK;

/* Forget every id that is at least first. Takes no memory. */
void idmap_drop_from(struct idmap *map, int64_t first);

/* Forget every id of which is_gone() says so. Takes no memory. */
void idmap_drop_if(struct idmap *map, bool (*is_gone)(void *ctx, int64_t id),
		   void *ctx);

/* Forget all and give memory back. */
void idmap_clear(struct idmap *map);

#endif

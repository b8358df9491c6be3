/* SPDX-License-Identifier: MIT */
/*
 * Sums of detail samples by a key (a thread, a trace): for passes over all
 * samples, which SQL's GROUP BY would sort.
 */
#ifndef WEFT_SUMS_H
#define WEFT_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "query/stats.h"

struct sum {
	int64_t key;
	struct tally tally;
	int64_t first_ns, last_ns; /* boot */
};

/* Zeroed is empty. */
struct sums {
	struct sum *rows; /* owned; in the order in which keys came */
	size_t n, room;
	size_t *slots;  /* owned: hash of keys, 1 + index into rows, 0 free */
	size_t n_slots; /* a power of two; 0: keys came in their order so far,
			   and rows are sorted */
};

/* Add to the sum of a key. Returns 0 or -ENOMEM. */
int sums_add(struct sums *s, int64_t key, const struct tally *more,
	     int64_t first_ns, int64_t last_ns);

/* NULL: nothing was added to that key. */
const struct sum *sums_find(const struct sums *s, int64_t key);

void sums_release(struct sums *s);

#endif

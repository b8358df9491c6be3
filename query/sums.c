/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "query/sums.h"

enum {
	FIRST_SLOTS = 1024
};

/* The slot of a key, or the free one where it belongs. */
static size_t slot_of(const struct sums *s, int64_t key)
{
	/* Fibonacci hashing: the keys are small and dense */
	size_t at = (size_t)((uint64_t)key * 0x9e3779b97f4a7c15 >> 20) &
		    (s->n_slots - 1);

	while (s->slots[at] && s->rows[s->slots[at] - 1].key != key)
		at = (at + 1) & (s->n_slots - 1);
	return at;
}

static int grow(struct sums *s)
{
	size_t n_slots = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS, i;
	struct sum *rows = reallocarray(s->rows, n_slots / 2, sizeof(*rows));
	size_t *slots;

	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n_slots;
	for (i = 0; i < s->n; i++)
		slots[slot_of(s, rows[i].key)] = i + 1;
	return 0;
}

int sums_add(struct sums *s, int64_t key, const struct tally *more,
	     int64_t first_ns, int64_t last_ns)
{
	struct sum *sum;
	size_t at;

	if (2 * s->n >= s->n_slots && grow(s))
		return -ENOMEM;
	at = slot_of(s, key);
	if (!s->slots[at]) {
		s->rows[s->n] = (struct sum){
			.key = key,
			.first_ns = first_ns,
			.last_ns = last_ns,
		};
		s->slots[at] = ++s->n;
	}
	sum = &s->rows[s->slots[at] - 1];
	tally_add(&sum->tally, more);
	if (first_ns < sum->first_ns)
		sum->first_ns = first_ns;
	if (last_ns > sum->last_ns)
		sum->last_ns = last_ns;
	return 0;
}

const struct sum *sums_find(const struct sums *s, int64_t key)
{
	size_t at = s->n ? s->slots[slot_of(s, key)] : 0;

	return at ? &s->rows[at - 1] : NULL;
}

void sums_release(struct sums *s)
{
	free(s->rows);
	free(s->slots);
	*s = (struct sums){ 0 };
}

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

/* Room for another row. Returns 0 or -ENOMEM. */
static int make_room(struct sums *s)
{
	size_t room = s->room ? 2 * s->room : FIRST_SLOTS / 2;
	struct sum *rows;

	if (s->n < s->room)
		return 0;
	rows = reallocarray(s->rows, room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	s->room = room;
	return 0;
}

/* Make at least half of the slots free, with another row. Returns 0 or
 * -ENOMEM. */
static int make_slots(struct sums *s)
{
	size_t n_slots = s->n_slots ? s->n_slots : FIRST_SLOTS, i;
	size_t *slots;

	while (2 * s->n >= n_slots)
		n_slots *= 2;
	if (n_slots == s->n_slots)
		return 0;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(s->slots);
	s->slots = slots;
	s->n_slots = n_slots;
	for (i = 0; i < s->n; i++)
		slots[slot_of(s, s->rows[i].key)] = i + 1;
	return 0;
}

/* While each key was greater than the one before, nothing is hashed. */
static bool is_next(const struct sums *s, int64_t key)
{
	return !s->n_slots && (!s->n || key > s->rows[s->n - 1].key);
}

/* The sum of a key, made if there is none; NULL: out of memory. */
static struct sum *sum_of(struct sums *s, int64_t key)
{
	const struct sum none = { .key = key,
				  .first_ns = INT64_MAX,
				  .last_ns = INT64_MIN };
	size_t at;

	if (make_room(s))
		return NULL;
	if (!is_next(s, key)) {
		if (make_slots(s))
			return NULL;
		at = slot_of(s, key);
		if (s->slots[at])
			return &s->rows[s->slots[at] - 1];
		s->slots[at] = s->n + 1;
	}
	s->rows[s->n] = none;
	return &s->rows[s->n++];
}

int sums_add(struct sums *s, int64_t key, const struct tally *more,
	     int64_t first_ns, int64_t last_ns)
{
	struct sum *sum = sum_of(s, key);

	if (!sum)
		return -ENOMEM;
	tally_add(&sum->tally, more);
	if (first_ns < sum->first_ns)
		sum->first_ns = first_ns;
	if (last_ns > sum->last_ns)
		sum->last_ns = last_ns;
	return 0;
}

static int compare_keys(const void *key, const void *row)
{
	const int64_t *a = key;
	const struct sum *b = row;

	return (*a > b->key) - (*a < b->key);
}

const struct sum *sums_find(const struct sums *s, int64_t key)
{
	size_t at;

	if (!s->n)
		return NULL;
	if (!s->n_slots)
		return bsearch(&key, s->rows, s->n, sizeof(*s->rows),
			       compare_keys);
	at = s->slots[slot_of(s, key)];
	return at ? &s->rows[at - 1] : NULL;
}

void sums_release(struct sums *s)
{
	free(s->rows);
	free(s->slots);
	*s = (struct sums){ 0 };
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "collector/table.h"

/* Names and inodes come from targets: an unkeyed hash could be attacked. */
static uint64_t process_key(void)
{
	static uint64_t key;

	if (!key) {
		(void)!getrandom(&key, sizeof(key), 0);
		key |= 1;
	}
	return key;
}

static uint64_t mix(uint64_t x)
{
	unsigned __int128 product = (unsigned __int128)x * process_key();

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t table_hash(const void *data, size_t size, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t h = mix(seed ^ size ^ 0x9e3779b97f4a7c15ULL);

	for (; size >= 8; p += 8, size -= 8) {
		uint64_t word;

		memcpy(&word, p, 8);
		h = mix(h ^ word) + word;
	}
	if (size) {
		uint64_t word = 0;

		memcpy(&word, p, size);
		h = mix(h ^ word) + word;
	}
	return mix(h);
}

void *table_find(const struct table *t, uint64_t hash, table_same_fn *same,
		 const void *wanted)
{
	if (!t->size)
		return NULL;
	for (size_t i = hash & (t->size - 1); t->slots[i].entry;
	     i = (i + 1) & (t->size - 1))
		if (t->slots[i].hash == hash && same(t->slots[i].entry, wanted))
			return t->slots[i].entry;
	return NULL;
}

static void place(struct table *t, uint64_t hash, void *entry)
{
	size_t i = hash & (t->size - 1);

	while (t->slots[i].entry)
		i = (i + 1) & (t->size - 1);
	t->slots[i] = (struct table_slot){ hash, entry };
}

static int grow(struct table *t)
{
	struct table bigger = { .size = t->size ? 2 * t->size : 64 };

	bigger.slots = calloc(bigger.size, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].entry)
			place(&bigger, t->slots[i].hash, t->slots[i].entry);
	bigger.n = t->n;
	free(t->slots);
	*t = bigger;
	return 0;
}

int table_add(struct table *t, uint64_t hash, void *entry)
{
	if (4 * (t->n + 1) > 3 * t->size) {
		int rc = grow(t);

		if (rc)
			return rc;
	}
	place(t, hash, entry);
	t->n++;
	return 0;
}

void table_remove(struct table *t, uint64_t hash, const void *entry)
{
	size_t i, mask = t->size - 1;

	if (!t->size)
		return;
	for (i = hash & mask; t->slots[i].entry != entry; i = (i + 1) & mask)
		if (!t->slots[i].entry)
			return;
	t->slots[i].entry = NULL;
	t->n--;
	/* Those after it, up to the next gap, may have been pushed past it. */
	for (i = (i + 1) & mask; t->slots[i].entry; i = (i + 1) & mask) {
		struct table_slot moved = t->slots[i];

		t->slots[i].entry = NULL;
		place(t, moved.hash, moved.entry);
	}
}

void table_release(struct table *t)
{
	free(t->slots);
	*t = (struct table){ 0 };
}

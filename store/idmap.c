/* SPDX-License-Identifier: MIT */
/*
 * Open addressing with linear probing. The workload: some millions of finds
 * per interval, nearly all hits; adds come in bursts; removal happens only
 * when a batch failed, and may then walk over everything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "store/idmap.h"

enum {
	LEAST_SIZE = 1024
};

void idmap_init(struct idmap *map)
{
	memset(map, 0, sizeof(*map));
	/* Without randomness keys still spread, only predictably. */
	if (getrandom(map->secret, sizeof(map->secret), GRND_NONBLOCK) < 0)
		map->secret[0] = (uint64_t)(uintptr_t)map;
}

void idmap_release(struct idmap *map)
{
	free(map->slot);
	map->slot = NULL;
	map->size = map->n = 0;
}

void idmap_clear(struct idmap *map)
{
	idmap_release(map);
}

/* Both halves of the full product, folded. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static size_t home(const struct idmap *map, struct idmap_key key)
{
	uint64_t h;

	h = mix(key.word[0] ^ map->secret[0] ^ 0x9e3779b97f4a7c15,
		key.word[1] ^ map->secret[1] ^ 0xe7037ed1a0b428db);
	return mix(h ^ map->secret[1], 0x8ebc6af09c88c6e3 ^ map->secret[0]) &
	       (map->size - 1);
}

void idmap_take(const struct idmap *map, struct idmap_key *key, uint64_t word)
{
	key->word[0] = mix(key->word[0] ^ word,
			   (map->secret[0] ^ 0xa0761d6478bd642f) | 1) +
		       word;
	key->word[1] = mix(key->word[1] ^ word,
			   (map->secret[1] ^ 0xe7037ed1a0b428db) | 1) -
		       word;
}

static bool is_equal(struct idmap_key a, struct idmap_key b)
{
	return a.word[0] == b.word[0] && a.word[1] == b.word[1];
}

int64_t idmap_find(const struct idmap *map, struct idmap_key key)
{
	size_t i;

	if (!map->n)
		return 0;
	i = home(map, key);
	while (map->slot[i].id && !is_equal(map->slot[i].key, key))
		i = (i + 1) & (map->size - 1);
	return map->slot[i].id;
}

static void put(struct idmap *map, struct idmap_key key, int64_t id)
{
	size_t i = home(map, key);

	while (map->slot[i].id)
		i = (i + 1) & (map->size - 1);
	map->slot[i].key = key;
	map->slot[i].id = id;
}

static int grow(struct idmap *map)
{
	struct idmap bigger = *map;
	size_t i;

	bigger.size = map->size ? 2 * map->size : LEAST_SIZE;
	bigger.slot = calloc(bigger.size, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -ENOMEM;
	for (i = 0; i < map->size; i++) {
		if (map->slot[i].id)
			put(&bigger, map->slot[i].key, map->slot[i].id);
	}
	free(map->slot);
	*map = bigger;
	return 0;
}

int idmap_add(struct idmap *map, struct idmap_key key, int64_t id)
{
	int rc;

	if (map->n >= map->size / 4 * 3) {
		rc = grow(map);
		if (rc)
			return rc;
	}
	put(map, key, id);
	map->n++;
	return 0;
}

/* Free slot i, moving up what was pushed past it. */
static void take_out(struct idmap *map, size_t i)
{
	size_t mask = map->size - 1, j = i, from_home;

	for (;;) {
		j = (j + 1) & mask;
		if (!map->slot[j].id)
			break;
		from_home = (j - home(map, map->slot[j].key)) & mask;
		if (from_home >= ((j - i) & mask)) {
			map->slot[i] = map->slot[j];
			i = j;
		}
	}
	map->slot[i].id = 0;
	map->n--;
}

void idmap_drop_from(struct idmap *map, int64_t first)
{
	size_t i;

	for (i = 0; i < map->size; i++) {
		/* What moves into slot i is looked at again. */
		while (map->slot[i].id >= first && map->slot[i].id)
			take_out(map, i);
	}
}

void idmap_drop_if(struct idmap *map, bool (*is_gone)(void *ctx, int64_t id),
		   void *ctx)
{
	size_t i;

	for (i = 0; i < map->size; i++) {
		while (map->slot[i].id && is_gone(ctx, map->slot[i].id))
			take_out(map, i);
	}
}

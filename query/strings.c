/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/strings.h"

uint64_t strings_hash(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
	while (*text++);
	return hash;
}

static size_t hash(const char *text)
{
	uint64_t h = strings_hash(STRINGS_HASH, text);

	return (size_t)(h ^ h >> 29);
}

/* Room for one more string and its slot. */
static int grow(struct strings *s)
{
	size_t room = s->room ? 2 * s->room : 64, n = 2 * room, i, at;
	char **rows;
	uint32_t *slots;

	if (s->n < s->room)
		return 0;
	if (room >= UINT32_MAX / 2)
		return -ENOMEM;
	rows = reallocarray(s->rows, room, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	s->rows = rows;
	slots = calloc(n, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < s->n; i++) {
		at = hash(rows[i]) & (n - 1);
		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	s->room = room;
	return 0;
}

int strings_intern(struct strings *s, const char *text, uint32_t *out)
{
	size_t at;

	if (grow(s))
		return -ENOMEM;
	at = hash(text) & (s->n_slots - 1);
	for (; s->slots[at]; at = (at + 1) & (s->n_slots - 1)) {
		*out = s->slots[at] - 1;
		if (!strcmp(s->rows[*out], text))
			return 0;
	}
	s->rows[s->n] = strdup(text);
	if (!s->rows[s->n])
		return -ENOMEM;
	*out = (uint32_t)s->n++;
	s->slots[at] = *out + 1;
	return 0;
}

char *strings_clean(const char *text)
{
	size_t size = text ? strlen(text) : 0;
	char *clean = malloc(4 * size + 1); /* \xNN for each byte */

	if (clean)
		weft_sanitize(clean, 4 * size + 1, text ? text : "", size);
	return clean;
}

int strings_intern_clean(struct strings *s, const char *text, uint32_t *out)
{
	char *clean = strings_clean(text);
	int rc = clean ? strings_intern(s, clean, out) : -ENOMEM;

	free(clean);
	return rc;
}

void strings_release(struct strings *s)
{
	while (s->n > 0)
		free(s->rows[--s->n]);
	free(s->rows);
	free(s->slots);
	*s = (struct strings){ 0 };
}

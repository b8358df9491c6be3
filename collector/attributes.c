/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/attributes.h"
#include "collector/table.h"

enum {
	/* A byte may become \xNN. */
	VALUE_ROOM = 4 * 255 + 1,
	TEXT_ROOM = 4096,
};

static const uint64_t minute_ns = 60000000000;

struct pair {
	char *key, *value; /* owned, safe to print */
};

struct texts {
	char *keys[INSPECT_KEYS_MAX]; /* owned, by number */
	size_t n_keys;
	struct pair resource[INSPECT_RESOURCE_MAX];
	size_t n_resource;
};

struct attributes {
	struct texts texts;
	bool is_stored;    /* the resource's */
	struct table seen; /* hashes of values since since_ns */
	uint64_t since_ns;
};

static void texts_release(struct texts *t)
{
	for (size_t i = 0; i < t->n_keys; i++)
		free(t->keys[i]);
	for (size_t i = 0; i < t->n_resource; i++) {
		free(t->resource[i].key);
		free(t->resource[i].value);
	}
	*t = (struct texts){ 0 };
}

static char *copy_safely(const char *text)
{
	char safe[TEXT_ROOM];

	weft_sanitize(safe, sizeof(safe), text, strlen(text));
	return strdup(safe);
}

static int add_text(struct texts *t, const struct inspect_context_text *text)
{
	struct pair *pair;

	if (text->is_key && t->n_keys < INSPECT_KEYS_MAX) {
		t->keys[t->n_keys] = copy_safely(text->key);
		return t->keys[t->n_keys++] ? 0 : -ENOMEM;
	}
	if (text->is_key || t->n_resource >= INSPECT_RESOURCE_MAX)
		return 0;
	pair = &t->resource[t->n_resource++];
	pair->key = copy_safely(text->key);
	pair->value = copy_safely(text->value);
	return pair->key && pair->value ? 0 : -ENOMEM;
}

static bool is_same_resource(const struct texts *a, const struct texts *b)
{
	if (a->n_resource != b->n_resource)
		return false;
	for (size_t i = 0; i < a->n_resource; i++) {
		if (strcmp(a->resource[i].key, b->resource[i].key) != 0 ||
		    strcmp(a->resource[i].value, b->resource[i].value) != 0)
			return false;
	}
	return true;
}

int attributes_update(struct attributes **a,
		      const struct inspect_context *context)
{
	struct texts texts = { 0 };
	int rc = 0;

	for (size_t i = 0; i < context->n_texts && !rc; i++)
		rc = add_text(&texts, &context->texts[i]);
	if (!rc && !*a) {
		*a = calloc(1, sizeof(**a));
		rc = *a ? 0 : -ENOMEM;
	}
	if (rc) {
		texts_release(&texts);
		return rc;
	}
	if (!is_same_resource(&(*a)->texts, &texts))
		(*a)->is_stored = false;
	texts_release(&(*a)->texts);
	(*a)->texts = texts;
	return 0;
}

void attributes_free(struct attributes *a)
{
	if (!a)
		return;
	texts_release(&a->texts);
	table_release(&a->seen);
	free(a);
}

int attributes_number(const struct attributes *a, const char *key)
{
	for (size_t i = 0; a && i < a->texts.n_keys; i++) {
		if (!strcmp(a->texts.keys[i], key))
			return (int)i;
	}
	return -1;
}

static bool is_any(const void *entry, const void *wanted)
{
	(void)entry;
	(void)wanted;
	return true; /* 64 bits tell values apart */
}

/* Whether a value may be stored: it was seen, or is within the limit. */
static bool may_store(struct attributes *a, uint8_t number, const char *value,
		      uint64_t boot_ns)
{
	uint64_t hash = table_hash(value, strlen(value), number);

	if (boot_ns - a->since_ns >= minute_ns) {
		table_release(&a->seen);
		a->since_ns = boot_ns;
	}
	if (table_find(&a->seen, hash, is_any, NULL))
		return true;
	return a->seen.n < ATTRIBUTES_VALUES_MAX &&
	       !table_add(&a->seen, hash, a);
}

static void add_one(struct attributes *a, struct batch *b, uint8_t number,
		    const uint8_t *bytes, uint8_t size, uint64_t boot_ns,
		    struct attributes_lost *lost)
{
	char value[VALUE_ROOM];
	uint32_t at;

	if (!a || number >= a->texts.n_keys || !a->texts.keys[number][0]) {
		lost->unknown++;
		return;
	}
	weft_sanitize(value, sizeof(value), (const char *)bytes, size);
	if (!value[0])
		return; /* empty: nothing is said */
	if (!may_store(a, number, value, boot_ns) ||
	    batch_attribute(b, a->texts.keys[number], value, &at) ||
	    batch_sample_has(b, at))
		lost->refused++;
}

void attributes_of_sample(struct attributes *a, struct batch *b,
			  const uint8_t *bytes, size_t size, uint64_t boot_ns,
			  struct attributes_lost *lost)
{
	/* Where the last of a key is, + 1. */
	size_t last[INSPECT_KEYS_MAX] = { 0 };
	size_t end = 0;

	while (size - end >= 2 && bytes[end + 1] <= size - end - 2) {
		last[bytes[end]] = end + 1;
		end += 2U + bytes[end + 1];
	}
	for (size_t at = 0; at < end; at += 2U + bytes[at + 1]) {
		if (last[bytes[at]] == at + 1)
			add_one(a, b, bytes[at], bytes + at + 2, bytes[at + 1],
				boot_ns, lost);
	}
}

void attributes_of_process(struct attributes *a, struct batch *b,
			   uint32_t process)
{
	uint32_t at;

	if (!a || a->is_stored)
		return;
	a->is_stored = true;
	for (size_t i = 0; i < a->texts.n_resource; i++) {
		const struct pair *pair = &a->texts.resource[i];

		if (!pair->key[0] || !pair->value[0])
			continue;
		if (batch_attribute(b, pair->key, pair->value, &at) ||
		    batch_process_has(b, process, at))
			a->is_stored = false; /* the next interval tries */
	}
}

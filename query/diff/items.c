/* SPDX-License-Identifier: MIT */
/*
 * Two hash tables: of what reads how, and, for each file, of its stacks, so
 * that the functions on a stack are looked for once, not for each sample.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/items.h"
#include "query/strings.h"

enum {
	FIRST_ROOM = 1024
};

/* The items of one stack: a stretch of `flat`. */
struct known_stack {
	int64_t stack_id;
	uint32_t at, n; /* n 0: a free slot */
};

struct file {
	struct stacks *stacks;     /* owned */
	struct stacks_row *rows;   /* borrowed from stacks */
	uint32_t *of_row;          /* owned: 1 + item of a row, 0: not known */
	struct known_stack *slots; /* owned */
	size_t n_known, n_slots;   /* n_slots: a power of two */
};

struct diff_items {
	bool by_stack;
	struct file files[DIFF_FILES];
	struct diff_item *items; /* owned */
	uint64_t *hashes;        /* owned, parallel */
	size_t n, room;
	uint32_t *slots; /* owned: 1 + item, 0 free; 2 * room of them */
	uint32_t *flat;  /* owned */
	size_t n_flat, flat_room;
};

struct diff_items *diff_items_new(bool by_stack)
{
	struct diff_items *it = calloc(1, sizeof(*it));

	if (it)
		it->by_stack = by_stack;
	return it;
}

void diff_items_free(struct diff_items *it)
{
	if (!it)
		return;
	for (size_t i = 0; i < DIFF_FILES; i++) {
		stacks_free(it->files[i].stacks);
		free(it->files[i].of_row);
		free(it->files[i].slots);
	}
	free(it->items);
	free(it->hashes);
	free(it->slots);
	free(it->flat);
	free(it);
}

int diff_items_load(struct diff_items *it, size_t file, struct db *db,
		    struct weft_err *err)
{
	struct file *f = &it->files[file];
	size_t n;
	int rc = stacks_load(&f->stacks, db, err);

	if (rc || it->by_stack)
		return rc;
	stacks_sum(f->stacks, STACKS_BY_FUNCTION, &f->rows, &n);
	f->of_row = calloc(n, sizeof(*f->of_row));
	return f->of_row ? 0 : weft_fail(err, -ENOMEM, "out of memory");
}

static uint64_t mix(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static bool is_same(const struct diff_items *it, uint32_t item, uint64_t hash,
		    const struct diff_item *as)
{
	const struct diff_item *known = &it->items[item];

	if (it->hashes[item] != hash)
		return false;
	return it->by_stack || (!strcmp(known->name, as->name) &&
				!strcmp(known->binary, as->binary));
}

static int grow(struct diff_items *it)
{
	size_t room = it->room ? 2 * it->room : FIRST_ROOM, at;
	struct diff_item *items = reallocarray(it->items, room, sizeof(*items));
	uint64_t *hashes;
	uint32_t *slots;

	if (!items)
		return -ENOMEM;
	it->items = items;
	hashes = reallocarray(it->hashes, room, sizeof(*hashes));
	if (!hashes)
		return -ENOMEM;
	it->hashes = hashes;
	slots = calloc(2 * room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(it->slots);
	it->slots = slots;
	it->room = room;
	for (size_t i = 0; i < it->n; i++) {
		at = it->hashes[i] & (2 * room - 1);
		while (slots[at])
			at = (at + 1) & (2 * room - 1);
		slots[at] = (uint32_t)i + 1;
	}
	return 0;
}

/* The number of what reads so, a new one if need be. 0, or -ENOMEM. */
static int intern(struct diff_items *it, uint64_t hash,
		  const struct diff_item *as, uint32_t *out)
{
	size_t at;

	if (it->n == it->room && grow(it))
		return -ENOMEM;
	at = hash & (2 * it->room - 1);
	while (it->slots[at] && !is_same(it, it->slots[at] - 1, hash, as))
		at = (at + 1) & (2 * it->room - 1);
	if (!it->slots[at]) {
		it->items[it->n] = *as;
		it->hashes[it->n] = hash;
		it->slots[at] = (uint32_t)++it->n;
	}
	*out = it->slots[at] - 1;
	return 0;
}

static int intern_row(struct diff_items *it, size_t file, uint32_t row,
		      uint32_t *out)
{
	struct file *f = &it->files[file];
	struct diff_item as = { .file = file };

	if (!f->of_row[row]) {
		as.name = f->rows[row].name;
		as.binary = weft_base_name(f->rows[row].binary);
		if (intern(it,
			   mix(strings_hash(strings_hash(STRINGS_HASH, as.name),
					    as.binary)),
			   &as, out))
			return -ENOMEM;
		f->of_row[row] = *out + 1;
	}
	*out = f->of_row[row] - 1;
	return 0;
}

/* The items of a stack, into `flat` at *known. */
static int find_items(struct diff_items *it, size_t file,
		      struct known_stack *known)
{
	struct stacks *stacks = it->files[file].stacks;
	uint32_t rows[STACKS_FRAMES_MAX], *flat;
	struct diff_item as = { .file = file, .stack_id = known->stack_id };
	size_t n = 1;

	if (!it->by_stack)
		n = stacks_rows(stacks, known->stack_id, STACKS_BY_FUNCTION,
				rows);
	if (it->n_flat + n > it->flat_room) {
		size_t room = 2 * it->flat_room + STACKS_FRAMES_MAX;

		if (room > UINT32_MAX)
			return -ENOMEM;
		flat = reallocarray(it->flat, room, sizeof(*flat));
		if (!flat)
			return -ENOMEM;
		it->flat = flat;
		it->flat_room = room;
	}
	flat = it->flat + it->n_flat;
	known->at = (uint32_t)it->n_flat;
	if (it->by_stack) {
		known->n = 1;
		it->n_flat++;
		return intern(it, mix(stacks_text_key(stacks, as.stack_id)),
			      &as, flat);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t item, at = 0;

		if (intern_row(it, file, rows[i], &item))
			return -ENOMEM;
		/* Rows of /a/x and /b/x are one item: it counts once. */
		while (at < known->n && flat[at] != item)
			at++;
		flat[at] = item;
		known->n += at == known->n;
	}
	it->n_flat += known->n;
	return 0;
}

static struct known_stack *slot_of(const struct file *f, int64_t stack_id)
{
	size_t at = mix((uint64_t)stack_id) & (f->n_slots - 1);

	while (f->slots[at].n && f->slots[at].stack_id != stack_id)
		at = (at + 1) & (f->n_slots - 1);
	return &f->slots[at];
}

static int grow_known(struct file *f)
{
	struct file grown = *f;

	grown.n_slots = f->n_slots ? 2 * f->n_slots : FIRST_ROOM;
	grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < f->n_slots; i++)
		if (f->slots[i].n)
			*slot_of(&grown, f->slots[i].stack_id) = f->slots[i];
	free(f->slots);
	*f = grown;
	return 0;
}

const uint32_t *diff_items_of(struct diff_items *it, size_t file,
			      int64_t stack_id, size_t *n)
{
	static const uint32_t nothing;
	struct file *f = &it->files[file];
	struct known_stack *known, found = { .stack_id = stack_id };

	if (2 * f->n_known >= f->n_slots && grow_known(f))
		return NULL;
	known = slot_of(f, stack_id);
	if (!known->n) {
		if (find_items(it, file, &found))
			return NULL;
		*known = found;
		f->n_known += found.n > 0;
	}
	*n = known->n; /* 0: the file does not have it (damage) */
	return *n ? it->flat + known->at : &nothing;
}

const struct diff_item *diff_items_at(const struct diff_items *it,
				      uint32_t item)
{
	return &it->items[item];
}

char *diff_items_fold(const struct diff_items *it, const struct diff_item *item)
{
	return stacks_fold(it->files[item->file].stacks, item->stack_id);
}

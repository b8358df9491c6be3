/* SPDX-License-Identifier: MIT */
#include "store/memory.h"

void memory_init(struct memory *m, size_t ceiling)
{
	*m = (struct memory){ .next = 1,
			      .ceiling = ceiling,
			      .knows_all = true };
	idmap_init(&m->young);
	idmap_init(&m->old);
}

void memory_release(struct memory *m)
{
	idmap_release(&m->young);
	idmap_release(&m->old);
}

int64_t memory_find(struct memory *m, struct idmap_key key)
{
	int64_t id = idmap_find(&m->young, key);

	if (id)
		return id;
	id = idmap_find(&m->old, key);
	/* Without memory for it it stays old. */
	if (id && !m->knows_all && !memory_is_full(m, 0))
		(void)!idmap_add(&m->young, key, id);
	return id;
}

int memory_add(struct memory *m, struct idmap_key key, int64_t id)
{
	return idmap_add(&m->young, key, id);
}

bool memory_is_full(const struct memory *m, size_t n_more)
{
	return m->young.n + n_more > m->ceiling / 2;
}

bool memory_has_old(const struct memory *m)
{
	return m->old.n;
}

void memory_age(struct memory *m)
{
	struct idmap empty = m->old;

	m->knows_all &= !m->old.n;
	idmap_clear(&empty);
	m->old = m->young;
	m->young = empty;
}

size_t memory_count(const struct memory *m)
{
	return m->young.n + m->old.n;
}

void memory_forget_from(struct memory *m, int64_t first)
{
	idmap_drop_from(&m->young, first);
	idmap_drop_from(&m->old, first);
	m->next = first;
}

void memory_drop_if(struct memory *m, bool (*is_gone)(void *ctx, int64_t id),
		    void *ctx)
{
	idmap_drop_if(&m->young, is_gone, ctx);
	idmap_drop_if(&m->old, is_gone, ctx);
}

void memory_clear(struct memory *m)
{
	idmap_clear(&m->young);
	idmap_clear(&m->old);
	m->knows_all = false;
}

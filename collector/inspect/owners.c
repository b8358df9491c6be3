/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "collector/inspect/owners.h"

static size_t hash(const struct inspect_target *file)
{
	uint64_t mixed = (file->a ^ file->b << 7) * 0x9e3779b97f4a7c15ULL;

	return (size_t)(mixed >> 52) % INSPECT_FILES_MAX;
}

/* A file's lines are barred apart, but are the same file's. */
static bool is_same_file(const struct inspect_target *x,
			 const struct inspect_target *y)
{
	return x->a == y->a && x->b == y->b && x->is_file && y->is_file;
}

void inspect_owners_learn(struct inspect_owners *o,
			  const struct inspect_target *file, uint32_t uid)
{
	size_t at = hash(file);

	o->file[at].file = *file;
	o->file[at].uid = uid;
}

static size_t find_place(struct inspect_owners *o, uint32_t uid)
{
	for (size_t i = 0; i < o->n; i++) {
		if (o->owner[i].uid == uid)
			return i;
	}
	if (o->n == INSPECT_OWNERS_MAX)
		return o->n - 1;
	o->owner[o->n].uid = uid;
	return o->n++;
}

size_t inspect_owners_find(struct inspect_owners *o,
			   const struct inspect_target *file)
{
	size_t at = hash(file);

	return find_place(o, is_same_file(&o->file[at].file, file)
				     ? o->file[at].uid
				     : INSPECT_OWNER_UNKNOWN);
}

void inspect_owners_wait(struct inspect_owners *o, size_t owner)
{
	struct inspect_owner *it = &o->owner[owner];

	if (!it->waiting++ && it->used_ns < o->now_ns)
		it->used_ns = o->now_ns;
}

void inspect_owners_leave(struct inspect_owners *o, size_t owner)
{
	assert(o->owner[owner].waiting);
	o->owner[owner].waiting--;
}

size_t inspect_owners_choose(struct inspect_owners *o)
{
	const struct inspect_owner *least = NULL;

	for (size_t i = 0; i < o->n; i++) {
		const struct inspect_owner *it = &o->owner[i];

		if (it->waiting && (!least || it->used_ns < least->used_ns))
			least = it;
	}
	assert(least);
	o->now_ns = least->used_ns;
	return (size_t)(least - o->owner);
}

void inspect_owners_charge(struct inspect_owners *o, size_t owner,
			   uint64_t time_ns)
{
	o->owner[owner].used_ns += time_ns;
}

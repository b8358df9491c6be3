/* SPDX-License-Identifier: MIT */
#include "collector/inspect/kept.h"

static const size_t bytes_max = 256 << 20;

static void drop(struct kept_files *k, struct kept *file)
{
	k->free(file->parsed);
	*file = (struct kept){ 0 };
}

/* Forget the oldest until there is room for one more, and the rest is below
 * the ceiling. Keeps file, if there is one. Returns an empty place. */
static struct kept *make_room(struct kept_files *k, const struct kept *file)
{
	for (;;) {
		struct kept *oldest = NULL, *empty = NULL;
		size_t total = 0;

		for (int i = 0; i < KEPT_MAX; i++) {
			struct kept *f = &k->file[i];

			if (!f->parsed) {
				empty = f;
				continue;
			}
			total += k->bytes(f->parsed);
			if (f != file && (!oldest || f->used < oldest->used))
				oldest = f;
		}
		if (!oldest || ((empty || file) && total <= bytes_max))
			return empty;
		drop(k, oldest);
	}
}

struct kept *kept_find(struct kept_files *k, const struct file_key *key)
{
	for (int i = 0; i < KEPT_MAX; i++) {
		struct kept *f = &k->file[i];

		if (f->parsed && file_key_is_same(&f->key, key)) {
			f->used = ++k->clock;
			return f;
		}
	}
	return NULL;
}

struct kept *kept_add(struct kept_files *k, const struct file_key *key,
		      void *parsed)
{
	struct kept *file = make_room(k, NULL);

	*file = (struct kept){
		.key = *key,
		.parsed = parsed,
		.used = ++k->clock,
	};
	kept_has_grown(k, file);
	return file;
}

void kept_has_grown(struct kept_files *k, const struct kept *file)
{
	(void)make_room(k, file);
}

void kept_drop_all(struct kept_files *k)
{
	for (int i = 0; i < KEPT_MAX; i++)
		if (k->file[i].parsed)
			drop(k, &k->file[i]);
}

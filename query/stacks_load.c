/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/frames.h"
#include "query/stacks_inside.h"
#include "query/strings.h"

void *stacks_append(struct array *a, size_t size)
{
	size_t room = a->room ? 2 * a->room : 1024;
	void *grown;

	if (a->n == a->room) {
		if (room >= NONE)
			return NULL;
		grown = reallocarray(a->rows, room, size);
		if (!grown)
			return NULL;
		a->rows = grown;
		a->room = room;
	}
	return memset((char *)a->rows + a->n++ * size, 0, size);
}

static uint64_t hash(const char *name, uint32_t binary)
{
	uint64_t h = strings_hash(STRINGS_HASH ^ binary, name);

	return h ^ h >> 29;
}

static int grow_slots(struct stacks *s)
{
	size_t n = s->n_slots ? 2 * s->n_slots : 4096;
	uint32_t *slots = malloc(n * sizeof(*slots));
	size_t i, at;

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, n * sizeof(*slots));
	for (i = 0; i < s->labels.n; i++) {
		at = hash(labels(s)[i].name, labels(s)[i].binary) & (n - 1);
		while (slots[at] != NONE)
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i;
	}
	free(s->slots);
	s->slots = slots;
	s->n_slots = n;
	return 0;
}

/* The label of a name within a binary (NONE: it is one), made if new. */
static int intern(struct stacks *s, const char *name, uint32_t binary,
		  uint32_t *out)
{
	struct label *label;
	size_t at;

	if (2 * (s->labels.n + 1) > s->n_slots && grow_slots(s))
		return -ENOMEM;
	at = hash(name, binary) & (s->n_slots - 1);
	while (s->slots[at] != NONE) {
		label = &labels(s)[s->slots[at]];
		if (label->binary == binary && !strcmp(label->name, name)) {
			*out = s->slots[at];
			return 0;
		}
		at = (at + 1) & (s->n_slots - 1);
	}
	label = stacks_append(&s->labels, sizeof(*label));
	if (!label)
		return -ENOMEM;
	label->binary = binary;
	label->key = strings_hash(STRINGS_HASH, name);
	label->name = strdup(name);
	if (!label->name) {
		s->labels.n--;
		return -ENOMEM;
	}
	*out = s->slots[at] = (uint32_t)(s->labels.n - 1);
	return 0;
}

int stacks_no_memory(struct db *db, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the stacks of '%s'",
			 db_path(db));
}

int stacks_load_rows(struct stacks *s, struct db *db, sqlite3_stmt *stmt,
		     stacks_load_row *load, struct weft_err *err)
{
	int rc;

	while ((rc = db_step(db, stmt, err)) > 0)
		if (load(s, stmt))
			return stacks_no_memory(db, err);
	return rc;
}

int stacks_load_all(struct stacks *s, struct db *db, enum query_sql id,
		    stacks_load_row *load, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, id, &stmt, err);

	return rc ? rc : stacks_load_rows(s, db, stmt, load, err);
}

int stacks_load_frame(struct stacks *s, sqlite3_stmt *stmt)
{
	struct frame *f = stacks_append(&s->frames, sizeof(*f));
	uint32_t binary;

	if (!f)
		return -ENOMEM;
	f->id = sqlite3_column_int64(stmt, 0);
	f->source = named_source(&s->quality.named,
				 (const char *)sqlite3_column_text(stmt, 3));
	if (intern(s, db_text(stmt, 2), NONE, &binary))
		return -ENOMEM;
	return intern(s, db_text(stmt, 1), binary, &f->label);
}

int stacks_load_inlined(struct stacks *s, uint32_t frame, sqlite3_stmt *stmt)
{
	uint32_t binary, *label;

	/* Damage: as if it had no such function. */
	if (frames(s)[frame].n_inlined == FRAMES_LEVELS_MAX - 1)
		return 0;
	label = stacks_append(&s->inlined, sizeof(*label));
	if (!label)
		return -ENOMEM;
	if (frames(s)[frame].n_inlined++ == 0)
		frames(s)[frame].inlined = (uint32_t)(s->inlined.n - 1);
	if (intern(s, db_text(stmt, 2), NONE, &binary))
		return -ENOMEM;
	return intern(s, db_text(stmt, 1), binary, label);
}

/* All come in the order of their frames. */
static int load_inlined(struct stacks *s, sqlite3_stmt *stmt)
{
	uint32_t at = stacks_find_id(&s->frames, sizeof(struct frame),
				     sqlite3_column_int64(stmt, 0));

	return at == NONE ? 0 : stacks_load_inlined(s, at, stmt);
}

static int load_node(struct stacks *s, sqlite3_stmt *stmt)
{
	struct node *n = stacks_append(&s->nodes, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->id = sqlite3_column_int64(stmt, 0);
	n->parent_id = sqlite3_column_int64(stmt, 1);
	n->frame_id = sqlite3_column_int64(stmt, 2);
	return 0;
}

struct stack *stacks_load_stack(struct stacks *s, sqlite3_stmt *stmt)
{
	struct stack *k = stacks_append(&s->stacks, sizeof(*k));
	int64_t depth = sqlite3_column_int64(stmt, 2);

	if (!k)
		return NULL;
	k->id = sqlite3_column_int64(stmt, 0);
	k->depth = depth < 0 || depth > STACKS_FRAMES_MAX ? STACKS_FRAMES_MAX
							  : (uint32_t)depth;
	k->status = ends_parse_status(db_text(stmt, 1));
	k->reason =
		ends_parse_reason((const char *)sqlite3_column_text(stmt, 3));
	if (k->status == ENDS_LOST || k->status == ENDS_NOT_TAKEN)
		k->depth = 0;
	k->node = NONE;
	return k;
}

static int load_stack(struct stacks *s, sqlite3_stmt *stmt)
{
	struct stack *k = stacks_load_stack(s, stmt);

	if (!k)
		return -ENOMEM;
	if (k->depth)
		k->node = stacks_find_id(&s->nodes, sizeof(struct node), k->id);
	return 0;
}

/* Turn ids into indexes, and hang each node below its parent. */
static void link_nodes(struct stacks *s)
{
	struct node *all = nodes(s);
	size_t i;

	for (i = 0; i < s->nodes.n; i++)
		all[i].first_child = all[i].next_sibling = NONE;
	for (i = s->nodes.n; i-- > 0;) {
		all[i].frame = stacks_find_id(&s->frames, sizeof(struct frame),
					      all[i].frame_id);
		all[i].parent = NONE;
		if (all[i].parent_id <= 0)
			continue;
		all[i].parent = stacks_find_id(&s->nodes, sizeof(struct node),
					       all[i].parent_id);
		if (all[i].parent == NONE)
			continue;
		all[i].next_sibling = all[all[i].parent].first_child;
		all[all[i].parent].first_child = (uint32_t)i;
	}
}

int stacks_make(struct stacks **out, struct weft_err *err)
{
	static const char *const words[WORD_COUNT] = {
		[WORD_LOST] = "[stack lost]",
		[WORD_NOT_TAKEN] = "[stack not taken]",
		[WORD_NO_FRAMES] = "[no frames]",
		[WORD_UNKNOWN] = "[unknown]",
		[WORD_TRUNCATED] = "[truncated]",
		[WORD_BROKEN] = "[broken]",
	};
	struct stacks *s = *out = calloc(1, sizeof(*s));
	uint32_t nowhere;
	int rc = s ? intern(s, "", NONE, &nowhere) : -ENOMEM;

	for (size_t i = 0; i < WORD_COUNT && !rc; i++)
		rc = intern(s, words[i], nowhere, &s->words[i]);
	if (!rc)
		return 0;
	stacks_free(s);
	*out = NULL;
	return weft_fail(err, rc, "out of memory");
}

int stacks_load(struct stacks **out, struct db *db, struct weft_err *err)
{
	struct stacks *s;
	int rc = stacks_make(&s, err);

	if (!rc)
		rc = stacks_load_all(s, db, QUERY_SQL_STACKS_FRAMES,
				     stacks_load_frame, err);
	if (!rc)
		rc = stacks_load_all(s, db, QUERY_SQL_STACKS_INLINED,
				     load_inlined, err);
	if (!rc)
		rc = stacks_load_all(s, db, QUERY_SQL_STACKS_NODES, load_node,
				     err);
	if (!rc)
		rc = stacks_load_all(s, db, QUERY_SQL_STACKS_STACKS, load_stack,
				     err);
	if (!rc) {
		link_nodes(s);
		s->rows = calloc(s->labels.n, sizeof(*s->rows));
		s->sums = calloc(s->nodes.n + 1, sizeof(*s->sums));
		if (!s->rows || !s->sums)
			rc = weft_fail(err, -ENOMEM, "out of memory");
	}
	*out = rc ? NULL : s;
	if (rc)
		stacks_free(s);
	return rc;
}

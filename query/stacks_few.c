/* SPDX-License-Identifier: MIT */
/*
 * Stacks of which only a few are asked for. A stack, the nodes of its way to
 * the root and their frames are sought when somebody needs them, and
 * remembered. For those that read as one that is needed the leaves of all
 * stacks are looked at, in one pass: which of them are on a frame that reads as
 * one of the leaves that are needed. Such a stack is followed towards its root
 * only as long as it reads so.
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "query/stacks_inside.h"
#include "query/strings.h"

/* Make room for another row, so that half of the slots stay free. */
static int grow_slots(struct id_slots *slots, const struct array *a,
		      size_t size)
{
	size_t n = slots->n ? 2 * slots->n : 1024;
	const char *rows = a->rows;
	uint32_t *grown;
	int64_t id;

	if (2 * (a->n + 1) <= slots->n)
		return 0;
	grown = malloc(n * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown, 0xff, n * sizeof(*grown));
	free(slots->at);
	*slots = (struct id_slots){ grown, n };
	for (size_t i = 0; i < a->n; i++) {
		memcpy(&id, rows + i * size, sizeof(id));
		grown[stacks_slot(slots, a, size, id)] = (uint32_t)i;
	}
	return 0;
}

static int load_leaf(struct stacks *s, sqlite3_stmt *stmt)
{
	struct id_slots *slots = &s->stack_slots;
	int64_t id = sqlite3_column_int64(stmt, 0);
	struct stack *k;
	size_t at;

	if (grow_slots(slots, &s->stacks, sizeof(*k)))
		return -ENOMEM;
	at = stacks_slot(slots, &s->stacks, sizeof(*k), id);
	if (slots->at[at] != NONE)
		return 0;
	k = stacks_load_stack(s, stmt);
	if (!k)
		return -ENOMEM;
	slots->at[at] = (uint32_t)(s->stacks.n - 1);
	k->leaf_parent_id = sqlite3_column_int64(stmt, 4);
	k->leaf_frame_id = sqlite3_column_int64(stmt, 5);
	/* It has no node: damage, reads as [no frames]. */
	if (sqlite3_column_type(stmt, 5) == SQLITE_NULL)
		k->depth = 0;
	return 0;
}

int stacks_load_few(struct stacks **out, struct db *db, struct weft_err *err)
{
	struct stacks *s;
	int rc = stacks_make(&s, err);

	if (!rc &&
	    (grow_slots(&s->stack_slots, &s->stacks, sizeof(struct stack)) ||
	     grow_slots(&s->node_slots, &s->nodes, sizeof(struct node)) ||
	     grow_slots(&s->frame_slots, &s->frames, sizeof(struct frame))))
		rc = stacks_no_memory(db, err);
	*out = rc ? NULL : s;
	if (rc)
		stacks_free(s);
	return rc;
}

/* Seek a frame, and what it was inlined into, by its id. 1: there is one; 0:
 * the file lacks it. */
static int seek_frame(struct stacks *s, struct db *db, int64_t id,
		      struct weft_err *err)
{
	sqlite3_stmt *stmt;
	uint32_t at = (uint32_t)s->frames.n;
	int rc = db_query(db, QUERY_SQL_STACKS_FRAME, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, id);
	while ((rc = db_step(db, stmt, err)) > 0)
		if (s->frames.n == at ? stacks_load_frame(s, stmt)
				      : stacks_load_inlined(s, at, stmt))
			return stacks_no_memory(db, err);
	return rc ? rc : s->frames.n > at;
}

/* The index of a frame, sought in the file if need be; NONE: it has none. */
static int find_frame(struct stacks *s, struct db *db, int64_t id,
		      uint32_t *out, struct weft_err *err)
{
	size_t at;
	int rc;

	if (grow_slots(&s->frame_slots, &s->frames, sizeof(struct frame)))
		return stacks_no_memory(db, err);
	at = stacks_slot(&s->frame_slots, &s->frames, sizeof(struct frame), id);
	*out = s->frame_slots.at[at];
	if (*out != NONE)
		return 0;
	rc = seek_frame(s, db, id, err);
	if (rc <= 0)
		return rc;
	*out = s->frame_slots.at[at] = (uint32_t)(s->frames.n - 1);
	return 0;
}

static size_t slot_of(const struct stacks *s, int64_t id)
{
	return stacks_slot(&s->node_slots, &s->nodes, sizeof(struct node), id);
}

/* The index of a node, made of what the file says of it if new. */
static int keep_node(struct stacks *s, int64_t id, int64_t parent_id,
		     uint32_t frame, uint32_t *out)
{
	struct node *n;
	size_t at;

	if (grow_slots(&s->node_slots, &s->nodes, sizeof(*n)))
		return -ENOMEM;
	at = slot_of(s, id);
	*out = s->node_slots.at[at];
	if (*out != NONE)
		return 0;
	n = stacks_append(&s->nodes, sizeof(*n));
	if (!n)
		return -ENOMEM;
	*n = (struct node){ .id = id,
			    .parent_id = parent_id,
			    .parent = NONE,
			    .frame = frame,
			    .first_child = NONE,
			    .next_sibling = NONE };
	*out = s->node_slots.at[at] = (uint32_t)(s->nodes.n - 1);
	return 0;
}

/* Take a step on the way to the root. */
static int step_way(struct stacks *s, struct db *db, struct weft_err *err)
{
	int rc = db_step(db, s->way, err);

	s->way_id = rc > 0 ? sqlite3_column_int64(s->way, 0) : 0;
	return rc;
}

/*
 * Have s->way stand at a node. The nodes of a stack are made one after the
 * other, so that a parent mostly is the next: only else it is sought. 1: there
 * it is; 0: the file lacks it.
 */
static int reach_node(struct stacks *s, struct db *db, int64_t id,
		      struct weft_err *err)
{
	int rc = s->way_id == id + 1 ? step_way(s, db, err) : 0;

	if (rc < 0 || s->way_id == id)
		return rc;
	rc = db_query(db, QUERY_SQL_STACKS_WAY, &s->way, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(s->way, 1, id);
	rc = step_way(s, db, err);
	return rc < 0 ? rc : s->way_id == id;
}

/* The parent of a node, sought in the file if need be; NONE: it has none. */
static int find_parent(struct stacks *s, struct db *db, uint32_t node,
		       uint32_t *out, struct weft_err *err)
{
	int64_t id = nodes(s)[node].parent_id, parent_id;
	uint32_t frame;
	int rc;

	*out = nodes(s)[node].parent;
	if (*out != NONE || id <= 0)
		return 0;
	*out = s->node_slots.at[slot_of(s, id)];
	if (*out == NONE) {
		rc = reach_node(s, db, id, err);
		if (rc <= 0)
			return rc;
		parent_id = sqlite3_column_int64(s->way, 1);
		rc = find_frame(s, db, sqlite3_column_int64(s->way, 2), &frame,
				err);
		if (rc)
			return rc;
		if (keep_node(s, id, parent_id, frame, out))
			return stacks_no_memory(db, err);
	}
	nodes(s)[node].parent = *out;
	return 0;
}

/* How a way from the leaf reads so far: a key as stacks_text_key() makes it of
 * all. */
struct reading {
	uint64_t key;
	size_t n; /* names */
};

static void read_label(const struct stacks *s, uint32_t label,
		       struct reading *r)
{
	r->key = stacks_key_add(r->key, &labels(s)[label]);
	r->n++;
}

static void read_frame(const struct stacks *s, uint32_t frame,
		       struct reading *r)
{
	const struct frame *f = frame == NONE ? NULL : &frames(s)[frame];
	uint32_t label;

	if (!f)
		read_label(s, s->words[WORD_UNKNOWN], r);
	for (uint32_t i = 0; f; i++) {
		label = stacks_label_at(s, f, i, STACKS_BY_FUNCTION);
		if (label == NONE)
			break;
		read_label(s, label, r);
	}
}

/* May a stack that begins to read so be one of these? Where names are cut off
 * nobody can tell. */
static bool may_be(const struct reading *r, const struct sums *beginnings)
{
	return r->n + 1 >= STACKS_FRAMES_MAX ||
	       sums_find(beginnings, (int64_t)r->key);
}

/*
 * Find the nodes of a stack. With beginnings (keys of the first names of
 * stacks) only those of one that reads as one of them: else it stays without.
 */
static int follow(struct stacks *s, struct db *db, struct stack *k,
		  const struct sums *beginnings, struct weft_err *err)
{
	struct reading reading = { .key = STRINGS_HASH };
	uint32_t leaf = NONE, frame, at, next;
	int rc = find_frame(s, db, k->leaf_frame_id, &frame, err);

	if (rc)
		return rc;
	if (beginnings) {
		read_frame(s, frame, &reading);
		if (!may_be(&reading, beginnings))
			return 0;
	}
	if (keep_node(s, k->id, k->leaf_parent_id, frame, &leaf))
		return stacks_no_memory(db, err);
	at = leaf;
	for (uint32_t depth = k->depth; depth > 1; depth--) {
		rc = find_parent(s, db, at, &next, err);
		if (rc < 0)
			return rc;
		if (next == NONE)
			break;
		at = next;
		if (!beginnings)
			continue;
		read_frame(s, nodes(s)[at].frame, &reading);
		if (!may_be(&reading, beginnings))
			return 0;
	}
	k->node = leaf;
	k->is_needed = true;
	return 0;
}

/* Load one stack, if the file has it. */
static int load_one(struct stacks *s, struct db *db, int64_t stack_id,
		    struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_STACKS_ONE, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, stack_id);
	return stacks_load_rows(s, db, stmt, load_leaf, err);
}

int stacks_need(struct stacks *s, struct db *db, int64_t stack_id,
		struct weft_err *err)
{
	struct stack *k = stack_find(s, stack_id);
	int rc = k ? 0 : load_one(s, db, stack_id, err);

	if (!k && !rc)
		k = stack_find(s, stack_id);
	if (!k || k->is_needed)
		return rc;
	if (k->depth)
		return follow(s, db, k, NULL, err);
	k->is_needed = true;
	return 0;
}

/* The keys of the first 1, 2, ... names of each stack. 1: one of them has no
 * frames; 0: all have. */
static int add_beginnings(const struct stacks *s, const int64_t *ids, size_t n,
			  struct sums *to)
{
	const struct tally none = { 0 };
	uint32_t of[STACKS_FRAMES_MAX];
	int has_none = 0;

	for (size_t i = 0; i < n; i++) {
		const struct stack *k = stack_find(s, ids[i]);
		struct reading reading = { .key = STRINGS_HASH };
		size_t names = stacks_labels(s, ids[i], of);

		has_none |= !k || !k->depth;
		while (reading.n < names) {
			read_label(s, of[reading.n], &reading);
			if (sums_add(to, (int64_t)reading.key, &none, 0, 0))
				return -ENOMEM;
		}
	}
	return has_none;
}

/* A list of frames as JSON, each that reads as one of the beginnings does. */
struct frame_list {
	const struct sums *beginnings;
	struct sums names; /* keys of those that were looked for */
	FILE *to;
	size_t n;
};

/* Put those of a statement's frames on the list that read so. */
static int list_frames(struct stacks *s, struct db *db, sqlite3_stmt *stmt,
		       struct frame_list *list, struct weft_err *err)
{
	uint32_t frame;
	int rc;

	while ((rc = db_step(db, stmt, err)) > 0) {
		struct reading reading = { .key = STRINGS_HASH };
		int64_t id = sqlite3_column_int64(stmt, 0);

		rc = find_frame(s, db, id, &frame, err);
		if (rc)
			return rc;
		if (frame == NONE)
			continue;
		read_frame(s, frame, &reading);
		if (may_be(&reading, list->beginnings))
			fprintf(list->to, "%s%" PRId64, list->n++ ? "," : "",
				id);
	}
	return rc;
}

static int list_named(struct stacks *s, struct db *db, const char *name,
		      size_t size, struct frame_list *list,
		      struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_STACKS_FRAMES_NAMED, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_text(stmt, 1, name, (int)size, SQLITE_TRANSIENT);
	return list_frames(s, db, stmt, list, err);
}

/*
 * List the frames that may read so, from the name of the innermost function on:
 * it is the name of a function, with or without the kernel's _[k], or says an
 * address, as [file+0x1f].
 */
static int list_alike(struct stacks *s, struct db *db, uint32_t label,
		      struct frame_list *list, struct weft_err *err)
{
	static const char kernel[] = "_[k]";
	const int64_t key = (int64_t)labels(s)[label].key;
	const char *name = labels(s)[label].name, *plus = strrchr(name, '+');
	size_t size = strlen(name), ending = sizeof(kernel) - 1;
	const struct tally none = { 0 };
	sqlite3_stmt *stmt;
	int rc;

	if (sums_find(&list->names, key))
		return 0;
	if (sums_add(&list->names, key, &none, 0, 0))
		return stacks_no_memory(db, err);
	rc = list_named(s, db, name, size, list, err);
	if (!rc && size >= ending && !strcmp(name + size - ending, kernel))
		rc = list_named(s, db, name, size - ending, list, err);
	if (rc || name[0] != '[' || !plus)
		return rc;
	rc = db_query(db, QUERY_SQL_STACKS_FRAMES_AT, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, (int64_t)strtoull(plus, NULL, 16));
	return list_frames(s, db, stmt, list, err);
}

/* The ids of the frames that read as the leaf of one of n stacks does, as a
 * list in JSON; owned by the caller. */
static int list_leaves(struct stacks *s, struct db *db,
		       const struct sums *beginnings, const int64_t *ids,
		       size_t n, char **out, struct weft_err *err)
{
	struct frame_list list = { .beginnings = beginnings };
	uint32_t of[STACKS_FRAMES_MAX];
	size_t size;
	int rc = 0;

	*out = NULL;
	list.to = open_memstream(out, &size);
	if (!list.to)
		return stacks_no_memory(db, err);
	fputc('[', list.to);
	for (size_t i = 0; i < n && !rc; i++)
		if (stacks_labels(s, ids[i], of))
			rc = list_alike(s, db, of[0], &list, err);
	fputc(']', list.to);
	sums_release(&list.names);
	if (fclose(list.to) && !rc)
		rc = stacks_no_memory(db, err);
	return rc;
}

/* Load the leaves of all stacks, or of those that read as one of n does. */
static int load_leaves(struct stacks *s, struct db *db,
		       const struct sums *beginnings, bool all,
		       const int64_t *ids, size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	char *list;
	int rc;

	if (all)
		return stacks_load_all(s, db, QUERY_SQL_STACKS_LEAVES,
				       load_leaf, err);
	rc = list_leaves(s, db, beginnings, ids, n, &list, err);
	if (!rc)
		rc = db_query(db, QUERY_SQL_STACKS_LEAVES_ON, &stmt, err);
	if (!rc) {
		if (sqlite3_bind_text(stmt, 1, list, -1, SQLITE_STATIC))
			rc = db_fail(db, "read", err);
		else
			rc = stacks_load_rows(s, db, stmt, load_leaf, err);
		sqlite3_clear_bindings(stmt);
	}
	free(list);
	return rc;
}

int stacks_need_alike(struct stacks *s, struct db *db, const int64_t *ids,
		      size_t n, struct weft_err *err)
{
	struct reading unknown = { .key = STRINGS_HASH };
	struct sums beginnings = { 0 };
	int rc = add_beginnings(s, ids, n, &beginnings);

	if (rc < 0) {
		rc = stacks_no_memory(db, err);
	} else {
		/* A leaf on a frame that the file lacks is found by no id. */
		read_frame(s, NONE, &unknown);
		rc = load_leaves(s, db, &beginnings,
				 rc || may_be(&unknown, &beginnings), ids, n,
				 err);
	}
	for (size_t i = 0; i < s->stacks.n && !rc; i++) {
		struct stack *k = (struct stack *)s->stacks.rows + i;

		if (k->is_needed)
			continue;
		/* What has no frames reads by its status alone. */
		if (!k->depth)
			k->is_needed = true;
		else
			rc = follow(s, db, k, &beginnings, err);
	}
	sums_release(&beginnings);
	return rc;
}

bool stacks_is_needed(const struct stacks *s, int64_t stack_id)
{
	const struct stack *k = stack_find(s, stack_id);

	return k && k->is_needed;
}

size_t stacks_next_needed(const struct stacks *s, size_t at, int64_t *stack_id)
{
	const struct stack *k = s->stacks.rows;

	while (at < s->stacks.n && !k[at].is_needed)
		at++;
	if (at >= s->stacks.n)
		return 0;
	*stack_id = k[at].id;
	return at + 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Stacks of which only a few are asked for. Of the tree of all stacks the
 * leaves are read, in one pass; from there on a node is sought when somebody
 * needs it, and remembered. A stack is followed towards its root only as long
 * as it reads as one that is needed, so most are left at their leaf.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "query/stacks_inside.h"
#include "query/strings.h"

static int no_memory(struct db *db, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the stacks of '%s'",
			 db_path(db));
}

static int load_leaf(struct stacks *s, sqlite3_stmt *stmt)
{
	struct stack *k = stacks_load_stack(s, stmt);

	if (!k)
		return -ENOMEM;
	k->leaf_parent_id = sqlite3_column_int64(stmt, 4);
	k->leaf_frame = stacks_find_id(&s->frames, sizeof(struct frame),
				       sqlite3_column_int64(stmt, 5));
	/* It has no node: damage, reads as [no frames]. */
	if (sqlite3_column_type(stmt, 5) == SQLITE_NULL)
		k->depth = 0;
	return 0;
}

int stacks_load_few(struct stacks **out, struct db *db, struct weft_err *err)
{
	struct stacks *s;
	int rc = stacks_load_frames(&s, db, err);

	if (!rc)
		rc = stacks_load_all(s, db, QUERY_SQL_STACKS_LEAVES, load_leaf,
				     err);
	*out = rc ? NULL : s;
	if (rc)
		stacks_free(s);
	return rc;
}

static size_t slot_of(const struct stacks *s, int64_t id)
{
	size_t at = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15 >> 20) &
		    (s->n_node_slots - 1);

	while (s->node_slots[at] != NONE &&
	       nodes(s)[s->node_slots[at]].id != id)
		at = (at + 1) & (s->n_node_slots - 1);
	return at;
}

static int grow_slots(struct stacks *s)
{
	size_t n = s->n_node_slots ? 2 * s->n_node_slots : 4096;
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, n * sizeof(*slots));
	free(s->node_slots);
	s->node_slots = slots;
	s->n_node_slots = n;
	for (size_t i = 0; i < s->nodes.n; i++)
		slots[slot_of(s, nodes(s)[i].id)] = (uint32_t)i;
	return 0;
}

/* The index of a node, made of what the file says of it if new. */
static int keep_node(struct stacks *s, int64_t id, int64_t parent_id,
		     uint32_t frame, uint32_t *out)
{
	struct node *n;
	size_t at;

	if (2 * s->nodes.n >= s->n_node_slots && grow_slots(s))
		return -ENOMEM;
	at = slot_of(s, id);
	*out = s->node_slots[at];
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
	*out = s->node_slots[at] = (uint32_t)(s->nodes.n - 1);
	return 0;
}

/* The parent of a node, sought in the file if need be; NONE: it has none. */
static int find_parent(struct stacks *s, struct db *db, uint32_t node,
		       uint32_t *out, struct weft_err *err)
{
	int64_t id = nodes(s)[node].parent_id;
	sqlite3_stmt *stmt;
	int rc;

	*out = nodes(s)[node].parent;
	if (*out != NONE || id <= 0)
		return 0;
	*out = s->node_slots[slot_of(s, id)];
	if (*out == NONE) {
		rc = db_query(db, QUERY_SQL_STACKS_NODE, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, id);
		rc = db_step(db, stmt, err);
		if (rc <= 0)
			return rc;
		if (keep_node(s, id, sqlite3_column_int64(stmt, 0),
			      stacks_find_id(&s->frames, sizeof(struct frame),
					     sqlite3_column_int64(stmt, 1)),
			      out))
			return no_memory(db, err);
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

static void read_frame(const struct stacks *s, uint32_t frame,
		       struct reading *r)
{
	const struct frame *f = frame == NONE ? NULL : &frames(s)[frame];
	uint32_t label;

	if (!f) {
		r->key = strings_hash(r->key, "[unknown]");
		r->n++;
	}
	for (uint32_t i = 0; f; i++) {
		label = stacks_label_at(s, f, i, STACKS_BY_FUNCTION);
		if (label == NONE)
			break;
		r->key = strings_hash(r->key, labels(s)[label].name);
		r->n++;
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
	uint32_t leaf = NONE, at, next;
	int rc;

	if (beginnings) {
		read_frame(s, k->leaf_frame, &reading);
		if (!may_be(&reading, beginnings))
			return 0;
	}
	if (keep_node(s, k->id, k->leaf_parent_id, k->leaf_frame, &leaf))
		return no_memory(db, err);
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

int stacks_need(struct stacks *s, struct db *db, int64_t stack_id,
		struct weft_err *err)
{
	struct stack *k = stack_find(s, stack_id);

	if (!k || k->is_needed)
		return 0;
	if (k->depth)
		return follow(s, db, k, NULL, err);
	k->is_needed = true;
	return 0;
}

/* The keys of the first 1, 2, ... names of each stack that is needed. */
static int add_beginnings(const struct stacks *s, struct sums *to)
{
	const struct stack *k = s->stacks.rows;
	const char *names[STACKS_FRAMES_MAX];
	const struct tally none = { 0 };

	for (size_t i = 0; i < s->stacks.n; i++) {
		uint64_t key = STRINGS_HASH;
		size_t n;

		if (!k[i].is_needed)
			continue;
		for (n = stacks_names(s, k[i].id, names); n-- > 0;) {
			key = strings_hash(key, names[n]);
			if (sums_add(to, (int64_t)key, &none, 0, 0))
				return -ENOMEM;
		}
	}
	return 0;
}

int stacks_need_alike(struct stacks *s, struct db *db, struct weft_err *err)
{
	struct sums beginnings = { 0 };
	struct stack *k = s->stacks.rows;
	int rc = 0;

	if (add_beginnings(s, &beginnings))
		rc = no_memory(db, err);
	for (size_t i = 0; i < s->stacks.n && !rc; i++) {
		if (k[i].is_needed)
			continue;
		/* What has no frames reads by its status alone. */
		if (!k[i].depth)
			k[i].is_needed = true;
		else
			rc = follow(s, db, &k[i], &beginnings, err);
	}
	sums_release(&beginnings);
	return rc;
}

bool stacks_is_needed(const struct stacks *s, int64_t stack_id)
{
	const struct stack *k = stack_find(s, stack_id);

	return k && k->is_needed;
}

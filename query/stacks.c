/* SPDX-License-Identifier: MIT */
/*
 * Four arrays in the order of their ids (nodes, stacks, frames, inlined
 * functions) that refer to each other by index, and labels: the distinct
 * names, found by a hash when a frame is loaded. Sums take one walk over the
 * tree, in which each node passes the tally of its subtree to its parent, and
 * to each of its labels that does not stand further out on the same path:
 * so recursion counts once.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/stacks.h"
#include "query/strings.h"

#define NONE UINT32_MAX

struct node {
	int64_t id;
	int64_t parent_id, frame_id;
	uint32_t parent, frame; /* indexes, or NONE */
	uint32_t first_child, next_sibling;
};

struct stack {
	int64_t id;
	uint32_t node; /* index, or NONE */
	uint32_t depth;
	enum ends_status status;
	unsigned reason;
	struct tally tally;
};

struct frame {
	int64_t id;
	uint32_t label;
	uint32_t inlined, n_inlined; /* labels further out */
	uint8_t source;              /* what named it; 0: it has no name */
};

struct label {
	char *name;      /* owned */
	uint32_t binary; /* the label of its binary, or itself */
	uint32_t on_path;
};

struct array {
	void *rows; /* owned; each begins with its int64_t id, but inlined */
	size_t n, room;
};

struct stacks {
	struct array nodes, stacks, frames, inlined, labels;
	uint32_t *slots;         /* owned: hash of labels, NONE where free */
	size_t n_slots;          /* a power of two */
	struct tally *sums;      /* owned: per node, while summing */
	struct stacks_row *rows; /* owned: per label */
	struct stacks_quality quality;
	uint32_t lost_label, not_taken_label;
};

static struct node *nodes(const struct stacks *s)
{
	return s->nodes.rows;
}

static struct frame *frames(const struct stacks *s)
{
	return s->frames.rows;
}

static struct label *labels(const struct stacks *s)
{
	return s->labels.rows;
}

/* A new zeroed row at the end, or NULL. */
static void *append(struct array *a, size_t size)
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

/* The index of the row with that id, or NONE. Ids mostly have no gaps. */
static uint32_t find(const struct array *a, size_t size, int64_t id)
{
	const char *rows = a->rows;
	size_t lo = 0, hi = a->n, mid;
	int64_t at;

	if (a->n == 0)
		return NONE;
	memcpy(&at, rows, sizeof(at));
	if (id < at)
		return NONE;
	mid = (uint64_t)(id - at) < a->n ? (size_t)(id - at) : a->n / 2;
	while (lo < hi) {
		memcpy(&at, rows + mid * size, sizeof(at));
		if (at == id)
			return (uint32_t)mid;
		if (at < id)
			lo = mid + 1;
		else
			hi = mid;
		mid = lo + (hi - lo) / 2;
	}
	return NONE;
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
	label = append(&s->labels, sizeof(*label));
	if (!label)
		return -ENOMEM;
	label->binary = binary;
	label->name = strdup(name);
	if (!label->name) {
		s->labels.n--;
		return -ENOMEM;
	}
	*out = s->slots[at] = (uint32_t)(s->labels.n - 1);
	return 0;
}

static const char *column_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

/* Rows of a statement, one after the other, into the stacks. */
typedef int load_row(struct stacks *s, sqlite3_stmt *stmt);

static int load_all(struct stacks *s, struct db *db, enum query_sql id,
		    load_row *load, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, id, &stmt, err);

	if (rc)
		return rc;
	while ((rc = db_step(db, stmt, err)) > 0)
		if (load(s, stmt))
			return weft_fail(err, -ENOMEM,
					 "out of memory for the stacks of '%s'",
					 db_path(db));
	return rc;
}

static int load_frame(struct stacks *s, sqlite3_stmt *stmt)
{
	struct frame *f = append(&s->frames, sizeof(*f));
	uint32_t binary;

	if (!f)
		return -ENOMEM;
	f->id = sqlite3_column_int64(stmt, 0);
	f->source = named_source(&s->quality.named,
				 (const char *)sqlite3_column_text(stmt, 3));
	if (intern(s, column_text(stmt, 2), NONE, &binary))
		return -ENOMEM;
	return intern(s, column_text(stmt, 1), binary, &f->label);
}

static int load_inlined(struct stacks *s, sqlite3_stmt *stmt)
{
	uint32_t at = find(&s->frames, sizeof(struct frame),
			   sqlite3_column_int64(stmt, 0));
	uint32_t binary, *label;

	if (at == NONE)
		return 0;
	label = append(&s->inlined, sizeof(*label));
	if (!label)
		return -ENOMEM;
	if (frames(s)[at].n_inlined++ == 0)
		frames(s)[at].inlined = (uint32_t)(s->inlined.n - 1);
	if (intern(s, column_text(stmt, 2), NONE, &binary))
		return -ENOMEM;
	return intern(s, column_text(stmt, 1), binary, label);
}

static int load_node(struct stacks *s, sqlite3_stmt *stmt)
{
	struct node *n = append(&s->nodes, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->id = sqlite3_column_int64(stmt, 0);
	n->parent_id = sqlite3_column_int64(stmt, 1);
	n->frame_id = sqlite3_column_int64(stmt, 2);
	return 0;
}

static int load_stack(struct stacks *s, sqlite3_stmt *stmt)
{
	struct stack *k = append(&s->stacks, sizeof(*k));
	int64_t depth = sqlite3_column_int64(stmt, 2);

	if (!k)
		return -ENOMEM;
	k->id = sqlite3_column_int64(stmt, 0);
	k->depth = depth < 0 || depth > STACKS_FRAMES_MAX ? STACKS_FRAMES_MAX
							  : (uint32_t)depth;
	k->status = ends_parse_status(column_text(stmt, 1));
	k->reason =
		ends_parse_reason((const char *)sqlite3_column_text(stmt, 3));
	if (k->status == ENDS_LOST || k->status == ENDS_NOT_TAKEN)
		k->depth = 0;
	k->node = k->depth ? find(&s->nodes, sizeof(struct node), k->id) : NONE;
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
		all[i].frame =
			find(&s->frames, sizeof(struct frame), all[i].frame_id);
		all[i].parent = NONE;
		if (all[i].parent_id <= 0)
			continue;
		all[i].parent =
			find(&s->nodes, sizeof(struct node), all[i].parent_id);
		if (all[i].parent == NONE)
			continue;
		all[i].next_sibling = all[all[i].parent].first_child;
		all[all[i].parent].first_child = (uint32_t)i;
	}
}

int stacks_load(struct stacks **out, struct db *db, struct weft_err *err)
{
	struct stacks *s = calloc(1, sizeof(*s));
	uint32_t nowhere;
	int rc;

	*out = NULL;
	if (!s)
		return weft_fail(err, -ENOMEM, "out of memory");
	rc = intern(s, "", NONE, &nowhere);
	if (!rc)
		rc = intern(s, "[stack lost]", nowhere, &s->lost_label);
	if (!rc)
		rc = intern(s, "[stack not taken]", nowhere,
			    &s->not_taken_label);
	if (rc) {
		weft_fail(err, rc, "out of memory");
		goto fail;
	}
	rc = load_all(s, db, QUERY_SQL_STACKS_FRAMES, load_frame, err);
	if (!rc)
		rc = load_all(s, db, QUERY_SQL_STACKS_INLINED, load_inlined,
			      err);
	if (!rc)
		rc = load_all(s, db, QUERY_SQL_STACKS_NODES, load_node, err);
	if (!rc)
		rc = load_all(s, db, QUERY_SQL_STACKS_STACKS, load_stack, err);
	if (rc)
		goto fail;
	link_nodes(s);
	s->rows = calloc(s->labels.n, sizeof(*s->rows));
	s->sums = calloc(s->nodes.n + 1, sizeof(*s->sums));
	if (!s->rows || !s->sums) {
		rc = weft_fail(err, -ENOMEM, "out of memory");
		goto fail;
	}
	*out = s;
	return 0;
fail:
	stacks_free(s);
	return rc;
}

void stacks_free(struct stacks *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->labels.n; i++)
		free(labels(s)[i].name);
	free(s->labels.rows);
	free(s->inlined.rows);
	free(s->frames.rows);
	free(s->nodes.rows);
	free(s->stacks.rows);
	free(s->slots);
	free(s->sums);
	free(s->rows);
	free(s);
}

static struct stack *stack_find(const struct stacks *s, int64_t id)
{
	uint32_t at = find(&s->stacks, sizeof(struct stack), id);

	return at == NONE ? NULL : (struct stack *)s->stacks.rows + at;
}

static const struct frame *frame_of(const struct stacks *s, uint32_t node)
{
	uint32_t frame = node == NONE ? NONE : nodes(s)[node].frame;

	return frame == NONE ? NULL : &frames(s)[frame];
}

void stacks_add(struct stacks *s, int64_t stack_id, const struct tally *more)
{
	struct stack *k = stack_find(s, stack_id);
	const struct frame *leaf;

	tally_add(&s->quality.all, more);
	if (!k)
		return;
	tally_add(&k->tally, more);
	leaf = frame_of(s, k->node);
	if (leaf)
		named_add(&s->quality.named, leaf->source, more);
	if (k->status == ENDS_COMPLETE || k->status == ENDS_NO_USER)
		tally_add(&s->quality.complete, more);
	ends_add(&s->quality.ends, k->status, k->reason, more);
}

/* Label i of a frame, from the inside out; by binary there is but one. */
static uint32_t label_at(const struct stacks *s, const struct frame *f,
			 uint32_t i, enum stacks_by by)
{
	const uint32_t *inlined = s->inlined.rows;

	if (by == STACKS_BY_BINARY)
		return i == 0 ? labels(s)[f->label].binary : NONE;
	if (i == 0)
		return f->label;
	return i <= f->n_inlined ? inlined[f->inlined + i - 1] : NONE;
}

static void enter(struct stacks *s, uint32_t node, enum stacks_by by)
{
	const struct frame *f = frame_of(s, node);
	uint32_t i, label;

	for (i = 0; f && (label = label_at(s, f, i, by)) != NONE; i++)
		labels(s)[label].on_path++;
}

static void leave(struct stacks *s, uint32_t node, enum stacks_by by)
{
	const struct frame *f = frame_of(s, node);
	uint32_t parent = nodes(s)[node].parent;
	uint32_t i, label;

	for (i = 0; f && (label = label_at(s, f, i, by)) != NONE; i++)
		if (--labels(s)[label].on_path == 0)
			tally_add(&s->rows[label].total, &s->sums[node]);
	if (parent != NONE)
		tally_add(&s->sums[parent], &s->sums[node]);
}

/* Visit the nodes below root, each before and after its children. The links
 * of the tree serve as the way back, so that depth costs no memory. */
static void walk(struct stacks *s, uint32_t root, enum stacks_by by)
{
	const struct node *all = nodes(s);
	uint32_t at = root;

	enter(s, at, by);
	for (;;) {
		if (all[at].first_child != NONE) {
			at = all[at].first_child;
			enter(s, at, by);
			continue;
		}
		leave(s, at, by);
		while (at != root && all[at].next_sibling == NONE) {
			at = all[at].parent;
			leave(s, at, by);
		}
		if (at == root)
			return;
		at = all[at].next_sibling;
		enter(s, at, by);
	}
}

/* What stands for a stack that has no frames. */
static uint32_t label_of_none(const struct stacks *s, const struct stack *k)
{
	return k->status == ENDS_NOT_TAKEN ? s->not_taken_label : s->lost_label;
}

static void add_self(struct stacks *s, const struct stack *k, enum stacks_by by)
{
	const struct frame *leaf = frame_of(s, k->node);
	uint32_t label = label_of_none(s, k);

	if (leaf)
		label = label_at(s, leaf, 0, by);
	else
		tally_add(&s->rows[label].total, &k->tally);
	tally_add(&s->rows[label].self, &k->tally);
	if (k->node != NONE)
		tally_add(&s->sums[k->node], &k->tally);
}

void stacks_sum(struct stacks *s, enum stacks_by by, struct stacks_row **rows,
		size_t *n)
{
	const struct stack *k = s->stacks.rows;
	const struct label *label;
	size_t i;

	memset(s->sums, 0, s->nodes.n * sizeof(*s->sums));
	for (i = 0; i < s->labels.n; i++) {
		label = &labels(s)[i];
		s->rows[i] = (struct stacks_row){
			.name = label->name,
			.binary = label->binary == NONE
					  ? label->name
					  : labels(s)[label->binary].name,
		};
	}
	for (i = 0; i < s->stacks.n; i++)
		if (k[i].tally.count)
			add_self(s, &k[i], by);
	for (i = 0; i < s->nodes.n; i++)
		if (nodes(s)[i].parent == NONE)
			walk(s, (uint32_t)i, by);
	*rows = s->rows;
	*n = s->labels.n;
}

const struct stacks_quality *stacks_quality(const struct stacks *s)
{
	return &s->quality;
}

size_t stacks_next(const struct stacks *s, size_t at, int64_t *stack_id,
		   const struct tally **tally)
{
	const struct stack *k = s->stacks.rows;

	while (at < s->stacks.n && k[at].tally.count == 0)
		at++;
	if (at >= s->stacks.n)
		return 0;
	*stack_id = k[at].id;
	*tally = &k[at].tally;
	return at + 1;
}

size_t stacks_names(const struct stacks *s, int64_t stack_id,
		    const char **names)
{
	const struct stack *k = stack_find(s, stack_id);
	const struct frame *f;
	uint32_t at, i, label, depth;
	size_t n = 0, lo, hi;
	const char *swap;

	if (!k)
		return 0;
	if (k->status == ENDS_LOST || k->node == NONE) {
		names[0] = k->status == ENDS_LOST        ? "[stack lost]"
			   : k->status == ENDS_NOT_TAKEN ? "[stack not taken]"
							 : "[no frames]";
		return 1;
	}
	for (at = k->node, depth = k->depth; at != NONE && depth > 0; depth--) {
		f = frame_of(s, at);
		if (!f && n + 1 < STACKS_FRAMES_MAX)
			names[n++] = "[unknown]";
		for (i = 0; f && n + 1 < STACKS_FRAMES_MAX; i++) {
			label = label_at(s, f, i, STACKS_BY_FUNCTION);
			if (label == NONE)
				break;
			names[n++] = labels(s)[label].name;
		}
		at = nodes(s)[at].parent;
	}
	if (k->status == ENDS_TRUNCATED)
		names[n++] = "[truncated]";
	else if (k->status == ENDS_BROKEN)
		names[n++] = "[broken]";
	for (lo = 0, hi = n; lo + 1 < hi; lo++) {
		swap = names[lo];
		names[lo] = names[--hi];
		names[hi] = swap;
	}
	return n;
}

size_t stacks_rows(const struct stacks *s, int64_t stack_id, enum stacks_by by,
		   uint32_t *rows)
{
	const struct stack *k = stack_find(s, stack_id);
	uint32_t at = k ? k->node : NONE, label, i;
	size_t n = 0, known;

	for (; at != NONE; at = nodes(s)[at].parent) {
		const struct frame *f = frame_of(s, at);

		for (i = 0; f && (label = label_at(s, f, i, by)) != NONE; i++) {
			for (known = 0; known < n && rows[known] != label;)
				known++;
			if (known == n && n < STACKS_FRAMES_MAX)
				rows[n++] = label;
		}
	}
	if (k && !n)
		rows[n++] = label_of_none(s, k);
	return n;
}

uint64_t stacks_text_key(const struct stacks *s, int64_t stack_id)
{
	const char *names[STACKS_FRAMES_MAX];
	size_t n = stacks_names(s, stack_id, names);
	uint64_t key = STRINGS_HASH;

	while (n-- > 0)
		key = strings_hash(key, names[n]);
	return key;
}

static bool is_called(const char *label, const char *name)
{
	size_t size = strlen(name);

	return !strncmp(label, name, size) &&
	       (!label[size] || !strcmp(label + size, "_[k]"));
}

bool stacks_has(const struct stacks *s, int64_t stack_id, const char *name)
{
	const char *names[STACKS_FRAMES_MAX];
	size_t n = stacks_names(s, stack_id, names);

	while (n-- > 0)
		if (is_called(names[n], name))
			return true;
	return false;
}

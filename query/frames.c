/* SPDX-License-Identifier: MIT */
/*
 * Arrays in the order of their ids, found by binary search, that refer to each
 * other by index. A node's parent is made before it, and so has the smaller
 * id: by the time a node is loaded its parent has an index, and no damage can
 * make a circle.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/ends.h"
#include "query/frames.h"

#define NONE UINT32_MAX

struct node {
	int64_t id;
	uint32_t parent, frame; /* indexes, or NONE */
};

struct stack {
	int64_t id;
	uint32_t node; /* index, or NONE */
	uint16_t depth;
	uint8_t status; /* enum ends_status */
};

struct frames_tree {
	struct node *nodes;   /* owned */
	struct stack *stacks; /* owned */
	size_t n_nodes, n_stacks;
	/* While loading: which place a function within a binary is. */
	struct place *places;
	size_t n_slots; /* a power of two */
};

struct place {
	uint32_t function, place;
	int32_t binary; /* and in_kernel: with bit 30 turned */
	bool in_use;
};

static const char *const mark_names[FRAMES_MARKS] = {
	[FRAMES_MARK_LOST] = "[stack lost]",
	[FRAMES_MARK_NOT_TAKEN] = "[stack not taken]",
	[FRAMES_MARK_NO_FRAMES] = "[no frames]",
	[FRAMES_MARK_TRUNCATED] = "[truncated]",
	[FRAMES_MARK_BROKEN] = "[broken]",
	[FRAMES_MARK_UNKNOWN] = "[unknown]",
};

/* A new zeroed row at the end of an array whose room doubles, or NULL. */
static void *append(void *rows_at, size_t *n, size_t size)
{
	void *rows, *grown;

	memcpy(&rows, rows_at, sizeof(rows));
	if ((*n & (*n - 1)) == 0) {
		if (*n >= NONE / 2)
			return NULL;
		grown = reallocarray(rows, *n ? 2 * *n : 1, size);
		if (!grown)
			return NULL;
		memcpy(rows_at, &grown, sizeof(grown));
		rows = grown;
	}
	return memset((char *)rows + (*n)++ * size, 0, size);
}

static int compare_ids(const void *key, const void *row)
{
	int64_t a, b;

	memcpy(&a, key, sizeof(a));
	memcpy(&b, row, sizeof(b));
	return a < b ? -1 : a > b;
}

/* The index of the row with that id, which is its first member, or NONE. */
static uint32_t find(const void *rows, size_t n, size_t size, int64_t id)
{
	const char *row = n ? bsearch(&id, rows, n, size, compare_ids) : NULL;

	return row ? (uint32_t)((size_t)(row - (const char *)rows) / size)
		   : NONE;
}

/* A column's text, owned; *failed is set where there was no memory. */
static char *copy(sqlite3_stmt *stmt, int column, bool *failed)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	char *own = text ? strndup(text, FRAMES_NAME_MAX) : NULL;

	if (text && !own)
		*failed = true;
	return own;
}

static char *copy_or_empty(sqlite3_stmt *stmt, int column, bool *failed)
{
	char *own = copy(stmt, column, failed);

	if (!own)
		own = strdup("");
	*failed |= !own;
	return own;
}

static uint32_t column_line(sqlite3_stmt *stmt, int column)
{
	int64_t line = sqlite3_column_int64(stmt, column);

	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static enum frames_kind parse_kind(const char *word)
{
	static const char *const words[] = {
		[FRAMES_ELF] = "elf",       [FRAMES_KERNEL] = "kernel",
		[FRAMES_MODULE] = "module", [FRAMES_VDSO] = "vdso",
		[FRAMES_JIT] = "jit",
	};
	size_t i;

	for (i = 0; word && i < ARRAY_LEN(words); i++)
		if (!strcmp(word, words[i]))
			return (enum frames_kind)i;
	return FRAMES_UNKNOWN;
}

static int load_binary(struct frames *f, sqlite3_stmt *stmt)
{
	struct frames_binary *b =
		append(&f->binaries, &f->n_binaries, sizeof(*b));
	bool failed = !b;

	if (!b)
		return -ENOMEM;
	b->id = sqlite3_column_int64(stmt, 0);
	b->kind = parse_kind((const char *)sqlite3_column_text(stmt, 1));
	b->path = copy_or_empty(stmt, 2, &failed);
	b->build_id = copy(stmt, 3, &failed);
	return failed ? -ENOMEM : 0;
}

static int load_function(struct frames *f, sqlite3_stmt *stmt)
{
	struct frames_function *n =
		append(&f->functions, &f->n_functions, sizeof(*n));
	bool failed = !n;

	if (!n)
		return -ENOMEM;
	n->id = sqlite3_column_int64(stmt, 0);
	n->name = copy_or_empty(stmt, 1, &failed);
	n->linkage_name = copy(stmt, 2, &failed);
	n->file = copy(stmt, 3, &failed);
	n->line = column_line(stmt, 4);
	return failed ? -ENOMEM : 0;
}

static int grow_places(struct frames_tree *t)
{
	size_t n = t->n_slots ? 2 * t->n_slots : 1024, i, at;
	struct place *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < t->n_slots; i++) {
		if (!t->places[i].in_use)
			continue;
		at = t->places[i].function * 0x9e3779b1u & (n - 1);
		while (slots[at].in_use)
			at = (at + 1) & (n - 1);
		slots[at] = t->places[i];
	}
	free(t->places);
	t->places = slots;
	t->n_slots = n;
	return 0;
}

/* The place of a function within a binary, made if new. */
static int find_place(struct frames *f, uint32_t function,
		      const struct frames_frame *frame, uint32_t *out)
{
	int32_t binary =
		frame->in_kernel ? frame->binary ^ 1 << 30 : frame->binary;
	struct frames_tree *t = f->tree;
	struct place *p;
	size_t at;

	if (2 * (f->n_places + 1) > t->n_slots && grow_places(t))
		return -ENOMEM;
	at = function * 0x9e3779b1u & (t->n_slots - 1);
	for (;; at = (at + 1) & (t->n_slots - 1)) {
		p = &t->places[at];
		if (!p->in_use)
			break;
		if (p->function == function && p->binary == binary)
			goto out;
	}
	*p = (struct place){ function, (uint32_t)f->n_places++, binary, true };
out:
	*out = p->place;
	return 0;
}

static int add_level(struct frames *f, uint32_t frame, uint32_t function,
		     uint32_t line)
{
	struct frames_level *l = append(&f->levels, &f->n_levels, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->function = function;
	l->line = line;
	if (f->frames[frame].n_levels++ == 0)
		f->frames[frame].first_level = (uint32_t)(f->n_levels - 1);
	return find_place(f, function, &f->frames[frame], &l->place);
}

/* A function for a frame that has no name: it reads so. */
static int add_made(struct frames *f, uint32_t frame, const char *name)
{
	struct frames_function *n =
		append(&f->functions, &f->n_functions, sizeof(*n));
	size_t size = strlen(name);

	if (!n)
		return -ENOMEM;
	if (f->frames[frame].in_kernel && size > 4 &&
	    !strcmp(name + size - 4, "_[k]"))
		size -= 4;
	n->name =
		strndup(name, size < FRAMES_NAME_MAX ? size : FRAMES_NAME_MAX);
	if (!n->name)
		return -ENOMEM;
	return add_level(f, frame, (uint32_t)(f->n_functions - 1), 0);
}

static int add_marks(struct frames *f)
{
	struct frames_frame *frame;
	uint32_t i;

	for (i = 0; i < FRAMES_MARKS; i++) {
		frame = append(&f->frames, &f->n_frames, sizeof(*frame));
		if (!frame)
			return -ENOMEM;
		frame->binary = FRAMES_NONE;
		if (add_made(f, i, mark_names[i]))
			return -ENOMEM;
	}
	return 0;
}

/* Functions and frames of the file stand behind the marks. */
static uint32_t find_function(const struct frames *f, size_t n_of_file,
			      int64_t id)
{
	uint32_t at = find(f->functions + FRAMES_MARKS,
			   n_of_file - FRAMES_MARKS, sizeof(*f->functions), id);

	return at == NONE ? NONE : at + FRAMES_MARKS;
}

static uint32_t find_frame(const struct frames *f, int64_t id)
{
	uint32_t at = find(f->frames + FRAMES_MARKS, f->n_frames - FRAMES_MARKS,
			   sizeof(*f->frames), id);

	return at == NONE ? FRAMES_MARK_UNKNOWN : at + FRAMES_MARKS;
}

static int out_of_memory(struct db *db, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the stacks of '%s'",
			 db_path(db));
}

static int load_levels(struct frames *f, struct db *db, uint32_t frame,
		       size_t n_functions, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	uint32_t function;
	int rc = db_query(db, QUERY_SQL_FRAMES_LEVELS, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, f->frames[frame].id);
	while ((rc = db_step(db, stmt, err)) > 0) {
		function = find_function(f, n_functions,
					 sqlite3_column_int64(stmt, 0));
		/* damage: as if it had no such level */
		if (function == NONE ||
		    f->frames[frame].n_levels == FRAMES_LEVELS_MAX)
			continue;
		if (add_level(f, frame, function, column_line(stmt, 1)))
			return out_of_memory(db, err);
	}
	return rc;
}

static int load_frame(struct frames *f, struct db *db, sqlite3_stmt *stmt,
		      size_t n_functions, struct weft_err *err)
{
	struct frames_frame *frame =
		append(&f->frames, &f->n_frames, sizeof(*frame));
	const char *made = (const char *)sqlite3_column_text(stmt, 4);
	uint32_t at = (uint32_t)f->n_frames - 1, binary;
	int rc = 0;

	if (!frame)
		return out_of_memory(db, err);
	frame->id = sqlite3_column_int64(stmt, 0);
	frame->address = (uint64_t)sqlite3_column_int64(stmt, 2);
	frame->in_kernel = sqlite3_column_int(stmt, 3);
	binary = find(f->binaries, f->n_binaries, sizeof(*f->binaries),
		      sqlite3_column_int64(stmt, 1));
	frame->binary = binary == NONE ? FRAMES_NONE : (int32_t)binary;
	if (!made)
		rc = load_levels(f, db, at, n_functions, err);
	if (!rc && f->frames[at].n_levels == 0 &&
	    add_made(f, at, made ? made : mark_names[FRAMES_MARK_UNKNOWN]))
		rc = out_of_memory(db, err);
	return rc;
}

static int load_frames(struct frames *f, struct db *db, struct weft_err *err)
{
	size_t n_functions = f->n_functions; /* made ones follow */
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_FRAMES_FRAMES, &stmt, err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0)
		rc = load_frame(f, db, stmt, n_functions, err);
	return rc;
}

static int load_node(struct frames *f, sqlite3_stmt *stmt)
{
	struct frames_tree *t = f->tree;
	struct node *n = append(&t->nodes, &t->n_nodes, sizeof(*n));

	if (!n)
		return -ENOMEM;
	n->id = sqlite3_column_int64(stmt, 0);
	n->parent = find(t->nodes, t->n_nodes - 1, sizeof(*n),
			 sqlite3_column_int64(stmt, 1));
	n->frame = find_frame(f, sqlite3_column_int64(stmt, 2));
	return 0;
}

static int load_stack(struct frames *f, sqlite3_stmt *stmt)
{
	struct frames_tree *t = f->tree;
	struct stack *k = append(&t->stacks, &t->n_stacks, sizeof(*k));
	const char *status = (const char *)sqlite3_column_text(stmt, 1);
	int64_t depth = sqlite3_column_int64(stmt, 2);

	if (!k)
		return -ENOMEM;
	k->id = sqlite3_column_int64(stmt, 0);
	k->depth = depth < 0 || depth > FRAMES_DEPTH_MAX ? FRAMES_DEPTH_MAX
							 : (uint16_t)depth;
	k->status = (uint8_t)ends_parse_status(status ? status : "");
	if (k->status == ENDS_LOST || k->status == ENDS_NOT_TAKEN)
		k->depth = 0;
	k->node = k->depth
			  ? find(t->nodes, t->n_nodes, sizeof(*t->nodes), k->id)
			  : NONE;
	return 0;
}

static int load_all(struct frames *f, struct db *db, enum query_sql id,
		    int (*load)(struct frames *f, sqlite3_stmt *stmt),
		    struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, id, &stmt, err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0)
		rc = load(f, stmt) ? out_of_memory(db, err) : 0;
	return rc;
}

int frames_load(struct frames **out, struct db *db, struct weft_err *err)
{
	struct frames *f = calloc(1, sizeof(*f));
	int rc = 0;

	*out = NULL;
	if (f)
		f->tree = calloc(1, sizeof(*f->tree));
	if (!f || !f->tree || add_marks(f))
		rc = out_of_memory(db, err);
	if (!rc)
		rc = load_all(f, db, QUERY_SQL_FRAMES_BINARIES, load_binary,
			      err);
	if (!rc)
		rc = load_all(f, db, QUERY_SQL_FRAMES_FUNCTIONS, load_function,
			      err);
	if (!rc)
		rc = load_frames(f, db, err);
	if (!rc)
		rc = load_all(f, db, QUERY_SQL_STACKS_NODES, load_node, err);
	if (!rc)
		rc = load_all(f, db, QUERY_SQL_STACKS_STACKS, load_stack, err);
	if (rc) {
		frames_free(f);
		return rc;
	}
	free(f->tree->places);
	f->tree->places = NULL;
	*out = f;
	return 0;
}

void frames_free(struct frames *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->n_binaries; i++) {
		free(f->binaries[i].path);
		free(f->binaries[i].build_id);
	}
	for (i = 0; i < f->n_functions; i++) {
		free(f->functions[i].name);
		free(f->functions[i].linkage_name);
		free(f->functions[i].file);
	}
	free(f->binaries);
	free(f->functions);
	free(f->frames);
	free(f->levels);
	if (f->tree) {
		free(f->tree->nodes);
		free(f->tree->stacks);
		free(f->tree->places);
	}
	free(f->tree);
	free(f);
}

size_t frames_of_stack(const struct frames *f, int64_t stack_id, uint32_t *out)
{
	const struct frames_tree *t = f->tree;
	uint32_t at =
		find(t->stacks, t->n_stacks, sizeof(*t->stacks), stack_id);
	const struct stack *k = at == NONE ? NULL : &t->stacks[at];
	size_t n = 0;

	out[0] = FRAMES_MARK_NO_FRAMES;
	if (!k)
		out[0] = FRAMES_MARK_UNKNOWN;
	else if (k->status == ENDS_LOST)
		out[0] = FRAMES_MARK_LOST;
	else if (k->status == ENDS_NOT_TAKEN)
		out[0] = FRAMES_MARK_NOT_TAKEN;
	if (!k || k->node == NONE)
		return 1;
	for (at = k->node; at != NONE && n < k->depth; at = t->nodes[at].parent)
		out[n++] = t->nodes[at].frame;
	if (k->status == ENDS_TRUNCATED)
		out[n++] = FRAMES_MARK_TRUNCATED;
	else if (k->status == ENDS_BROKEN)
		out[n++] = FRAMES_MARK_BROKEN;
	return n;
}

bool frames_next(const struct frames *f, struct frames_way *w)
{
	if (w->n_levels == 0) {
		if (w->n_frames == 0)
			return false;
		w->frame = &f->frames[w->stack[--w->n_frames]];
		w->n_levels = w->frame->n_levels;
	}
	w->level = &f->levels[w->frame->first_level + --w->n_levels];
	return true;
}

size_t frames_n_stacks(const struct frames *f)
{
	return f->tree->n_stacks;
}

size_t frames_stack_number(const struct frames *f, int64_t stack_id)
{
	const struct frames_tree *t = f->tree;
	uint32_t at =
		find(t->stacks, t->n_stacks, sizeof(*t->stacks), stack_id);

	return at == NONE ? t->n_stacks : at;
}

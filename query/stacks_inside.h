/* SPDX-License-Identifier: MIT */
/*
 * Stacks from within: what stacks.c, stacks_load.c and stacks_few.c share.
 * Nobody else includes it.
 */
#ifndef WEFT_STACKS_INSIDE_H
#define WEFT_STACKS_INSIDE_H

#include <string.h>

#include "query/stacks.h"
#include "query/sums.h"

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
	/* Of stacks_load_few(): the leaf's node as it stands in the file. */
	int64_t leaf_parent_id, leaf_frame_id;
	bool is_needed;
};

struct frame {
	int64_t id;
	uint32_t label;
	uint32_t inlined, n_inlined; /* labels further out */
	uint8_t source;              /* what named it; 0: it has no name */
};

struct label {
	char *name;      /* owned */
	uint64_t key;    /* equal for equal names */
	uint32_t binary; /* the label of its binary, or itself */
	uint32_t on_path;
};

/* What stands on a stack that is no frame of the file. */
enum word {
	WORD_LOST,
	WORD_NOT_TAKEN,
	WORD_NO_FRAMES,
	WORD_UNKNOWN, /* frame */
	WORD_TRUNCATED,
	WORD_BROKEN,
	WORD_COUNT
};

struct array {
	void *rows; /* owned; each begins with its int64_t id, but inlined */
	size_t n, room;
};

/* A hash of an array's ids, for one whose rows come in any order. */
struct id_slots {
	uint32_t *at; /* owned: indexes, NONE where free */
	size_t n;     /* a power of two; 0: not in use */
};

struct stacks {
	struct array nodes, stacks, frames, inlined, labels;
	uint32_t *slots;         /* owned: hash of labels, NONE where free */
	size_t n_slots;          /* a power of two */
	struct tally *sums;      /* owned: per node, while summing */
	struct stacks_row *rows; /* owned: per label */
	struct stacks_quality quality;
	uint32_t words[WORD_COUNT]; /* their labels */
	/* Of stacks_load_few(). */
	struct id_slots node_slots, stack_slots, frame_slots;
	struct sqlite3_stmt *way; /* borrowed from the file; it stands at */
	int64_t way_id;           /* node; 0: nowhere */
};

static inline struct node *nodes(const struct stacks *s)
{
	return s->nodes.rows;
}

static inline struct frame *frames(const struct stacks *s)
{
	return s->frames.rows;
}

static inline struct label *labels(const struct stacks *s)
{
	return s->labels.rows;
}

/* The index of the row with that id, or NONE. Ids mostly have no gaps. */
static inline uint32_t stacks_find_id(const struct array *a, size_t size,
				      int64_t id)
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

/* The slot of an id, free if no row has it. */
static inline size_t stacks_slot(const struct id_slots *slots,
				 const struct array *a, size_t size, int64_t id)
{
	size_t at = (size_t)((uint64_t)id * 0x9e3779b97f4a7c15 >> 20) &
		    (slots->n - 1);
	const char *rows = a->rows;
	int64_t is;

	for (; slots->at[at] != NONE; at = (at + 1) & (slots->n - 1)) {
		memcpy(&is, rows + slots->at[at] * size, sizeof(is));
		if (is == id)
			break;
	}
	return at;
}

static inline struct stack *stack_find(const struct stacks *s, int64_t id)
{
	const struct id_slots *slots = &s->stack_slots;
	uint32_t at;

	if (slots->n)
		at = slots->at[stacks_slot(slots, &s->stacks,
					   sizeof(struct stack), id)];
	else
		at = stacks_find_id(&s->stacks, sizeof(struct stack), id);
	return at == NONE ? NULL : (struct stack *)s->stacks.rows + at;
}

/*
 * The labels on a stack from the leaf on, and after them that of [truncated] or
 * [broken] where that is so. to has room for STACKS_FRAMES_MAX. Returns how
 * many; 0 where there is no such stack.
 */
size_t stacks_labels(const struct stacks *s, int64_t stack_id, uint32_t *to);

/* The key of some names with another after them; of none STRINGS_HASH. */
static inline uint64_t stacks_key_add(uint64_t key, const struct label *next)
{
	return ((key << 5 | key >> 59) ^ next->key) * 0x9e3779b97f4a7c15;
}

/* A new zeroed row at the end, or NULL. */
void *stacks_append(struct array *a, size_t size);

/* Make stacks of which nothing is loaded yet; freed on failure. */
int stacks_make(struct stacks **out, struct weft_err *err) MUST_CHECK;

int stacks_no_memory(struct db *db, struct weft_err *err);

/* Rows of a statement, one after the other, into the stacks; of one that has
 * nothing to bind, by its id. -ENOMEM, or as db_step(). */
typedef int stacks_load_row(struct stacks *s, struct sqlite3_stmt *stmt);
int stacks_load_rows(struct stacks *s, struct db *db, struct sqlite3_stmt *stmt,
		     stacks_load_row *load, struct weft_err *err) MUST_CHECK;
int stacks_load_all(struct stacks *s, struct db *db, enum query_sql id,
		    stacks_load_row *load, struct weft_err *err) MUST_CHECK;

/* Add a frame; and to a frame, by its index, the functions around it, from the
 * inside out and before another frame has any. Both return 0 or -ENOMEM. */
int stacks_load_frame(struct stacks *s, struct sqlite3_stmt *stmt);
int stacks_load_inlined(struct stacks *s, uint32_t frame,
			struct sqlite3_stmt *stmt);

/* Add a stack: id, status, depth, ended. NULL: out of memory. */
struct stack *stacks_load_stack(struct stacks *s, struct sqlite3_stmt *stmt);

/* Label i of a frame, from the inside out; by binary there is but one. */
uint32_t stacks_label_at(const struct stacks *s, const struct frame *f,
			 uint32_t i, enum stacks_by by);

#endif

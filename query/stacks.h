/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a file in memory, with the names of their frames: for sums
 * over all of them, where SQL would walk the tree once per stack.
 *
 * Load, add tallies to stacks, sum; the sums are read as rows, one per
 * function (a name within a binary) or per binary. Names read as view
 * frame_text puts them.
 */
#ifndef WEFT_STACKS_H
#define WEFT_STACKS_H

#include "query/db.h"
#include "query/ends.h"
#include "query/named.h"
#include "query/stats.h"

enum {
	STACKS_FRAMES_MAX = 4096
};

enum stacks_by {
	STACKS_BY_FUNCTION,
	STACKS_BY_BINARY
};

/* All borrowed from the stacks. */
struct stacks_row {
	const char *name;   /* function or path, bytes as stored */
	const char *binary; /* path of the function's binary */
	struct tally self;  /* it was the innermost */
	struct tally total; /* it was on the stack, once or recurring */
};

/* What is known of the samples that were added. */
struct stacks_quality {
	struct tally all;
	struct named named;    /* the innermost frame has a name */
	struct tally complete; /* the walk reached the first frame, or there
				  is no user stack */
	struct ends ends;
};

struct stacks;

int stacks_load(struct stacks **out, struct db *db,
		struct weft_err *err) MUST_CHECK;
void stacks_free(struct stacks *s);

/*
 * The same for who asks for a few stacks only, by their names: of the others
 * the tree is not read. Of those that it does not say it needs names and keys
 * are not to be asked for, and nothing can be summed. stacks_need() makes one
 * known; stacks_need_alike() all that read the same as one of n that are, and
 * some more: stacks_text_key() tells.
 */
int stacks_load_few(struct stacks **out, struct db *db,
		    struct weft_err *err) MUST_CHECK;
int stacks_need(struct stacks *s, struct db *db, int64_t stack_id,
		struct weft_err *err) MUST_CHECK;
int stacks_need_alike(struct stacks *s, struct db *db, const int64_t *ids,
		      size_t n, struct weft_err *err) MUST_CHECK;
bool stacks_is_needed(const struct stacks *s, int64_t stack_id);

/* Go through those that are known, from at = 0 on, in no order: its id, and the
 * next at; 0: there are no more. */
size_t stacks_next_needed(const struct stacks *s, size_t at, int64_t *stack_id);

/* Add more to a stack. A stack that the file does not have (damage) is added
 * to the quality's `all` only. */
void stacks_add(struct stacks *s, int64_t stack_id, const struct tally *more);

/* Sum what was added. rows (n of them, some without a sample) are valid until
 * the next call; the caller may sort them. */
void stacks_sum(struct stacks *s, enum stacks_by by, struct stacks_row **rows,
		size_t *n);

const struct stacks_quality *stacks_quality(const struct stacks *s);

/* Step through the stacks that something was added to: from 0 on, the next
 * place, or 0 at the end. */
size_t stacks_next(const struct stacks *s, size_t at, int64_t *stack_id,
		   const struct tally **tally);

/*
 * The names on a stack, root first, and before them [truncated] or [broken]
 * where that is so. names has room for STACKS_FRAMES_MAX, and borrows them.
 * Returns how many; 0 where there is no such stack.
 */
size_t stacks_names(const struct stacks *s, int64_t stack_id,
		    const char **names);

/* The innermost of these; "[unknown]" where there is no such stack. */
const char *stacks_leaf(const struct stacks *s, int64_t stack_id);

/* All of them as one line, `;` between, as view stack_text puts it: within a
 * name `;` reads `:`, a newline `?`. The caller frees it; NULL: out of memory.
 */
char *stacks_fold(const struct stacks *s, int64_t stack_id);

/* The rows of stacks_sum() that a stack adds to, each once, that of self
 * first. rows has room for STACKS_FRAMES_MAX. Returns how many. */
size_t stacks_rows(const struct stacks *s, int64_t stack_id, enum stacks_by by,
		   uint32_t *rows);

/* Equal for stacks that read the same, whatever the addresses. */
uint64_t stacks_text_key(const struct stacks *s, int64_t stack_id);

/* Is a function of that name, with or without the kernel's _[k], on the
 * stack? */
bool stacks_has(const struct stacks *s, int64_t stack_id, const char *name);

#endif

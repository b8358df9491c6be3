/* SPDX-License-Identifier: MIT */
/*
 * What is compared: functions or stacks, numbered from 0, the same number for
 * what reads the same in two files. A function is its name and the last part
 * of its binary's path: the same program may lie elsewhere.
 */
#ifndef WEFT_DIFF_ITEMS_H
#define WEFT_DIFF_ITEMS_H

#include "query/stacks.h"

enum {
	DIFF_FILES = 2
};

struct diff_item {
	const char *name, *binary; /* borrowed; NULL for a stack */
	size_t file;
	int64_t stack_id; /* one that reads so */
};

struct diff_items;

/* Returns owned, NULL: out of memory. */
struct diff_items *diff_items_new(bool by_stack);
void diff_items_free(struct diff_items *it);

/* Load the stacks of a file (0 or 1). */
int diff_items_load(struct diff_items *it, size_t file, struct db *db,
		    struct weft_err *err) MUST_CHECK;

/* The items that a stack adds to, n of them: first the one that is its own,
 * then those that called it. Valid until the next call. NULL: out of memory. */
const uint32_t *diff_items_of(struct diff_items *it, size_t file,
			      int64_t stack_id, size_t *n);

const struct diff_item *diff_items_at(const struct diff_items *it,
				      uint32_t item);

/* A stack as stacks_fold() puts it; the caller frees it. NULL: out of memory.
 */
char *diff_items_fold(const struct diff_items *it,
		      const struct diff_item *item);

#endif

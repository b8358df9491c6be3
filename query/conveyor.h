/* SPDX-License-Identifier: MIT */
/*
 * Rows from one thread to another, in order: while the caller reads the next
 * from a file, a thread of the conveyor's takes those before. For passes over
 * millions of samples, where to read one costs about as much as what is done
 * with it.
 */
#ifndef WEFT_CONVEYOR_H
#define WEFT_CONVEYOR_H

#include <stddef.h>

#include "store/weft.h"

enum {
	/* They are passed on by so many. To wake the thread that takes them
	 * costs as much as to read a hundred or two. */
	CONVEYOR_ROWS = 8192
};

struct conveyor;

/* Take n rows, n > 0, on the conveyor's thread (where there is none to be had,
 * on the caller's); one call at a time. Other than 0 ends it: no more rows are
 * taken. */
typedef int conveyor_take(void *ctx, const void *rows, size_t n);

/* Begin. Returns 0, or -ENOMEM with *out NULL. */
int conveyor_begin(struct conveyor **out, size_t row_bytes, conveyor_take *take,
		   void *ctx) MUST_CHECK;

/* Room for the next row, to be filled before the next call of any of these. It
 * may wait for rows to be taken. NULL: taking has ended; ask conveyor_end(). */
void *conveyor_next(struct conveyor *c);

/* All rows are there: wait until they are taken, and free c. Returns what take
 * returned last. */
int conveyor_end(struct conveyor *c) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Whether the stacks of some samples are whole, and why not: sums by status,
 * and of the broken by why the walk over user frames ended. Shares are of the
 * samples with a user stack; those of kernel threads and of programs that are
 * being replaced (no_user) have none that could be whole, and of calls only
 * some have theirs taken (not_taken).
 */
#ifndef WEFT_ENDS_H
#define WEFT_ENDS_H

#include "query/figure.h"
#include "query/json.h"
#include "query/stats.h"

enum ends_status {
	ENDS_COMPLETE,
	ENDS_TRUNCATED,
	ENDS_BROKEN,
	ENDS_LOST,
	ENDS_NO_USER,
	ENDS_NOT_TAKEN,
	ENDS_STATUSES
};

enum {
	ENDS_REASONS_MAX = 16
};

/* Zeroed is empty. */
struct ends {
	struct tally status[ENDS_STATUSES];
	double broken[ENDS_REASONS_MAX]; /* weights, by reason */
};

/* Of the words of columns stack.status (what is no such word counts as
 * broken) and stack.ended (NULL where it is not known). */
enum ends_status ends_parse_status(const char *word);
unsigned ends_parse_reason(const char *word);

void ends_add(struct ends *e, enum ends_status status, unsigned reason,
	      const struct tally *more);
void ends_merge(struct ends *to, const struct ends *more);

/* The samples with a user stack: what shares are of. */
struct tally ends_all(const struct ends *e);

/* Why most of the broken stacks broke, and how many of them did, 0 to 1;
 * NULL: none did, or no reason is known. */
const char *ends_reason(const struct ends *e, double *share);

/* What a reason means, or NULL. */
const char *ends_explain(const char *reason);

/* The share of a status in percent, "-" where no sample has a user stack. */
const char *ends_percent(struct figure *to, const struct ends *e,
			 enum ends_status status);

/* One line: "99.8 % complete, ..., of 1,200 samples with a user stack" */
void ends_describe(const struct ends *e, char *out, size_t size);

/* Keys and values within an object that the caller began. */
void ends_json(const struct ends *e, struct json *j);

#endif

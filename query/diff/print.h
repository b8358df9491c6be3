/* SPDX-License-Identifier: MIT */
/* What weft diff prints. */
#ifndef WEFT_DIFF_PRINT_H
#define WEFT_DIFF_PRINT_H

#include "query/diff/diff.h"

/* At most so many rows of a table; 0: all. */
int diff_print(const struct diff *d, size_t rows,
	       struct weft_err *err) MUST_CHECK;
int diff_print_json(const struct diff *d, size_t rows,
		    struct weft_err *err) MUST_CHECK;

/* The items to print of a kind, what matters first: what surely changed, by
 * how much at least; then what was tested; then the rest, by its share.
 * Returns owned, n of them; NULL: out of memory. */
uint32_t *diff_order(const struct diff *d, enum compare_kind kind, size_t *n);

/* An item as it reads; the caller frees it. NULL: out of memory. */
char *diff_name(const struct diff *d, uint32_t item);

/* What the two sets are called: "A", "after", "slow". */
const char *diff_word(const struct diff *d, enum compare_side side);

/* Why nothing is said, in words. */
const char *diff_rule(const struct diff *d, enum compare_rule rule);

/* Does it differ, so that 1 in 20 such claims is wrong at most? */
bool diff_is_found(const struct compare_answer *a);

#endif

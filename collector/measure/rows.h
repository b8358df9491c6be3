/* SPDX-License-Identifier: MIT */
/* Measures and what they had, as rows of the file: the one conversion. */
#ifndef WEFT_MEASURE_ROWS_H
#define WEFT_MEASURE_ROWS_H

#include "collector/batch.h"
#include "collector/measure/measures.h"

/* Describe the measures (NULL: none) for store_open(). Strings are borrowed
 * from them. Returns how many. */
size_t measure_rows_describe(const struct measures *m,
			     struct store_metric out[MEASURES_MAX]);

/* How a process and a stack of the interval are found in the batch, by index;
 * not 0: there is no room for them. */
typedef int measure_find_fn(void *ctx, const struct weft_identity *who,
			    const struct weft_stack_key *key, uint32_t *process,
			    uint32_t *stack);

/* Add an interval to a batch; shape has the values of attributes. What finds no
 * room is counted. -ENOMEM. */
int measure_rows(const struct measures *m, const struct measure_harvest *h,
		 const struct shape *shape, measure_find_fn *find, void *ctx,
		 struct batch *b) MUST_CHECK;

#endif

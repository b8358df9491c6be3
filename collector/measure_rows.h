/* SPDX-License-Identifier: MIT */
/* Measures and what they had, as rows of the file: the one conversion. */
#ifndef WEFT_MEASURE_ROWS_H
#define WEFT_MEASURE_ROWS_H

#include "collector/batch.h"
#include "collector/measures.h"

/* Describe the measures (NULL: none) for store_open(). Strings are borrowed
 * from them. Returns how many. */
size_t measure_rows_describe(const struct measures *m,
			     struct store_metric out[MEASURES_MAX]);

/* Add an interval to a batch. What finds no room is counted. -ENOMEM. */
int measure_rows(const struct measures *m, const struct measure_harvest *h,
		 struct batch *b) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* What traces.c and traces_sums.c share. */
#ifndef WEFT_TRACES_INSIDE_H
#define WEFT_TRACES_INSIDE_H

#include "query/traces.h"

/* Fill t->sums, and t->time_sums, from t->report. */
int traces_load_samples(struct traces *t, struct weft_err *err) MUST_CHECK;

int traces_no_memory(struct weft_err *err);

#endif

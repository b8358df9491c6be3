/* SPDX-License-Identifier: MIT */
/*
 * What was in the gaps between the samples of a thread: it was blocked, it
 * waited for a CPU (both only where the recording has such events), it worked
 * for other requests; or nothing is known but that it was not sampled.
 */
#ifndef WEFT_GAPS_H
#define WEFT_GAPS_H

#include "query/sequence.h"

/* Fill in gap_in of the rows that are gaps. trace and tid: as they were asked
 * of sequence_load(). */
int gaps_explain(struct sequence *s, struct report *r, int64_t trace,
		 int64_t tid, struct weft_err *err) MUST_CHECK;

#endif

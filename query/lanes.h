/* SPDX-License-Identifier: MIT */
/*
 * A sequence as a picture of text: for each thread a line on how busy it was,
 * and one on which request it worked for.
 */
#ifndef WEFT_LANES_H
#define WEFT_LANES_H

#include "query/sequence.h"

/*
 * Print it, in at most width columns (0: 80). A sample stands for ns_each of
 * CPU time (0: not known: then a column is full that has any). with_trace:
 * also the line on requests. Nothing is printed of less than two rows.
 */
int lanes_print(const struct sequence *s, int64_t origin_ns, double ns_each,
		bool with_trace, unsigned width,
		struct weft_err *err) MUST_CHECK;

#endif

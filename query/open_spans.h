/* SPDX-License-Identifier: MIT */
/*
 * Which of a request's spans was the innermost that was open at a time: of
 * those that were, the deepest, then the last to start. Spans may be many, and
 * samples more: it is worked out once for all times.
 */
#ifndef WEFT_OPEN_SPANS_H
#define WEFT_OPEN_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct span_node;

/* From a time on, until the next one. */
struct open_step {
	int64_t unix_ns;
	size_t node; /* index; SIZE_MAX: none was open */
};

struct open_spans {
	struct open_step *steps; /* owned; by time */
	size_t n;
};

/* Of n nodes with their depths. Returns 0, or -ENOMEM with nothing to free. */
int open_spans_make(struct open_spans *o, const struct span_node *nodes,
		    size_t n);

/* Index of the node; SIZE_MAX: none was open. */
size_t open_spans_at(const struct open_spans *o, int64_t unix_ns);

void open_spans_release(struct open_spans *o);

#endif

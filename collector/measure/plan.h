/* SPDX-License-Identifier: MIT */
/*
 * From a measure's words to what the kernel program runs on: which program is
 * attached to what, where each term is found, how long keys and values are.
 */
#ifndef WEFT_MEASURE_PLAN_H
#define WEFT_MEASURE_PLAN_H

#include "collector/measure/parse.h"
#include "collector/tracepoint.h"

enum measure_hook {
	MEASURE_AT_SYS_ENTER,
	MEASURE_AT_SYS_EXIT,
	MEASURE_AT_RAW,        /* a tracepoint, of which no field is read */
	MEASURE_AT_TRACEPOINT, /* with its record */
	MEASURE_AT_ENTRY,
	MEASURE_AT_RETURN,
	MEASURE_AT_USDT,
};

struct measure_ready {
	struct measure measure;
	struct measure_plan plan;
	enum measure_hook hook;
	uint32_t key_bytes; /* at least 8 */
	uint32_t value_bytes;
	const char *unit; /* of values: "ns", "bytes" or ""; static */
};

/*
 * Plan a measure. events_fd: of tracepoints_open(), read for tracepoints only.
 * Returns 0, -EINVAL (a term that this probe has not, or a comparison that
 * cannot be), -ENOENT (no such tracepoint or field); err says what there is.
 */
int measure_plan(const struct measure *m, int events_fd,
		 struct measure_ready *out, struct weft_err *err) MUST_CHECK;

/* Have a planned measure send examples: so many (not 0) of each bucket, or the
 * highest. Returns false, without any change, for what has neither. */
bool measure_plan_examples(struct measure_ready *r, uint32_t n);

/* The number of a system call as the kernel's tracepoints name it; -1: not
 * known. */
int measure_syscall(const char *name);

#endif

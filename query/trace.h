/* SPDX-License-Identifier: MIT */
/* One request: its samples added up, beside everyone's. What weft trace
 * prints. */
#ifndef WEFT_TRACE_H
#define WEFT_TRACE_H

#include "query/report.h"
#include "query/sequence.h"
#include "query/span_tree.h"
#include "query/stacks.h"
#include "query/wall.h"

struct trace_row {
	uint64_t text;    /* stacks_text_key(): those that read so are one */
	int64_t stack_id; /* the first of them */
	struct tally here, everyone;
	char *folded; /* owned */
};

struct trace_process {
	int64_t pid, samples, threads;
	char comm[32], service[64];
};

/* Zero, then set the input. */
struct trace {
	uint64_t max_rows; /* input: of stacks and of samples; 0: all */
	struct report report;
	int64_t id;
	char hex[33];
	struct stacks *stacks;  /* owned */
	struct trace_row *rows; /* owned; the largest share first */
	size_t n_rows;
	size_t n_told;               /* of them, with all that is in a row */
	struct tally here, everyone; /* of all stacks */
	struct trace_process processes[16];
	size_t n_processes; /* there may be more than there is room for */
	int64_t first_ns, last_ns;
	struct sequence sequence;
	struct span_tree spans;
	struct wall wall;
	int64_t by_time; /* of its samples */
	char like[256];  /* KEY = VALUE of requests like it; "": not known */
	struct report_elsewhere elsewhere; /* of one without samples here */
};

/* Open the file and load it all; id: as report_find_trace() takes it. -ENODATA:
 * it has neither samples nor spans in that time. Release on every path. */
int trace_load(struct trace *t, const struct cli_common *common,
	       const char *file, const char *id,
	       struct weft_err *err) MUST_CHECK;
void trace_release(struct trace *t);

/* The interval of what the request used. */
struct stats_interval trace_used(const struct trace *t);

#endif

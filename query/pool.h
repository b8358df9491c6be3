/* SPDX-License-Identifier: MIT */
/*
 * Many requests as one: what their samples were on, each request a cluster,
 * because samples of one request are alike. A single request of a few
 * milliseconds rarely has a sample; a thousand of them have.
 */
#ifndef WEFT_POOL_H
#define WEFT_POOL_H

#include "query/spans.h"
#include "query/top.h"

/* Which requests, and what is known of all of them. */
struct pool {
	double requests; /* that were in the range, with or without samples */
	double sampled;  /* of them have samples */
	int64_t by_time; /* samples joined by time alone, of any request */
	double mean;     /* of a request, in the event's unit: estimate */
	struct stats_interval mean_in; /* for requests like these */
	bool is_few; /* too few have samples to rely on intervals */
};

/* As top_load(), of the requests that filter lets through. Fills top->pool and
 * the rows' intervals. */
int pool_load(struct top *top, const struct cli_common *common,
	      const char *file, const struct spans_filter *filter,
	      struct weft_err *err) MUST_CHECK;

#endif

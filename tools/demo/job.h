/* SPDX-License-Identifier: MIT */
/*
 * A job: the work for one request, on a worker thread. It publishes the
 * request's trace ID while it works and measures the truth about it.
 */
#ifndef DEMO_JOB_H
#define DEMO_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "truth.h"

struct route;

enum {
	JOB_TRACEPARENT_BYTES = 128
};

struct job {
	const struct route *route;
	char traceparent[JOB_TRACEPARENT_BYTES]; /* "" if there was none */
	unsigned int cost;

	/* Publish wrongly on purpose: only when the work is over, and never
	 * clear, so that each request passes for the one before it. */
	bool is_broken_writer;

	/* set by job_run() */
	uint64_t checksum;
	struct truth_row row;
};

/* Worker thread; touches nothing but the job. */
void job_run(struct job *job);

#endif

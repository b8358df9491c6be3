/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "otel-thread-ctx.h"
#include "route.h"
#include "splitmix.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void work(struct job *job)
{
	/* the same request finds the same data, whoever sends it */
	uint64_t seed = splitmix(job->cost);

	for (const char *c = job->traceparent; *c; c++)
		seed = splitmix(seed ^ (unsigned char)*c);
	job->checksum = job->route->run(job->cost, seed);
}

void job_run(struct job *job)
{
	struct truth_row *row = &job->row;
	uint64_t cpu_before;
	int rc;

	row->route = job->route->name;
	row->cost = job->cost;
	row->tid = gettid();
	cpu_before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	row->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
	if (job->is_broken_writer) {
		work(job);
		rc = otc_set_traceparent(job->traceparent);
	} else {
		rc = otc_set_traceparent(job->traceparent);
		work(job);
		otc_clear();
	}
	row->end_boot_ns = clock_ns(CLOCK_BOOTTIME);
	row->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
	if (rc == 0)
		memcpy(row->trace_id, job->traceparent + 3, 32);
}

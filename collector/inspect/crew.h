/* SPDX-License-Identifier: MIT */
/*
 * The inspectors as the loop sees them: has the server make them, gives one a
 * job, takes its reply apart, kills and replaces one that hangs or dies. Which
 * job is next, and for whom, is the business of who opened the crew.
 */
#ifndef WEFT_INSPECT_CREW_H
#define WEFT_INSPECT_CREW_H

#include "collector/inspect/jobs.h"

struct crew;
struct worker; /* one inspector */

/* All run on the loop. over and closed are never called from within a call of
 * ours, changed may be: of crew_open() and crew_give(). */
struct crew_calls {
	/* A job is the callee's again: what came of it, borrowed, and for how
	 * long its inspector had it. May close the crew. */
	void (*over)(void *ctx, struct job *job,
		     const struct inspect_answer *answer, uint64_t took_ns);
	/* An inspector is idle, or there is one less. */
	void (*changed)(void *ctx);
	/* The crew is no more: the last call. */
	void (*closed)(void *ctx);
};

/*
 * Have n inspectors (at most WIRE_WORKERS_MAX) made. Consumes the server, also
 * on failure; borrows calls. On success *out lives until calls->closed.
 */
int crew_open(struct crew **out, uv_loop_t *loop, struct inspect_server server,
	      uint32_t n, const struct crew_calls *calls, void *ctx,
	      struct weft_err *err) MUST_CHECK;

/* Stop; jobs that inspectors have are freed, and nobody is told of them. */
void crew_close(struct crew *crew);

/* An idle inspector, if it can be one that parsed this target last; NULL: all
 * are busy. */
struct worker *crew_find_idle(struct crew *crew,
			      const struct inspect_target *target);

/* What it was given last; all zero: nothing yet. Borrowed. */
const struct inspect_target *crew_last_of(const struct worker *worker);

/* Give an idle inspector a job (consumed), and so long for it. */
void crew_give(struct worker *worker, struct job *job, uint64_t deadline_ns);

/* Whether an inspector is busy with such a request. */
bool crew_is_busy_with(const struct crew *crew, enum wire_op op);

/* Whether there is no inspector, and none is being made; whether there will
 * never be one again, for want of the server. */
bool crew_is_empty(const struct crew *crew);
bool crew_is_lost(const struct crew *crew);

/* How many inspectors were given up so far. */
uint64_t crew_replaced(const struct crew *crew);

/* As inspect_cpu_ns(). */
uint64_t crew_cpu_ns(const struct crew *crew);

#endif

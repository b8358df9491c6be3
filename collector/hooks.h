/* SPDX-License-Identifier: MIT */
/*
 * What fires samples, attached to the kernel: perf events, the scheduler's
 * hooks, tracepoints, probes in functions. All are there before recording
 * starts and after it has stopped; in between they count.
 */
#ifndef WEFT_HOOKS_H
#define WEFT_HOOKS_H

#include "collector/probe.h"
#include "collector/timer.h"
#include "collector/trigger.h"

struct hooks;

struct hooks_opts {
	struct probe *probe;             /* borrowed while open */
	const struct triggers *triggers; /* borrowed while open */
	const struct cpu_list *cpus;     /* borrowed for the call */
	uint64_t hz;                     /* of the timer */
};

/*
 * Attach everything; nothing is counted yet. Needs privilege. Errors name what
 * the machine, the kernel or a file lacks, and what there is instead; -EPERM
 * names a missing right.
 */
int hooks_open(struct hooks **out, const struct hooks_opts *opts,
	       struct weft_err *err) MUST_CHECK;
void hooks_close(struct hooks *h); /* NULL is fine */

/* Count from now on. */
int hooks_start(struct hooks *h, struct weft_err *err) MUST_CHECK;

/* Count no more; what has not ended goes into the ledger of the epoch that is
 * under way. */
void hooks_stop(struct hooks *h);

/* The perf events: groups of one per CPU. */
uint32_t hooks_n_timers(const struct hooks *h);
struct timers *hooks_timers(struct hooks *h, uint32_t i);

/* How often since the last call the kernel left out the program of an event,
 * because another ran. */
uint64_t hooks_take_missed(struct hooks *h, uint32_t event);

#endif

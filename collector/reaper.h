/* SPDX-License-Identifier: MIT */
/*
 * Reads an interval off the kernel: collects detail records as they arrive,
 * and at its end swaps the epoch, turns the timers to their next periods, and
 * takes the counts, the stacks and the ledger.
 */
#ifndef WEFT_REAPER_H
#define WEFT_REAPER_H

#include "collector/hooks.h"
#include "collector/pipeline.h"
#include "collector/probe.h"

struct reaper;

/* probe, hooks and measures (NULL: none) are borrowed. */
int reaper_open(struct reaper **out, struct probe *probe, struct hooks *hooks,
		struct measures *measures, uint32_t n_events, bool self_cost,
		struct weft_err *err) MUST_CHECK;
void reaper_close(struct reaper *r); /* NULL is fine */

/* Readable when records are worth fetching with reaper_consume(). Borrowed. */
int reaper_fd(const struct reaper *r);
void reaper_consume(struct reaper *r);

/* The first interval begins now. self_cpu_ns: CPU time used so far. */
void reaper_start(struct reaper *r, uint64_t self_cpu_ns);

/*
 * End the interval and begin the next. Fills raw but for what the side-band
 * and discovery lost. On failure raw holds what is to be released.
 */
int reaper_turn(struct reaper *r, uint64_t self_cpu_ns,
		struct raw_interval *raw, struct weft_err *err) MUST_CHECK;

/* When the interval under way began, and the first one; boot time. */
uint64_t reaper_interval_ns(const struct reaper *r);
uint64_t reaper_started_ns(const struct reaper *r);

#endif

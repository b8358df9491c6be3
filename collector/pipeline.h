/* SPDX-License-Identifier: MIT */
/*
 * The way of an interval from the kernel to the writer: it waits for what
 * inspectors have to tell of it (mappings, then JIT code), is resolved into a
 * batch, and handed over. While the writer is behind, or the file's log is over
 * its cap, intervals merge in memory and details are discarded and counted.
 */
#ifndef WEFT_PIPELINE_H
#define WEFT_PIPELINE_H

#include "collector/ledger.h"
#include "collector/measure/measures.h"
#include "collector/resolve.h"
#include "collector/writer.h"

struct pipeline;

/* An interval as it was read off the kernel; consumed by pipeline_add(). */
struct raw_interval {
	struct harvest harvest;
	struct store_interval row;
	struct weft_ledger ledger[WEFT_MAX_EVENTS];
	struct store_cpu *cpus; /* owned */
	size_t n_cpus;
	uint64_t missed[WEFT_MAX_EVENTS]; /* programs that the kernel left out
					   */
	uint64_t sideband_lost, probe_deferred;
	uint64_t context_failing; /* processes */
	uint64_t table_refused;   /* files */
	struct measure_harvest measured;
};

void raw_interval_release(struct raw_interval *raw);

struct pipeline_total {
	uint64_t count, value;
};

/* What was recorded so far, for the last word. */
struct pipeline_totals {
	uint64_t intervals;
	struct pipeline_total ledger[WEFT_MAX_EVENTS][LEDGER_ENTRIES];
	uint64_t wrong_intervals; /* in which an identity did not hold */
	uint64_t without_maps;    /* intervals for which inspectors did not
				     answer in time what is mapped */
};

/* All but out and err are borrowed. */
int pipeline_open(struct pipeline **out, uint32_t n_events,
		  uint64_t max_wal_bytes, struct resolver *resolver,
		  struct writer *writer, struct weft_err *err) MUST_CHECK;
void pipeline_close(struct pipeline *p); /* NULL is fine */

/* Returns 0 or -ENOMEM; then the interval is lost, and counted as such in the
 * next. */
int pipeline_add(struct pipeline *p, struct raw_interval *raw) MUST_CHECK;

/* Go on as far as possible; called when answers arrive and each interval.
 * Intervals wait for answers in order. */
void pipeline_advance(struct pipeline *p);

/* No interval waits: all were handed to the writer. */
bool pipeline_is_empty(const struct pipeline *p);

/* When the oldest interval that waits began (boot), or now_ns. */
uint64_t pipeline_oldest_ns(const struct pipeline *p, uint64_t now_ns);

/* Hand over what is merged, whatever the log's size: recording ends. */
void pipeline_finish(struct pipeline *p);

const struct pipeline_totals *pipeline_totals(const struct pipeline *p);

/* The same, with the ledger of what is merged but not handed over yet. */
void pipeline_totals_now(const struct pipeline *p, struct pipeline_totals *out);

#endif

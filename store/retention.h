/* SPDX-License-Identifier: MIT */
/*
 * What a file keeps, and for how long, so that it can be recorded into for
 * weeks. What is old goes in this order: detail (samples with their
 * attributes, examples of measures, spans, traces that nothing is left of);
 * then shape rolls up, intervals that follow each other becoming one of a
 * minute, then of an hour; then counts go, too. Rows that nothing refers to
 * any more (stacks, frames, functions, binaries, threads, processes) are swept
 * out, and the room is given back.
 *
 * Nothing goes silently: in the ledger of its interval, entry "expired" takes
 * over from "stored", and "expired_counts" stands for counts; of measures,
 * see table metric_interval. Intervals merge only within a recording, where
 * one follows on the other and their detail has gone, and only if all sums
 * come out as they were, which is checked in the same transaction. Whatever
 * stops a step, each is whole or did not happen.
 *
 * A pinned trace keeps its samples and spans, and the intervals in which it
 * has samples stay as they were recorded.
 */
#ifndef WEFT_RETENTION_H
#define WEFT_RETENTION_H

#include "store/store.h"

#define STORE_KEEP_ALL UINT64_MAX

/* Ages are those of an interval's end, in ns. STORE_KEEP_ALL: any age. */
struct store_keep {
	uint64_t detail_ns;  /* above: detail goes */
	uint64_t seconds_ns; /* above, and without detail: by the minute */
	uint64_t minutes_ns; /* likewise: by the hour */
	uint64_t counts_ns;  /* above: counts go */
	uint64_t max_bytes;  /* of file and log: above, the oldest goes in the
				order given above, whatever its age. 0: any
				size */
};

/* What has gone so far; added to by each step. */
struct store_gone {
	uint64_t samples, exemplars, spans, traces;
	uint64_t merged;   /* intervals that others took in */
	uint64_t unmerged; /* groups of intervals that were left as they are:
			      64 bits do not hold their sums */
	uint64_t counts;   /* samples that shape no longer has */
	uint64_t stacks, frames, functions, binaries, threads, processes;
	bool is_too_big; /* all that may go has gone: still over max_bytes */
};

/*
 * Do one step of what is to be done at now_ns (Unix): one transaction, of a
 * few thousand rows. *more: there is more to do now. Where a reader keeps the
 * log from being emptied, it grows by each step: see store_wal_bytes().
 *
 * Returns 0; -EPROTO where the file contradicts itself; else as store_write().
 * The file is as it was before the step, which may be tried again.
 */
int store_tend(struct store *st, const struct store_keep *keep, uint64_t now_ns,
	       struct store_gone *gone, bool *more,
	       struct weft_err *err) MUST_CHECK;

/* From here on nothing is kept: what steps do can be seen by this store alone,
 * and is undone when it is closed. Of a store that is open to be amended. */
int store_try_only(struct store *st, struct weft_err *err) MUST_CHECK;

/* Bytes that the file takes without what is free in it. */
int store_used_bytes(struct store *st, uint64_t *out,
		     struct weft_err *err) MUST_CHECK;

/* Can the file give back room in steps? One that an early weft made cannot; it
 * is then written anew by store_close(), which needs room for it twice. */
int store_compact_if_needed(struct store *st, bool *is_needed,
			    struct weft_err *err) MUST_CHECK;

enum {
	STORE_HEX_SIZE = 33 /* of a trace ID, with its NUL */
};

/*
 * Pin the trace whose ID begins with text (8 to 32 hexadecimal digits), or take
 * its pin away; hex is its whole ID. Returns 0; -EINVAL for another text or one
 * that several IDs begin with; -ENODATA where no trace has it; else as
 * store_write().
 */
int store_pin(struct store *st, const char *text, bool is_pinned,
	      uint64_t now_ns, char hex[STORE_HEX_SIZE],
	      struct weft_err *err) MUST_CHECK;

/* A pinned trace. */
struct store_pinned {
	const char *hex; /* borrowed for the call */
	uint64_t pinned_ns;
	uint64_t samples, spans; /* samples of the timer */
};

/* Call fn for each pin, the oldest first. */
int store_each_pin(struct store *st,
		   void (*fn)(void *ctx, const struct store_pinned *pin),
		   void *ctx, struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Samples of processes that tell no trace IDs, joined to requests by process
 * and time (view samples_by_time: only where one request was active there).
 * They are put into a table of this connection, time_sample, with the columns
 * of sample.
 */
#ifndef WEFT_BY_TIME_H
#define WEFT_BY_TIME_H

#include "query/db.h"

/* How it ended, in samples of all events. */
struct by_time {
	int64_t joined;
	int64_t ambiguous; /* several requests were active */
	int64_t between;   /* none was */
	int64_t clock;     /* the clock was set in that interval */
};

/* Make the table, of all traces. 1: it is there; 0: no process is such a one,
 * or the file is of an older weft, *out is zero; else a negative errno. Once
 * per db, before anything reads the table. */
int by_time_load(struct db *db, struct by_time *out,
		 struct weft_err *err) MUST_CHECK;

/*
 * The same for one trace, and quick where its processes tell IDs. From then on
 * `sample` in statements stands for the samples of that trace alone: those
 * that carry its ID, and those by time. *joined: how many of these. Once per
 * db, in place of by_time_load(). Returns 0 or a negative errno.
 */
int by_time_stand_in(struct db *db, int64_t trace, int64_t *joined,
		     struct weft_err *err) MUST_CHECK;

#endif

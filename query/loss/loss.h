/* SPDX-License-Identifier: MIT */
/*
 * What was counted and what was not, of one event over a range; whether that
 * adds up, over all and interval by interval; how whole stacks are, and which
 * samples have a trace ID.
 */
#ifndef WEFT_LOSS_H
#define WEFT_LOSS_H

#include "query/context.h"
#include "query/programs.h"
#include "query/report.h"

enum {
	LOSS_CHECKS = 6,
	LOSS_STATUSES_MAX = 16
};

/* An identity of the ledger, added up. */
struct loss_check {
	char text[160];
	int64_t left, right;
	bool is_known; /* every term was measured in every interval */
	int64_t worst; /* the difference furthest from 0 */
	int64_t worst_interval;
};

/* How many samples' stacks have a status. */
struct loss_status {
	char word[24];
	uint64_t count;
};

struct loss {
	struct report report;
	struct loss_check checks[LOSS_CHECKS];
	struct loss_status statuses[LOSS_STATUSES_MAX]; /* by word */
	size_t n_statuses;
	struct programs programs;
	struct context context;
	struct sums samples; /* by interval; empty: not known yet */
};

/* Open what common asks for and load it all. Release on every path. */
int loss_load(struct loss *l, const struct cli_common *common, const char *file,
	      struct weft_err *err) MUST_CHECK;
void loss_release(struct loss *l);

/* All of it but the trace IDs, of l->report, which is open. */
int loss_add_up(struct loss *l, struct weft_err *err) MUST_CHECK;

/* The largest share, in percent, that was lost or does not add up. */
double loss_worst_percent(const struct loss *l);

/* The report; rows: names of processes at most, 0: all. */
int loss_print(const struct loss *l, size_t rows,
	       struct weft_err *err) MUST_CHECK;
void loss_json(const struct loss *l);

/*
 * The ledger of all events of a recording, and how recording fares, as
 * Prometheus' text format has it (version 0.0.4). worst: the largest
 * loss_worst_percent() of an event.
 */
int loss_prometheus(const struct cli_common *common, const char *file,
		    double *worst, struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Where the time of a request went: it ran, it could have run, it was blocked;
 * and the rest, which no sample says anything of. Of threads at the same time
 * the parts add up to more than passed, and the rest is negative.
 */
#ifndef WEFT_WALL_H
#define WEFT_WALL_H

#include "query/report.h"

enum wall_kind {
	WALL_RUNNING,
	WALL_RUNNABLE,
	WALL_BLOCKED,
	WALL_KINDS
};

struct wall_part {
	const char *event; /* that tells it; NULL: the recording has none */
	uint64_t samples;
	double ns;                /* estimated; exact where all were stored */
	double first_ns, last_ns; /* its samples' begin and end, boot time */
	struct stats_interval interval;
};

struct wall {
	struct wall_part part[WALL_KINDS];
	double wall_ns;      /* -1: not known */
	bool is_of_span;     /* of its root span; else from first to last */
	bool has_everything; /* all three parts are there */
};

/* Of a trace, of the last recording of a report. */
int wall_load(struct wall *w, struct report *r, int64_t trace,
	      struct weft_err *err) MUST_CHECK;

/* The part that an event is; NULL: it is none. */
const struct wall_part *wall_part_of(const struct wall *w, const char *event);

/* Nothing is printed of a recording without all three. */
void wall_print(const struct wall *w);

/* An object `wall`, or null, in the object that is open. */
void wall_json(const struct wall *w, struct json *j);

#endif

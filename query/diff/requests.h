/* SPDX-License-Identifier: MIT */
/*
 * Inside of sets of requests: requests.c lists them and reads their samples,
 * sides.c puts each on a side, clusters.c adds them up.
 */
#ifndef WEFT_DIFF_REQUESTS_H
#define WEFT_DIFF_REQUESTS_H

#include "query/diff/diff.h"
#include "query/traces.h"

enum {
	NOWHERE = COMPARE_SIDES /* a request on neither side */
};

/* A sample as it comes: the indexes of its request and stack. Single precision
 * will do for weights. */
struct sample {
	uint32_t request, stack;
	float weight;
};

/* The same among those of its request. */
struct sorted {
	uint32_t stack;
	float weight;
};

struct request {
	double duration_ns; /* -1: not known */
	uint32_t first;     /* of its samples in `sorted` */
	uint32_t n;         /* samples */
	uint8_t side;
	bool is_listed; /* of the range */
};

struct stack {
	int64_t id;
	const uint32_t *items; /* what it adds to; borrowed from d->items */
	size_t n_items;
};

/* What is summed of a stack: apart from it, so that what requests are added up
 * by lies close together. */
struct stack_sums {
	struct tally side[COMPARE_SIDES];
};

struct loading {
	struct diff *d;
	struct traces traces;
	struct request *requests; /* owned; parallel to traces.sums.rows */
	struct sample *samples;   /* owned; in the order of the file */
	size_t n_samples, samples_room;
	struct sorted *sorted;    /* owned; of one request after the other */
	struct sums ids;          /* keys: the ids of stacks */
	struct stack *stacks;     /* owned; parallel */
	struct stack_sums *tally; /* the same */
	size_t stacks_room;
	/* Owned, by id: 1 + index in traces.sums, in stacks; 0: search. */
	uint32_t *small_traces, *small_stacks;
};

/* NULL: it is none of the range. */
struct request *requests_find(const struct loading *l, int64_t trace);

/* Put requests on sides, by the diff's mode; *one: the one, of DIFF_TRACE. */
int sides_choose(struct loading *l, const struct request **one,
		 struct weft_err *err) MUST_CHECK;

/* Add up what was read; one: as sides_choose() says, or NULL. Returns 0 or
 * -ENOMEM. */
int clusters_add(struct loading *l, const struct request *one) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Two sets of samples out of one file or two, compared: what weft diff prints.
 * Of stretches of time the counts are exact, and blocks of whole intervals are
 * the clusters; of requests they are estimated from detail, and each request
 * is one.
 */
#ifndef WEFT_DIFF_H
#define WEFT_DIFF_H

#include "query/diff/compare.h"
#include "query/diff/items.h"
#include "query/report.h"
#include "query/spans.h"

enum diff_mode {
	DIFF_TWO_FILES,
	DIFF_CUT,   /* one file, before and after a time */
	DIFF_WHERE, /* requests that are so, and the others */
	DIFF_SLOW,  /* the slowest requests, and the others */
	DIFF_TRACE  /* one request, and those of its route */
};

enum {
	DIFF_BLOCKS = 20 /* of a side, where it has as many intervals */
};

/* Where one request stands among the others, in one item. */
struct diff_rank {
	uint32_t item;
	double share[COMPARE_KINDS];    /* its own */
	double at_least[COMPARE_KINDS]; /* others with as large a share */
};

/* Zero, then set the inputs; what strings point to is borrowed. */
struct diff {
	/* Inputs. */
	enum diff_mode mode;
	bool by_stack;
	int64_t pid; /* 0: all */
	const char *files[DIFF_FILES];
	const char *before, *after; /* of DIFF_CUT: either or both */
	struct spans_where where;
	double slow; /* percent of the requests that are not slow */
	const char *trace;

	struct report reports[DIFF_FILES];
	size_t n_reports;
	struct diff_items *items; /* owned */
	struct compare compare;
	bool is_by_value; /* shares are of values, not of samples: of blocks */

	/* Of DIFF_CUT: intervals that the cut went through, in neither set. */
	int64_t left_out;
	/* Of requests. */
	bool by_extent;      /* there are no spans: from first to last sample */
	double slow_from_ns; /* the shortest of the slow */
	double unknown;      /* requests left out: no span tells how long */
	int64_t by_time;     /* samples joined by time alone */
	char hex[33];
	struct spans_root root;  /* of the one request */
	struct diff_rank *ranks; /* owned */
	size_t n_ranks;
	double peers; /* others with at least as many samples */
};

/* Open and load it all. Release on every path. */
int diff_load(struct diff *d, const struct cli_common *common,
	      struct weft_err *err) MUST_CHECK;
void diff_release(struct diff *d);

/* Are its sets of requests, rather than of time? */
bool diff_is_of_requests(const struct diff *d);

/* A tally of a sample or of a count, as shares weigh it. */
struct tally diff_weighed(const struct diff *d, struct tally tally);

/* Add a tally to the cluster at hand of a side: to all, and to the items of its
 * stack. Returns 0 or -ENOMEM. */
int diff_add(struct diff *d, enum compare_side side, size_t file,
	     int64_t stack_id, const struct tally *tally);

int diff_no_memory(struct weft_err *err);

/* Sets of time, and of requests (blocks.c, requests.c): open the
 * files, fill d->compare. */
int diff_load_blocks(struct diff *d, const struct cli_common *common,
		     struct weft_err *err) MUST_CHECK;
int diff_load_requests(struct diff *d, const struct cli_common *common,
		       struct weft_err *err) MUST_CHECK;

#endif

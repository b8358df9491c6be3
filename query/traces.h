/* SPDX-License-Identifier: MIT */
/*
 * Requests: what their samples sum up to and what their spans say, chosen and
 * sorted. What weft traces prints.
 */
#ifndef WEFT_TRACES_H
#define WEFT_TRACES_H

#include "query/by_time.h"
#include "query/report.h"
#include "query/spans.h"
#include "query/stacks.h"
#include "query/sums.h"

enum traces_sort {
	TRACES_BY_CPU, /* the lower limit of the estimate */
	TRACES_BY_SAMPLES,
	TRACES_BY_DURATION,  /* of the root span, else from first to last
				sample */
	TRACES_BY_CPU_SHARE, /* the lower limit, of the root span's duration */
	TRACES_SORTS
};

enum {
	/* With fewer requests that have samples no mean, nor an interval for
	 * requests like these, is to be relied on. */
	TRACES_FEW_REQUESTS = 30
};

/* How spans and samples of the file meet by trace ID. */
struct traces_coverage {
	int64_t spans;
	int64_t with_spans; /* requests */
	int64_t unsampled;  /* of these, without a sample that has their ID */
	int64_t spanless;   /* requests that have samples and no span */
	int64_t spanless_samples;
};

struct traces_row {
	const struct sum *sum; /* in sums; its key is the trace's id; without a
				  sample all else is 0 */
	struct stats_interval interval; /* of sum.tally.estimate */
	struct spans_root *root;        /* never NULL; empty where not known */
	char *hex; /* owned; NULL: traces_describe() has not told it */
};

/* Zero, then set the inputs. */
struct traces {
	/* Inputs. */
	const char *on; /* only samples that have this function; NULL: all */
	enum traces_sort sort;
	size_t n_ordered; /* so many rows, or all, are to be in the order of
			     sort; those after them come in any */
	struct spans_filter filter;

	struct report report;
	struct stacks *stacks; /* owned; NULL without on */
	struct sums sums;
	bool has_totals;        /* sums are of all samples of the file, as the
				   writer kept them */
	struct sums time_sums;  /* of it, samples that are joined by time */
	struct by_time by_time; /* of all of the file */
	struct traces_coverage coverage;
	struct traces_row *rows; /* owned; the first n_ordered in order */
	size_t n_rows;
	size_t n_sampled; /* of them have samples */
	bool has_spans;   /* the file has some */
	bool has_roots;   /* all rows have theirs */
};

/* Open the file and load it all. Release on every path. */
int traces_load(struct traces *t, const struct cli_common *common,
		const char *file, struct weft_err *err) MUST_CHECK;
void traces_release(struct traces *t);

/* Complete the first n rows: their IDs and root spans. */
int traces_describe(struct traces *t, size_t n,
		    struct weft_err *err) MUST_CHECK;

/* From first to last sample; 0 without. */
int64_t traces_extent_ns(const struct traces_row *row);

/* The mean CPU time of the requests that are listed, those without a sample
 * included: its estimate and 95 % interval, for requests like these. report is
 * t's, wherever it is by now. */
struct stats_interval traces_mean_ns(const struct traces *t,
				     const struct report *report,
				     double *estimate);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Counts by bucket, as table metric_bucket has them: what the edges are, how
 * they read, and what a percentile can be.
 */
#ifndef WEFT_HISTOGRAM_H
#define WEFT_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "store/weft.h"

struct bucket_edges {
	/* step 0: powers of two, with a bucket each for what is below 0, for 0
	 * and for 1. Else from min on, with one below, and one from max on. */
	int64_t min, max, step;
};

struct bucket_count {
	uint32_t bucket;
	uint64_t count;
};

struct histogram {
	struct bucket_count *counts; /* owned; ascending, none of 0 */
	size_t n, room;
	uint64_t total;
};

/* Add a bucket; they come in ascending order. -ENOMEM. */
int histogram_add(struct histogram *h, uint32_t bucket,
		  uint64_t count) MUST_CHECK;
void histogram_release(struct histogram *h);

/* Values in a bucket are at least lo and below hi. INT64_MIN and INT64_MAX:
 * there is no such limit, or none that a signed number can tell. */
struct bucket_bounds {
	int64_t lo, hi;
};

struct bucket_bounds bucket_bounds(const struct bucket_edges *e,
				   uint32_t bucket);

/* How a bucket reads: "(..., 0)", "[0]", "[2, 4)", "[1K, 2K)". */
const char *bucket_label(char out[64], const struct bucket_edges *e,
			 uint32_t bucket);

/*
 * The bucket that holds the value of rank max(1, ceil(q n)) of n in ascending
 * order: for q 0.99 the 99th percentile is in there, whatever the values.
 */
uint32_t histogram_quantile(const struct histogram *h, double q);

/* Draw all buckets from the first to the last that has a count, with those
 * between; counts are divided by div (at least 1). Values of unit "ns" are
 * told as times too. Lines are cut to a width by shorter bars; 0: to none. */
void histogram_print(const struct histogram *h, const struct bucket_edges *e,
		     const char *unit, uint64_t div, unsigned width, FILE *to);

/* How long bars may be so that lines fit into a width (0: any) of which rest is
 * taken: at most most, and never so short that they tell nothing. */
int histogram_bar(unsigned width, int rest, int most);

#endif

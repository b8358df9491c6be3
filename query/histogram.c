/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/histogram.h"

enum {
	BAR_MOST = 52, /* characters */
	BAR_LEAST = 8,
	LABEL = 16,
	COUNT = 10,
	REST = LABEL + COUNT + 4, /* what stands beside a bar */
	TIME = 13                 /* " from 1.05 ms" */
};

int histogram_add(struct histogram *h, uint32_t bucket, uint64_t count)
{
	struct bucket_count *bigger = h->counts;

	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 16;

		bigger = reallocarray(h->counts, room, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		h->counts = bigger;
		h->room = room;
	}
	h->counts[h->n++] = (struct bucket_count){ bucket, count };
	h->total += count;
	return 0;
}

void histogram_release(struct histogram *h)
{
	free(h->counts);
	*h = (struct histogram){ 0 };
}

static struct bucket_bounds log2_bounds(uint32_t bucket)
{
	if (bucket == 0)
		return (struct bucket_bounds){ INT64_MIN, 0 };
	if (bucket <= 2)
		return (struct bucket_bounds){ bucket - 1, bucket };
	if (bucket >= 64)
		return (struct bucket_bounds){ bucket > 64 ? INT64_MAX
							   : (int64_t)1 << 62,
					       INT64_MAX };
	return (struct bucket_bounds){ (int64_t)1 << (bucket - 2),
				       (int64_t)1 << (bucket - 1) };
}

struct bucket_bounds bucket_bounds(const struct bucket_edges *e,
				   uint32_t bucket)
{
	struct bucket_bounds b;
	uint64_t last;

	if (!e->step)
		return log2_bounds(bucket);
	last = ((uint64_t)e->max - (uint64_t)e->min - 1) / (uint64_t)e->step +
	       2;
	if (bucket == 0)
		return (struct bucket_bounds){ INT64_MIN, e->min };
	if (bucket >= last)
		return (struct bucket_bounds){ e->max, INT64_MAX };
	b.lo = (int64_t)((uint64_t)e->min + (bucket - 1) * (uint64_t)e->step);
	/* The last step may be cut short by max. */
	b.hi = bucket == last - 1 ? e->max : b.lo + e->step;
	return b;
}

/* 4096 as "4K", as far as it is a power of two from 1024 on. */
static const char *short_power(char out[24], int64_t v)
{
	static const char units[] = " KMGTPE";
	int unit = 0;

	while (v >= 1024 && units[unit + 1]) {
		v /= 1024;
		unit++;
	}
	snprintf(out, 24, unit ? "%" PRId64 "%c" : "%" PRId64, v, units[unit]);
	return out;
}

const char *bucket_label(char out[64], const struct bucket_edges *e,
			 uint32_t bucket)
{
	struct bucket_bounds b = bucket_bounds(e, bucket);
	char lo[24], hi[24];

	if (e->step) {
		snprintf(lo, sizeof(lo), "%" PRId64, b.lo);
		snprintf(hi, sizeof(hi), "%" PRId64, b.hi);
	} else {
		short_power(lo, b.lo);
		short_power(hi, b.hi);
	}
	if (!e->step && bucket > 64)
		return strcpy(out, "[8E, ...)"), out;
	if (b.lo == INT64_MIN)
		snprintf(out, 64, "(..., %s)", hi);
	else if (b.hi == INT64_MAX && e->step)
		snprintf(out, 64, "[%s, ...)", lo);
	else if (b.hi == INT64_MAX)
		snprintf(out, 64, "[%s, 8E)", lo);
	else if (!e->step && bucket <= 2)
		snprintf(out, 64, "[%s]", lo);
	else
		snprintf(out, 64, "[%s, %s)", lo, hi);
	return out;
}

uint32_t histogram_quantile(const struct histogram *h, double q)
{
	double rank = ceil(q * (double)h->total);
	uint64_t wanted = rank < 1 ? 1 : (uint64_t)rank, seen = 0;
	size_t i = 0;

	while (i + 1 < h->n && (seen += h->counts[i].count) < wanted)
		i++;
	return h->n ? h->counts[i].bucket : 0;
}

int histogram_bar(unsigned width, int rest, int most)
{
	int left = (int)width - rest;

	if (!width || left > most)
		return most;
	return left < BAR_LEAST ? BAR_LEAST : left;
}

static void print_bucket(const struct bucket_edges *e, uint32_t bucket,
			 double part, uint64_t count, const char *unit,
			 int longest, FILE *to)
{
	struct bucket_bounds b = bucket_bounds(e, bucket);
	int bar = (int)(part * longest);
	char label[64];

	fprintf(to, "%-*s %*" PRIu64 " |%.*s%*s|", LABEL,
		bucket_label(label, e, bucket), COUNT, count, bar,
		"@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
		longest - bar, "");
	if (!strcmp(unit, "ns") && b.lo >= 1000 && b.lo != INT64_MAX)
		fprintf(to, " from %s", FIGURE(figure_ns, (double)b.lo));
	fprintf(to, "\n");
}

void histogram_print(const struct histogram *h, const struct bucket_edges *e,
		     const char *unit, uint64_t div, unsigned width, FILE *to)
{
	int longest = histogram_bar(
		width, REST + (strcmp(unit, "ns") ? 0 : TIME), BAR_MOST);
	uint64_t most = 0;
	size_t at = 0;

	for (size_t i = 0; i < h->n; i++)
		if (h->counts[i].count / div > most)
			most = h->counts[i].count / div;
	for (uint32_t b = h->n ? h->counts[0].bucket : 1; at < h->n; b++) {
		uint64_t count = 0;

		if (h->counts[at].bucket == b)
			count = h->counts[at++].count / div;
		print_bucket(e, b, most ? (double)count / (double)most : 0,
			     count, unit, longest, to);
	}
}

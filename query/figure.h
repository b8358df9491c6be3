/* SPDX-License-Identifier: MIT */
/*
 * Figures as people read them. Each function returns its buffer, so that it
 * can stand in an argument list.
 */
#ifndef WEFT_FIGURE_H
#define WEFT_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/stats.h"

struct figure {
	char text[64];
};

#define FIGURE(fn, ...) (fn(&(struct figure){ "" }, __VA_ARGS__))

/* 1234567 as "1,234,567" */
const char *figure_count(struct figure *to, double count);

/* Nanoseconds with a fitting unit and three digits: "12.3 ms" */
const char *figure_ns(struct figure *to, double ns);

/* A value in an event's unit: time where that is "ns", else a count */
const char *figure_value(struct figure *to, double value, const char *unit);

/* The part of all in percent, where it is a fact and no estimate: "12.3"; "0"
 * and "100" only where it is none or all, else "< 0.1", "> 99.9"; of nothing
 * "-" */
const char *figure_percent(struct figure *to, double part, double all);

/*
 * A share in percent: "12.34"; with fewer than 5 samples only "<= 0.02", the
 * upper limit; with fewer than 30 samples in all "-".
 */
const char *figure_share(struct figure *to, const struct tally *part,
			 const struct tally *all);

/* So few samples that of their share only the limit is printed. */
bool figure_is_few(const struct tally *part);

/* The interval of a share in percent: "12.10-12.58", or "-" as above */
const char *figure_share_interval(struct figure *to, const struct tally *part,
				  const struct tally *all);

/* Both of a share whose interval is another than tally_share_interval() */
const char *figure_share_in(struct figure *to, const struct tally *part,
			    const struct tally *all, struct stats_interval in);
const char *figure_limits(struct figure *to, const struct tally *part,
			  const struct tally *all, struct stats_interval in);

/* An interval of a value: "1.20 ms .. 4.50 ms" */
const char *figure_value_interval(struct figure *to, struct stats_interval in,
				  const char *unit);

/* Unix time as RFC 3339 in UTC, to the second */
const char *figure_time(struct figure *to, int64_t unix_ns);

#endif

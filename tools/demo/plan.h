/* SPDX-License-Identifier: MIT */
/*
 * The plan of the load: what the n-th request is. The same seed makes the
 * same requests, in whatever order they are answered.
 */
#ifndef DEMO_PLAN_H
#define DEMO_PLAN_H

#include <stdint.h>

enum {
	PLAN_ROUTES = 5,
	PLAN_MAX_SHARE = 1000,
	PLAN_LOW_COST = 1, /* ordinary requests lie between these */
	PLAN_HIGH_COST = 3,
	PLAN_SLOW_COST = 30, /* and slow ones here */
};

struct plan {
	uint64_t seed;
	unsigned int share[PLAN_ROUTES]; /* relative, in order of routes */
	unsigned int slow_pct;
};

struct planned_request {
	char trace_id[33];
	char span_id[17];
	const char *route;
	unsigned int cost;
};

/* Read "ROUTE=SHARE,...": routes not named get none. Returns 0, or -1 if text
 * is not that or leaves nothing to send. */
int plan_parse_mix(struct plan *plan, const char *text);

struct planned_request plan_request(const struct plan *plan, uint64_t n);

#endif

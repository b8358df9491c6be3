/* SPDX-License-Identifier: MIT */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "splitmix.h"

static const char *const route_names[PLAN_ROUTES] = {
	"search", "report", "checkout", "compress", "sign",
};

/* Read one ROUTE=SHARE; returns what follows, NULL if it is not that. */
static const char *parse_share(struct plan *plan, const char *text)
{
	for (int r = 0; r < PLAN_ROUTES; r++) {
		size_t length = strlen(route_names[r]);
		unsigned long share;
		char *end;

		if (strncmp(text, route_names[r], length) != 0 ||
		    text[length] != '=')
			continue;
		share = strtoul(text + length + 1, &end, 10);
		if (end == text + length + 1 || share > PLAN_MAX_SHARE)
			return NULL;
		plan->share[r] = (unsigned int)share;
		return end;
	}
	return NULL;
}

int plan_parse_mix(struct plan *plan, const char *text)
{
	unsigned int total = 0;

	memset(plan->share, 0, sizeof(plan->share));
	for (;;) {
		text = parse_share(plan, text);
		if (!text || (*text && *text != ','))
			return -1;
		if (!*text)
			break;
		text++;
	}
	for (int r = 0; r < PLAN_ROUTES; r++)
		total += plan->share[r];
	return total > 0 ? 0 : -1;
}

static const char *pick_route(const struct plan *plan, uint64_t random)
{
	unsigned int total = 0, at;
	int r = 0;

	for (int i = 0; i < PLAN_ROUTES; i++)
		total += plan->share[i];
	at = (unsigned int)(random % total);
	for (; at >= plan->share[r]; r++)
		at -= plan->share[r];
	return route_names[r];
}

struct planned_request plan_request(const struct plan *plan, uint64_t n)
{
	struct planned_request request;
	/* splitmix is one-to-one, so no two n share an ID */
	uint64_t high = splitmix(plan->seed), low = splitmix(high ^ n);
	uint64_t span = splitmix(low), random = splitmix(span);

	/* an ID may not be all zero */
	snprintf(request.trace_id, sizeof(request.trace_id),
		 "%016" PRIx64 "%016" PRIx64, splitmix(low ^ high) | 1, low);
	snprintf(request.span_id, sizeof(request.span_id), "%016" PRIx64,
		 span ? span : 1);
	request.route = pick_route(plan, random >> 32);
	random = splitmix(random);
	if ((random >> 32) % 100 < plan->slow_pct)
		request.cost = PLAN_SLOW_COST;
	else
		request.cost = PLAN_LOW_COST +
			       (unsigned int)(random % (PLAN_HIGH_COST -
							PLAN_LOW_COST + 1));
	return request;
}

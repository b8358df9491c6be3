/* SPDX-License-Identifier: MIT */
/* A sales report: group rows, sort the groups, print them. */
#include "route.h"
#include "splitmix.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ROWS = 450000,
	GROUPS = 512,
	PRINTED = 512,
	LINE_BYTES = 64
};

struct group {
	uint32_t key;
	uint32_t rows;
	uint64_t total;
};

ROUTE_FUNCTION static void report_aggregate_rows(struct group *groups,
						 uint64_t seed)
{
	KEEP_FRAME();
	for (uint32_t g = 0; g < GROUPS; g++)
		groups[g] = (struct group){ .key = g };
	for (uint64_t row = 0; row < ROWS; row++) {
		uint64_t value = splitmix(seed + row);
		struct group *g = &groups[value % GROUPS];

		g->rows++;
		g->total += value >> 40;
	}
}

ROUTE_FUNCTION static int report_compare_groups(const void *left,
						const void *right)
{
	const struct group *a = left, *b = right;

	KEEP_FRAME();
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return a->key < b->key ? -1 : 1;
}

ROUTE_FUNCTION static void report_sort_groups(struct group *groups)
{
	qsort(groups, GROUPS, sizeof(*groups), report_compare_groups);
}

ROUTE_FUNCTION static uint64_t report_format_table(const struct group *groups)
{
	char line[LINE_BYTES];
	uint64_t sum = 0;

	for (int g = 0; g < PRINTED; g++) {
		int n = snprintf(line, sizeof(line), "%5u %8u %12.2f\n",
				 groups[g].key, groups[g].rows,
				 (double)groups[g].total / 100);

		for (int i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)line[i];
	}
	return sum;
}

uint64_t report_run(unsigned int cost, uint64_t seed)
{
	struct group groups[GROUPS];
	uint64_t sum = 0;

	for (unsigned int i = 0; i < cost; i++) {
		report_aggregate_rows(groups, seed + i);
		report_sort_groups(groups);
		sum += report_format_table(groups);
	}
	return sum;
}

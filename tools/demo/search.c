/* SPDX-License-Identifier: MIT */
/*
 * A full-text search in miniature: most of the time goes into walking the
 * postings, the rest into ranking and cutting snippets.
 */
#include "route.h"
#include "splitmix.h"

enum {
	DOCUMENTS = 1024,
	TERMS = 24,
	BEST = 16,
	SNIPPET_BYTES = 6000
};

struct search {
	uint64_t term[TERMS];
	uint32_t score[DOCUMENTS];
	uint16_t best[BEST];
};

ROUTE_FUNCTION static void search_parse_query(struct search *s, uint64_t seed)
{
	KEEP_FRAME();
	for (int t = 0; t < TERMS; t++) {
		uint64_t hash = seed + (uint64_t)t;

		for (int i = 0; i < 64; i++)
			hash = (hash ^ (hash >> 7)) * 0x100000001b3;
		s->term[t] = hash;
	}
}

ROUTE_FUNCTION static void search_scan_postings(struct search *s)
{
	KEEP_FRAME();
	for (int d = 0; d < DOCUMENTS; d++)
		s->score[d] = 0;
	for (int t = 0; t < TERMS; t++) {
		for (uint64_t d = 0; d < DOCUMENTS; d++) {
			uint64_t posting = splitmix(s->term[t] ^ d);

			for (; posting; posting &= posting - 1)
				s->score[d] += (uint32_t)(posting >> 58);
		}
	}
}

ROUTE_FUNCTION static void search_rank_documents(struct search *s)
{
	KEEP_FRAME();
	for (int b = 0; b < BEST; b++) {
		int best = 0;

		for (int d = 1; d < DOCUMENTS; d++) {
			if (s->score[d] > s->score[best])
				best = d;
		}
		s->best[b] = (uint16_t)best;
		s->score[best] = 0;
	}
}

ROUTE_FUNCTION static uint64_t search_cut_snippets(const struct search *s)
{
	uint64_t sum = 0;

	KEEP_FRAME();
	for (int b = 0; b < BEST; b++) {
		uint64_t text = s->best[b];

		for (int i = 0; i < SNIPPET_BYTES / 8; i++) {
			text = splitmix(text);
			sum += (text & 0xff) == ' ' ? text : 1;
		}
	}
	return sum;
}

uint64_t search_run(unsigned int cost, uint64_t seed)
{
	struct search s;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < cost; i++) {
		search_parse_query(&s, seed + i);
		search_scan_postings(&s);
		search_rank_documents(&s);
		sum += search_cut_snippets(&s);
	}
	return sum;
}

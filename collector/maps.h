/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of one program run, over time: which binary lay at
 * an address in an interval, and whether that changed within it.
 */
#ifndef WEFT_MAPS_H
#define WEFT_MAPS_H

#include "collector/binary.h"

/* Mappings remembered per program run; later ones are refused. */
enum {
	MAPS_MAX = 16384
};

struct mapping {
	uint64_t start, end;     /* addresses */
	uint64_t file_offset;    /* of start */
	struct binary *binary;   /* borrowed */
	uint64_t from_ns, to_ns; /* boot; to_ns: UINT64_MAX while it lasts */
};

/* Zero is an empty list. */
struct maps {
	struct mapping *now; /* owned; ascending, not overlapping */
	size_t n_now, now_room;
	struct mapping *past; /* owned; replaced ones, oldest first */
	size_t n_past, past_room;
};

/* A mapping appeared at from_ns; what it covers ends there. -ENOMEM, -E2BIG
 * (MAPS_MAX). */
int maps_add(struct maps *m, const struct mapping *new) MUST_CHECK;

/* What lay between start and end ended at now_ns. Errors as maps_add(). */
int maps_remove(struct maps *m, uint64_t start, uint64_t end,
		uint64_t now_ns) MUST_CHECK;

/* A mapping that /proc shows: it was there before anything that m knows, so
 * it fills the gaps and replaces nothing. Errors as maps_add(). */
int maps_fill(struct maps *m, const struct mapping *old) MUST_CHECK;

enum maps_answer {
	MAPS_FOUND,
	MAPS_NONE,      /* no mapping known there */
	MAPS_AMBIGUOUS, /* it changed within the interval */
};

/* What was at addr between start_ns and end_ns (boot). *out is borrowed until
 * the next change. */
enum maps_answer maps_find(const struct maps *m, uint64_t addr,
			   uint64_t start_ns, uint64_t end_ns,
			   const struct mapping **out);

/* Forget what ended before. */
void maps_prune(struct maps *m, uint64_t before_ns);

void maps_release(struct maps *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * From addresses to places: the counts, stacks and detail records of an
 * interval become rows of a batch.
 */
#ifndef WEFT_RESOLVE_H
#define WEFT_RESOLVE_H

#include "collector/batch.h"
#include "collector/discovery.h"
#include "collector/jit.h"
#include "collector/kernel.h"
#include "collector/measure/measures.h"
#include "collector/proc.h"
#include "collector/shape.h"

/* Of a sample that has some. */
struct sample_attributes {
	size_t sample;     /* index */
	size_t first;      /* index into bytes */
	uint16_t size;     /* bytes that are there */
	bool is_truncated; /* the record has more */
};

/* What came out of the kernel for one epoch. */
struct harvest {
	uint64_t start_ns, end_ns; /* boot; its samples came between them */
	struct shape shape;
	struct weft_sample *samples; /* owned */
	size_t n_samples, samples_room;
	struct sample_attributes *attributes; /* owned; by sample */
	size_t n_attributes, attributes_room;
	uint8_t *bytes; /* owned */
	size_t n_bytes, bytes_room;
	/* What found no room in memory: records by event, attributes. */
	struct weft_count lost[WEFT_MAX_EVENTS];
	uint64_t lost_attributes;
};

/* The memory that it takes. */
size_t harvest_bytes(const struct harvest *h);

void harvest_release(struct harvest *h);

struct resolver {
	struct procs *procs;
	struct kernel *kernel;
	struct binaries *binaries;
	struct jit *jit;
	const char *shape_by; /* key of what tells counts apart; NULL: none */
	const struct measures *measures; /* NULL: none */
	struct discovery *discovery;     /* NULL: no details, so no context */
	/* By event: its stacks were taken by a hook in the kernel, which is on
	 * top of them and left out. */
	bool is_hook[WEFT_MAX_EVENTS];
};

/* Ask for what the harvest, and the examples of measures, need and is not
 * known: mappings of processes that were there before. Wait for procs_waiting()
 * to fall to 0. */
void resolve_want_maps(struct resolver *r, const struct harvest *h,
		       const struct measure_harvest *measured);

/* Then: ask which code lies at its addresses of JITs. Wait for
 * jit_is_answered(). NULL: out of memory. */
struct jit_ask *resolve_want_jit(struct resolver *r, const struct harvest *h,
				 const struct measure_harvest *measured);

/*
 * Then: add it all to the batch, in the order of intervals. What finds no room
 * in it is counted in its ledger. Fails only if not even that is possible.
 */
int resolve(struct resolver *r, const struct harvest *h,
	    const struct measure_harvest *measured, const struct jit_ask *jit,
	    struct batch *b) MUST_CHECK;

#endif

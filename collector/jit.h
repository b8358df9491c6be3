/* SPDX-License-Identifier: MIT */
/*
 * Which code lies at addresses of JIT code. JITs put new code where old was,
 * so it is asked anew for each interval, when it has ended: what the perf map
 * says then holds for the whole interval. A later answer makes a new version,
 * and with it a new frame; it renames none.
 *
 * What was told last is remembered, for intervals whose answers do not come:
 * the process has ended, its map hangs or was refused, there is too much to
 * ask. The same goes for an address that the map has no entry for any more:
 * JITs write their maps anew, and leave out what still runs.
 */
#ifndef WEFT_JIT_H
#define WEFT_JIT_H

#include "collector/binary.h"

enum {
	/* Addresses of one process that are asked for in an interval. */
	JIT_ADDRESSES_MAX = 16384,
	/* Requests under way, of INSPECT_NAMES_MAX addresses each. */
	JIT_REQUESTS_MAX = 256,
	/* Addresses remembered: those of the newest, and as many before. */
	JIT_KNOWN_MAX = 131072,
	/* How long an interval waits for answers, which is how much later than
	 * the interval the map may have been read. */
	JIT_WAIT_MS = 2000,
};

struct jit;
struct jit_ask; /* the questions of an interval, and their answers */

struct jit_place {
	struct binary *binary; /* borrowed; of kind STORE_JIT */
	uint64_t address;
};

struct jit_code {
	uint32_t version;         /* as in struct inspect_name */
	const char *name;         /* NULL: none, or its frame has it already */
	const char *linkage_name; /* NULL: same as name */
	bool is_read;             /* else it is as was told last */
};

/* on_answer is called when an answer has come, on the loop. */
int jit_open(struct jit **out, struct inspect *inspect,
	     void (*on_answer)(void *ctx), void *ctx,
	     struct weft_err *err) MUST_CHECK;

/* Close the inspectors first, and release what was asked. NULL is fine. */
void jit_close(struct jit *jit);

/* Ask what lies at n places; their order does not matter, equal ones are one.
 * They are sorted in place. NULL: out of memory. */
struct jit_ask *jit_ask(struct jit *jit, struct jit_place *places, size_t n);

/* All answers have come, or it is no use to wait longer. */
bool jit_is_answered(const struct jit_ask *ask);

/* What lies at a place, as the answers of an interval say; remembers it. Call
 * in the order of intervals. Strings live as long as ask. */
void jit_find(struct jit *jit, const struct jit_ask *ask,
	      const struct jit_place *place, struct jit_code *out);

void jit_release(struct jit_ask *ask); /* NULL is fine */

#endif

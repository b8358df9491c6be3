/* SPDX-License-Identifier: MIT */
/*
 * The inspector's side: what each operation is given and how it answers. One
 * request at a time, one thread; everything that is read is a target's.
 */
#ifndef WEFT_INSPECT_OPS_H
#define WEFT_INSPECT_OPS_H

#include "collector/inspect/wire.h"

/* A reply under construction; within WIRE_REPLY_MAX. */
struct reply {
	union {
		struct wire_process process;
		struct wire_names names;
		struct wire_table table;
		struct wire_context context;
		struct wire_perf_map perf_map;
		struct wire_lines lines;
	} own;
	size_t own_size;
	uint8_t *items; /* owned */
	size_t items_size, items_room;
	char *strings; /* owned */
	size_t strings_size, strings_room;
	uint32_t n;
	uint32_t owner; /* as in struct wire_reply */
};

/* Append an item. Returns 0, -E2BIG or -ENOMEM. */
int reply_add(struct reply *reply, const void *item, size_t size) MUST_CHECK;

/* Take over memory that holds n items, size bytes, in place of what there is;
 * any size. */
void reply_own_items(struct reply *reply, void *items, size_t size, uint32_t n);

/* Append a string, cut at a NUL if it holds one. Returns 0 with *out its
 * place, or -E2BIG or -ENOMEM. */
int reply_add_string(struct reply *reply, const char *text, size_t size,
		     uint32_t *out) MUST_CHECK;

struct request {
	const struct wire_request *head;
	const uint64_t *offsets;                /* head->n_offsets of them */
	const struct inspect_segment *segments; /* head->n_segments */
	const char *path;                       /* "" if none */
	struct inspect_place places[INSPECT_PLACES_MAX]; /* head->n_places */
};

/* What a result of 0 or negative errno means to who asked. */
enum inspect_status inspect_to_status(int rc);

/* Operations. A status other than INSPECT_OK discards the reply; of names that
 * are refused its own part is kept, and has to be there. */
enum inspect_status inspect_op_process(const struct request *request,
				       struct reply *reply);
enum inspect_status inspect_op_names(const struct request *request,
				     struct reply *reply);
enum inspect_status inspect_op_segments(const struct request *request,
					struct reply *reply);
enum inspect_status inspect_op_lines(const struct request *request,
				     struct reply *reply);
enum inspect_status inspect_op_table(const struct request *request,
				     struct reply *reply);
enum inspect_status inspect_op_perf_map(const struct request *request,
					struct reply *reply);
enum inspect_status inspect_op_context(const struct request *request,
				       struct reply *reply);
enum inspect_status inspect_op_records(const struct request *request,
				       struct reply *reply);

#endif

/* SPDX-License-Identifier: MIT */
/* Turns the bytes of an inspector's reply into what callbacks are given.
 * The bytes are treated as hostile. */
#ifndef WEFT_INSPECT_REPLY_H
#define WEFT_INSPECT_REPLY_H

#include "collector/inspect/wire.h"

struct inspect_answer {
	enum inspect_status status;
	uint32_t owner; /* as in struct wire_reply */
	size_t n;
	struct inspect_process process;   /* WIRE_PROCESS; mappings in items */
	struct inspect_context context;   /* WIRE_CONTEXT, WIRE_RECORDS */
	const struct inspect_name *names; /* WIRE_NAMES, WIRE_PERF_MAP */
	struct wire_names of_names;       /* WIRE_NAMES */
	const char *linked;               /* WIRE_NAMES; of of_names, or NULL */
	struct wire_perf_map perf_map;    /* WIRE_PERF_MAP */
	const struct inspect_segment *segments; /* WIRE_SEGMENTS */
	const struct inspect_level *levels;     /* WIRE_LINES */
	struct wire_lines lines;                /* WIRE_LINES */
	const struct inspect_record *records;   /* WIRE_RECORDS */
	struct inspect_table table; /* WIRE_TABLE; words in the bytes */
	void *items;                /* owned */
};

/*
 * How many bytes the reply that begins with head has in all, or 0 where its
 * numbers cannot be those of an answer to request.
 */
size_t inspect_reply_size(const struct wire_reply *head,
			  const struct wire_request *request);

/*
 * Decode a whole reply; bytes must be aligned to 8 and outlive the answer,
 * whose strings point into them. Returns 0, -EPROTO (not an answer to
 * request) or -ENOMEM; *out is then empty. Release with
 * inspect_answer_release().
 */
int inspect_answer_decode(struct inspect_answer *out, const void *bytes,
			  size_t size,
			  const struct wire_request *request) MUST_CHECK;

void inspect_answer_release(struct inspect_answer *answer);

#endif

/* SPDX-License-Identifier: MIT */
/* What the kernel says of one of its tracepoints: number and fields. */
#ifndef WEFT_TRACEPOINT_H
#define WEFT_TRACEPOINT_H

#include "store/weft.h"

enum {
	TRACEPOINT_FIELDS_MAX = 64
};

/* A field of a tracepoint's record. */
struct tracepoint_field {
	char type[64]; /* as in C */
	char name[64];
	uint16_t offset, size; /* bytes */
	bool is_signed;
	bool is_array; /* or of variable length */
};

struct tracepoint {
	uint32_t id; /* of the kernel's */
	struct tracepoint_field field[TRACEPOINT_FIELDS_MAX];
	size_t n_fields;
};

/*
 * Read an event's format file (Documentation/trace/events.rst of the kernel).
 * events_fd: from tracepoints_open(). -ENOENT: there is none; err suggests the
 * nearest.
 */
int tracepoint_read(int events_fd, const char *category, const char *name,
		    struct tracepoint *out, struct weft_err *err) MUST_CHECK;

/* The same from text. -EPROTO: not understood. */
int tracepoint_parse(const char *text, struct tracepoint *out) MUST_CHECK;

/* NULL: no such field. */
const struct tracepoint_field *tracepoint_find(const struct tracepoint *event,
					       const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* OTEP 4719: what a process says of itself in a named mapping. */
#ifndef WEFT_CONTEXT_PROCESS_H
#define WEFT_CONTEXT_PROCESS_H

#include "collector/inspect/proc.h"

enum {
	CONTEXT_PAYLOAD_MAX = 65536,
	CONTEXT_TEXT_MAX = 1024,
	CONTEXT_KEY_MAX = 128 /* bytes; longer ones are "" */
};

struct process_context {
	/* Keys of its threads' attributes by number, then what it says of
	 * itself, each key once. */
	struct inspect_context_text texts[WIRE_CONTEXT_TEXTS_MAX];
	size_t n_texts;
	/* Where they stand. The payload holds each with two bytes more. */
	char pool[CONTEXT_PAYLOAD_MAX];
	size_t n_pool;
	enum inspect_context_state state; /* FOUND: a schema that we read */
	uint64_t published_ns;
	char service[CONTEXT_TEXT_MAX]; /* "" if none */
	char schema[CONTEXT_TEXT_MAX];  /* "" if none */
	/* Where it says itself that the variable lies, from each thread's
	 * pointer; for static programs without symbols. No part of the OTEPs:
	 * tools/publisher. 0: it does not say. */
	int64_t tp_offset;
};

/*
 * Find and read it in a process's memory. Returns 0 with *out filled, or a
 * negative errno where /proc did not let us look.
 */
int context_read_process(const struct procfs *proc,
			 struct process_context *out) MUST_CHECK;

/* Decode a payload: sets all but published_ns. */
void context_decode(const uint8_t *payload, size_t size,
		    struct process_context *out);

/* Where the header of a mapping was read from memory. */
enum {
	CONTEXT_HEADER_SIZE = 32
};

struct context_header {
	uint64_t published_ns; /* 0: being changed */
	uint64_t payload;      /* address in the process */
	uint32_t payload_size;
};

/* Returns false for what is no header of a version that we read. */
bool context_parse_header(const uint8_t bytes[CONTEXT_HEADER_SIZE],
			  struct context_header *out);

#endif

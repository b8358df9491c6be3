/* SPDX-License-Identifier: MIT */
/*
 * Which files have an unwind table in the kernel program: has inspectors
 * build what it asks for, publishes it, and makes room when the limit is
 * reached. A table is of a file, not of a process: nothing follows exec,
 * dlopen or exit.
 */
#ifndef WEFT_UNWIND_TABLES_H
#define WEFT_UNWIND_TABLES_H

#include "collector/inspect/inspect.h"
#include "collector/probe.h"

struct unwind_tables;

struct unwind_tables_opts {
	uv_loop_t *loop; /* borrowed, as all here */
	struct probe *probe;
	struct inspect *inspect;
	uint64_t max_bytes; /* of kernel memory for tables */
};

struct unwind_tables_totals {
	uint64_t files;    /* asked for */
	uint64_t built;    /* tables made */
	uint64_t none;     /* files that have no unwind entries, or bad ones */
	uint64_t refused;  /* tables that found no room */
	uint64_t retired;  /* tables that made room for others */
	uint64_t bytes;    /* that tables take now */
	uint64_t build_ns; /* CPU time of the inspectors */
	uint64_t slowest_ns; /* from asked for to published, at most */
};

/* Publishes the table of the vDSO. */
int unwind_tables_open(struct unwind_tables **out,
		       const struct unwind_tables_opts *opts,
		       struct weft_err *err) MUST_CHECK;

/* After the loop has ended. NULL is fine. */
void unwind_tables_close(struct unwind_tables *t);

/* Have the table built of a file, for the kernel program to find by the key. */
void unwind_tables_want(struct unwind_tables *t,
			const struct weft_file_key *key,
			const struct inspect_file *file);

/* The same of a file that a process maps from start to end, by the kernel's
 * own key. */
void unwind_tables_want_mapped(struct unwind_tables *t,
			       const struct weft_file_key *key,
			       const struct weft_identity *process,
			       uint64_t start, uint64_t end);

/* Files whose table is under way. */
uint32_t unwind_tables_waiting(const struct unwind_tables *t);

/* Once per interval, with the epoch that begins: make room if need be. */
void unwind_tables_tick(struct unwind_tables *t, uint32_t epoch);

void unwind_tables_read(const struct unwind_tables *t,
			struct unwind_tables_totals *out);

/* Tables that found no room since the last call. */
uint64_t unwind_tables_take_refused(struct unwind_tables *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The files and other places that code comes from, each once: what was
 * really mapped, by build ID, else by device and inode; JIT code and unknown
 * code by process. Entries live as long as the table.
 */
#ifndef WEFT_BINARY_H
#define WEFT_BINARY_H

#include "collector/inspect/inspect.h"
#include "store/store.h"

/* Distinct binaries remembered; more share one "unknown" binary. */
enum {
	BINARIES_MAX = 65536
};

struct binary {
	enum store_binary_kind kind;
	/* How to find it, and what proves it; path is owned. For JIT and
	 * unknown code only pid and start_ns (and exec_seq) mean anything. */
	struct inspect_file file;
	uint32_t exec_seq;
	uint32_t number;   /* dense, from 0 */
	bool has_segments; /* they were asked for, to be kept */
};

struct binaries;

int binaries_open(struct binaries **out, struct weft_err *err) MUST_CHECK;
void binaries_close(struct binaries *b); /* NULL is fine */

/* Find or add; file.path is copied. Never NULL: where there is no room, the
 * table's last resort, an unknown binary. */
struct binary *binaries_file(struct binaries *b, enum store_binary_kind kind,
			     const struct inspect_file *file);
struct binary *binaries_process(struct binaries *b, enum store_binary_kind kind,
				const struct weft_identity *who);

/* By its number; NULL where there is none. */
struct binary *binaries_by_number(const struct binaries *b, uint64_t number);

/* The text for column binary.identity; out is at least 64 bytes. */
void binary_identity(const struct binary *b, char *out, size_t size);

/* The build ID as lower-case hex, "" if there is none; out as above. */
void binary_build_id(const struct binary *b, char *out, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Following a file while it is recorded: has it changed since it was read, and
 * is anybody still writing it? Between two looks the file is not held open: a
 * reader would keep the recorder from closing it cleanly.
 */
#ifndef WEFT_FOLLOW_H
#define WEFT_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

/* What stat(2) says of a file; all 0: not there. */
struct follow_state {
	uint64_t inode, size, changed_ns;
};

struct follow {
	const char *path; /* borrowed */
	uint64_t every_ns;
	struct follow_state file, log; /* at the last look; log: FILE-wal */
};

/* Call before the file is read: what changes from here on is news. */
void follow_look(struct follow *f);

/* Wait, every_ns at least, until the file has changed: true. False: it has not,
 * and nobody writes it any more. */
bool follow_wait(const struct follow *f);

/* Does weft record (or another writer of ours) hold the file's lock? True also
 * where we may not know. */
bool follow_is_written(const char *path);

/* Begin a block of output: on a terminal in place of the one before, else after
 * a blank line but for the first. */
void follow_begin_block(bool is_first);

#endif

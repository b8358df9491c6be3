/* SPDX-License-Identifier: MIT */
/*
 * That a long look into a file goes on: a line on stderr from the second
 * second on, only where that is a terminal. It is gone when the look is over.
 */
#ifndef WEFT_PROGRESS_H
#define WEFT_PROGRESS_H

#include <stdbool.h>

struct sqlite3;

struct progress {
	const char *path; /* borrowed */
	double began_s, shown_s;
	bool is_shown;
};

/* From here to progress_end() the statements of a connection show it. */
void progress_begin(struct progress *p, struct sqlite3 *db, const char *path);

/* Take the line away, for good. May be called more than once, and with NULL for
 * a connection that was not made. */
void progress_end(struct progress *p, struct sqlite3 *db);

#endif

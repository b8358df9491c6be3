/* SPDX-License-Identifier: MIT */
/*
 * That a long look into a file goes on: a line on stderr from the second
 * second on, only where that is a terminal. It is gone when the look is over.
 * And an end to one that takes out of all proportion.
 */
#ifndef WEFT_PROGRESS_H
#define WEFT_PROGRESS_H

#include <stdbool.h>

struct sqlite3;

struct progress {
	const char *path; /* borrowed */
	double began_s, shown_s;
	double cpu_limit_s;
	bool has_terminal, is_shown;
	bool gave_up; /* at the limit: the statement was interrupted */
};

/* From here to progress_end() the statements of a connection show it, and are
 * interrupted once this process has spent cpu_s more of CPU time. */
void progress_begin(struct progress *p, struct sqlite3 *db, const char *path,
		    double cpu_s);

/* Take the line away, for good. May be called more than once, and with NULL for
 * a connection that was not made. */
void progress_end(struct progress *p, struct sqlite3 *db);

#endif

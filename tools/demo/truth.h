/* SPDX-License-Identifier: MIT */
/*
 * The truth file: which request which thread really worked on and when, to
 * compare a recording with. Tab-separated with a header line; times are boot
 * clock. Loop thread only.
 */
#ifndef DEMO_TRUTH_H
#define DEMO_TRUTH_H

#include <stdint.h>
#include <sys/types.h>

struct truth;

struct truth_row {
	char trace_id[33]; /* "" if the request carried none that is valid */
	const char *route;
	unsigned int cost;
	pid_t tid;
	uint64_t start_boot_ns;
	uint64_t end_boot_ns;
	uint64_t cpu_ns; /* that the thread used between the two */
};

/* Returns owned, or NULL with errno set. */
struct truth *truth_open(const char *path);

/* Buffered: what was added is in the file after truth_close() only. */
void truth_add(struct truth *truth, const struct truth_row *row);

/* Returns 0, or -1 with errno set if any row was not written. */
int truth_close(struct truth *truth);

#endif

/* SPDX-License-Identifier: MIT */
/* Tracepoints by name, also where nobody mounted tracefs. */
#ifndef WEFT_TRACEFS_H
#define WEFT_TRACEFS_H

struct bpf_link;
struct bpf_program;

enum {
	TRACEFS_NAME_MAX = 512 /* of "CATEGORY/NAME" */
};

/* Open a file for reading by its path within tracefs, as
 * "events/sched/sched_switch/id". Returns an fd, or a negative errno. */
int tracefs_open(const char *path);

/* Attach a program to a tracepoint's perf event: it then runs on all CPUs.
 * Returns the caller's link, or NULL with errno. */
struct bpf_link *tracefs_attach(const struct bpf_program *program,
				const char *category, const char *name);

#endif

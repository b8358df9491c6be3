/* SPDX-License-Identifier: MIT */
/* Tracepoints by name, also where nobody mounted tracefs. */
#ifndef WEFT_TRACEFS_H
#define WEFT_TRACEFS_H

enum {
	TRACEFS_NAME_MAX = 512 /* of "CATEGORY/NAME" */
};

/* Open a file for reading by its path within tracefs, as
 * "events/sched/sched_switch/id". Returns an fd, or a negative errno. */
int tracefs_open(const char *path);

/* Open a perf event of a tracepoint, as "syscalls/sys_enter_prctl", to attach
 * a program to: it then runs on all CPUs. Returns an fd, or a negative
 * errno. */
int tracefs_open_event(const char *tracepoint);

#endif

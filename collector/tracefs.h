/* SPDX-License-Identifier: MIT */
/* The kernel's files about tracepoints, also where nobody mounted them. */
#ifndef WEFT_TRACEFS_H
#define WEFT_TRACEFS_H

/* Open a file for reading by its path within tracefs, as
 * "events/sched/sched_switch/id". Returns an fd, or a negative errno. */
int tracefs_open(const char *path);

#endif

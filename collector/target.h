/* SPDX-License-Identifier: MIT */
/* Whom to record, as the command line says it, told to the kernel program. */
#ifndef WEFT_TARGET_H
#define WEFT_TARGET_H

#include "collector/options.h"
#include "collector/probe.h"
#include "collector/proc.h"

/*
 * Check that the targets exist, before anything is loaded. *cgroup_fd is -1
 * or the caller's to close. -ESRCH: no such process or thread; -EINVAL: not a
 * cgroup of version 2.
 */
int target_check(const struct record_opts *opts, int *cgroup_fd,
		 struct weft_err *err) MUST_CHECK;

/* Add them all, and the program's stub (0: none). */
int target_add(const struct record_opts *opts, uint32_t command_pid,
	       struct probe *probe, struct procs *procs,
	       struct weft_err *err) MUST_CHECK;

/* When a process or thread was started, in ticks since boot. -ESRCH: there is
 * none of that number. */
int target_start(uint32_t tid, uint64_t *ticks) MUST_CHECK;

/* Is it a thread of the kernel, with no memory of its own? False also where
 * there is none of that number. */
bool target_is_kernel(uint32_t tid);

/* Are any of the processes or threads asked for by number still there? */
bool target_lives(const struct record_opts *opts);

#endif

/* SPDX-License-Identifier: MIT */
/* Where the threads of a process have their thread-local memory, which only
 * the kernel knows without stopping them. */
#ifndef WEFT_THREADS_H
#define WEFT_THREADS_H

#include <stddef.h>

#include "bpf/wire.h"
#include "store/weft.h"

/*
 * List up to max threads of process pid into out, by a kernel program of its
 * own. *n is how many there were, at most max. Returns 0, or a negative errno:
 * -EPERM without the rights to load one. No thread is no error.
 */
int threads_read(uint32_t pid, struct weft_thread *out, size_t max, size_t *n,
		 struct weft_err *err) MUST_CHECK;

#endif

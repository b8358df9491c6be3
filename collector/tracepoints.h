/* SPDX-License-Identifier: MIT */
/* The kernel's list of tracepoints. Fields of one: tracepoint.h. */
#ifndef WEFT_TRACEPOINTS_H
#define WEFT_TRACEPOINTS_H

#include "store/weft.h"

/* Open the directory of categories, of which each has a directory per
 * tracepoint. Returns a descriptor that the caller closes; -EPERM where that
 * needs more rights; -ENOENT. */
int tracepoints_open(struct weft_err *err) MUST_CHECK;

/* Whether there is such a tracepoint. events: from tracepoints_open().
 * -ENOENT: none; err then suggests the nearest. */
int tracepoints_check(int events, const char *category, const char *name,
		      struct weft_err *err) MUST_CHECK;

/* Call fn for each "CATEGORY:NAME", sorted. Returns 0 or what failed. */
int tracepoints_each(int events, void (*fn)(void *ctx, const char *name),
		     void *ctx, struct weft_err *err) MUST_CHECK;

#endif

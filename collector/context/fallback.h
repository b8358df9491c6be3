/* SPDX-License-Identifier: MIT */
/*
 * What older agents leave on threads, for processes that do not publish by
 * OTEP 4719 and 4947.
 */
#ifndef WEFT_CONTEXT_FALLBACK_H
#define WEFT_CONTEXT_FALLBACK_H

#include "collector/inspect/proc.h"

/*
 * Fill an entry, but for its process, from the first there is: Go's labels,
 * Elastic's record, custom-labels version 1. Sets *state to FOUND, NO_MAPPING
 * (none of these), or what keeps one that is there from being read. Returns 0,
 * or a negative errno where /proc did not let us look.
 */
int context_find_fallback(const struct procfs *proc,
			  struct weft_context_entry *entry,
			  enum inspect_context_state *state) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* What targets have mapped before the first sample. */
#ifndef WEFT_SURVEY_H
#define WEFT_SURVEY_H

#include "bpf/wire.h"
#include "store/weft.h"

typedef void survey_fn(void *ctx, const struct weft_mapped *mapped);

/*
 * Read all of mapped_fd (see probe_mapped_fd()) and hand it out. A child
 * process reads, since that can block for as long as a target likes; what it
 * has not read by the deadline is left out. Returns false then, or where no
 * child could be made. Call while single-threaded.
 */
bool survey(int mapped_fd, uint64_t deadline_ms, survey_fn *fn, void *ctx);

#endif

/* SPDX-License-Identifier: MIT */
/* The last word of a recording: what was stored, what was lost, and what to
 * do about it. */
#ifndef WEFT_SUMMARY_H
#define WEFT_SUMMARY_H

#include "collector/options.h"
#include "collector/pipeline.h"

/* seconds: of sampling; cpus: sampled. */
void summary_log(const struct pipeline_totals *totals,
		 const struct record_opts *opts, double seconds, uint32_t cpus);

#endif

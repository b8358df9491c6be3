/* SPDX-License-Identifier: MIT */
/* The last word of a recording: what was stored, what was lost, and what to
 * do about it. */
#ifndef WEFT_SUMMARY_H
#define WEFT_SUMMARY_H

#include "collector/mapping_lists.h"
#include "collector/options.h"
#include "collector/otlp/receiver.h"
#include "collector/pipeline.h"
#include "collector/probe.h"
#include "collector/unwind_tables.h"

/* seconds: of sampling; cpus: sampled. */
void summary_log(const struct pipeline_totals *totals,
		 const struct record_opts *opts, double seconds, uint32_t cpus);

/* What went because it was old. */
void summary_log_gone(const struct writer_tended *tended);

/* Of parts that a recording has. */
void summary_log_tables(const struct unwind_tables *tables);
void summary_log_lists(const struct mapping_lists *lists);
void summary_log_inspectors(const struct inspect *inspect);
void summary_log_context(const struct probe *probe);
void summary_log_spans(const struct receiver *receiver);

#endif

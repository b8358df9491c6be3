/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "collector/summary.h"

/* Losses, each with what would have helped. */
static const struct {
	uint32_t entry;
	const char *text;
} losses[] = {
	{ WEFT_LOST_COUNTS_FULL,
	  "samples not counted: too many stacks in an interval (raise --max-stacks)" },
	{ WEFT_LOST_BUSY, "samples not counted: the count table was locked" },
	{ WEFT_STACK_LOST,
	  "samples counted without their stack: too many stacks in an interval (raise --max-stacks)" },
	{ WEFT_LOST_RING_FULL,
	  "details lost: ring full (raise --ring-size, or lower --detail)" },
	{ WEFT_LOST_RING_BUSY, "details lost: ring locked" },
	{ LEDGER_LOST_DISCARDED,
	  "details discarded: the file could not be written fast enough, or its log was held by a reader" },
	{ LEDGER_LOST_COUNTS_DISCARDED,
	  "samples discarded: no memory to merge more intervals" },
	{ WEFT_SIDEBAND_LOST,
	  "process events lost: some code may have no names" },
	{ LEDGER_AMBIGUOUS_MAP,
	  "samples with an unknown frame: its mapping changed within the interval" },
};

static void log_rate(const struct pipeline_totals *t,
		     const struct record_opts *opts, double seconds,
		     uint32_t cpus)
{
	double asked = (double)opts->hz * cpus * seconds;
	double share =
		asked > 0 ? 100 * (double)t->ledger[WEFT_FIRED] / asked : 100;

	if (share < 98 && seconds >= 1)
		weft_log(
			WEFT_WARN,
			"%.1f %% of the asked rate was delivered; times and shares count what was",
			share);
}

void summary_log(const struct pipeline_totals *t,
		 const struct record_opts *opts, double seconds, uint32_t cpus)
{
	weft_log(WEFT_INFO,
		 "%.1f s in %" PRIu64 " intervals: %" PRIu64
		 " samples counted, %" PRIu64 " idle, %" PRIu64
		 " stored in detail; in '%s'",
		 seconds, t->intervals, t->ledger[WEFT_COUNTED],
		 t->ledger[WEFT_IDLE], t->ledger[LEDGER_STORED], opts->output);
	for (size_t i = 0; i < ARRAY_LEN(losses); i++)
		if (t->ledger[losses[i].entry])
			weft_log(WEFT_WARN, "%" PRIu64 " %s",
				 t->ledger[losses[i].entry], losses[i].text);
	log_rate(t, opts, seconds, cpus);
	if (t->wrong_intervals)
		weft_log(WEFT_WARN,
			 "the ledger does not add up in %" PRIu64
			 " intervals: see `weft loss`",
			 t->wrong_intervals);
	if (!t->ledger[WEFT_COUNTED])
		weft_log(
			WEFT_WARN,
			"no samples: the targets did not run on the sampled CPUs");
}

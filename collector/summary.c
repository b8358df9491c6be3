/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "collector/summary.h"

enum {
	MS_NS = 1000000
};

/* Losses, each with what would have helped. */
static const struct {
	uint32_t entry;
	const char *text;
} losses[] = {
	{ WEFT_LOST_COUNTS_FULL,
	  "samples not counted: too many stacks in an interval (raise --max-stacks)" },
	{ WEFT_LOST_BUSY,
	  "samples not counted: the count table, or memory, was not to be had at once" },
	{ WEFT_STACK_LOST,
	  "samples counted without their stack: too many stacks in an interval (raise --max-stacks)" },
	{ WEFT_LOST_RING_FULL,
	  "details lost: ring full (raise --ring-size, or lower --detail)" },
	{ WEFT_LOST_RING_BUSY, "details lost: ring locked" },
	{ LEDGER_LOST_DISCARDED,
	  "details discarded: the file could not be written fast enough, its log was held by a reader, or --max-size left no room" },
	{ LEDGER_LOST_COUNTS_DISCARDED,
	  "samples discarded: no memory to merge more intervals" },
	{ WEFT_SIDEBAND_LOST,
	  "process events lost: some code may have no names" },
	{ LEDGER_AMBIGUOUS_MAP,
	  "samples with an unknown frame: its mapping changed within the interval" },
};

static void log_rate(uint64_t fired, const struct record_opts *opts,
		     double seconds, uint32_t cpus)
{
	double asked = (double)opts->hz * cpus * seconds;
	double share = asked > 0 ? 100 * (double)fired / asked : 100;

	if (share < 98 && seconds >= 1)
		weft_log(
			WEFT_WARN,
			"%.1f %% of the asked rate was delivered; times and shares count what was",
			share);
}

static void log_throttled(uint64_t throttled)
{
	if (throttled)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" times the kernel held the timers back: more than kernel.perf_event_max_sample_rate (%" PRIu64
			" Hz by now), which it lowers itself where samples take long; raise it, or lower -F",
			throttled, timer_max_hz());
}

static const char *why_none(const struct trigger *event,
			    const struct pipeline_total *ledger)
{
	if (event->kind == TRIGGER_TIMER)
		return "the targets did not run on the sampled CPUs";
	if (ledger[WEFT_OPEN_AT_START].count || ledger[WEFT_OPEN_AT_END].count)
		return "what there was went on all the time (`weft loss` has it)";
	if (ledger[WEFT_FIRED].count && ledger[WEFT_FILTERED].count)
		return "none was of the targets, or as was asked for (`weft loss`)";
	return "it did not happen in the targets";
}

static void log_event(const struct trigger *event, const char *name,
		      const struct pipeline_total *ledger)
{
	weft_log(WEFT_INFO,
		 "%s%s%" PRIu64 " samples counted, %" PRIu64 " idle, %" PRIu64
		 " stored in detail",
		 name, *name ? ": " : "", ledger[WEFT_COUNTED].count,
		 ledger[WEFT_IDLE].count, ledger[LEDGER_STORED].count);
	for (size_t i = 0; i < ARRAY_LEN(losses); i++)
		if (ledger[losses[i].entry].count)
			weft_log(WEFT_WARN, "%s%s%" PRIu64 " %s", name,
				 *name ? ": " : "",
				 ledger[losses[i].entry].count, losses[i].text);
	if (!ledger[WEFT_COUNTED].count)
		weft_log(WEFT_WARN, "%s%sno samples: %s", name,
			 *name ? ": " : "", why_none(event, ledger));
}

void summary_log(const struct pipeline_totals *t,
		 const struct record_opts *opts, double seconds, uint32_t cpus)
{
	const struct triggers *events = &opts->triggers;
	uint32_t timer = triggers_find(events, TRIGGER_TIMER);

	weft_log(WEFT_INFO, "%.1f s in %" PRIu64 " interval%s; in '%s'",
		 seconds, t->intervals, t->intervals == 1 ? "" : "s",
		 opts->output);
	for (uint32_t i = 0; i < events->n; i++)
		log_event(&events->trigger[i],
			  events->n > 1 ? events->trigger[i].name : "",
			  t->ledger[i]);
	if (timer != WEFT_NO_EVENT) {
		log_rate(t->ledger[timer][WEFT_FIRED].count, opts, seconds,
			 cpus);
		log_throttled(t->ledger[timer][LEDGER_THROTTLED].count);
	}
	if (t->without_maps)
		weft_log(
			WEFT_WARN,
			"for %" PRIu64
			" intervals inspectors did not say in time what processes have mapped: code is unknown there",
			t->without_maps);
	if (t->wrong_intervals)
		weft_log(WEFT_WARN,
			 "the ledger does not add up in %" PRIu64
			 " intervals: see `weft loss`",
			 t->wrong_intervals);
}

void summary_log_gone(const struct writer_tended *t)
{
	const struct store_gone *g = &t->gone;

	weft_log(WEFT_INFO,
		 "old: %" PRIu64 " samples and %" PRIu64
		 " spans have gone, %" PRIu64 " intervals were merged, %" PRIu64
		 " counts have gone",
		 g->samples, g->spans, g->merged, g->counts);
	if (t->too_big)
		weft_log(
			WEFT_WARN,
			"after %" PRIu64
			" intervals the file was larger than --max-size, with nothing left that may go",
			t->too_big);
	if (t->postponed)
		weft_log(
			WEFT_INFO,
			"%" PRIu64
			" times what is old had to stay: a reader kept the log in use",
			t->postponed);
	if (t->err.code)
		weft_log(WEFT_WARN, "what is old stays: %s", t->err.msg);
}

void summary_log_tables(const struct unwind_tables *tables)
{
	struct unwind_tables_totals t;

	unwind_tables_read(tables, &t);
	weft_log(WEFT_INFO,
		 "unwind tables: %" PRIu64 " files in %" PRIu64 " kB, %" PRIu64
		 " ms to build, at most %" PRIu64 " ms from need to use",
		 t.built, t.bytes >> 10, t.build_ns / MS_NS,
		 t.slowest_ns / MS_NS);
	if (t.refused)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" times the unwind table of a file found no room (raise --max-tables)",
			t.refused);
}

void summary_log_lists(const struct mapping_lists *lists)
{
	struct mapping_lists_totals t;

	mapping_lists_read(lists, &t);
	weft_log(WEFT_INFO, "lists of mappings: %" PRIu64 " pushed", t.pushed);
	if (t.cut)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" lists of mappings were cut at %d: stacks through the others are broken (no_mapping)",
			t.cut, WEFT_LISTED_MAX);
	if (t.refused)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" processes beyond %d have no list of mappings: their stacks end at their first frame",
			t.refused, WEFT_LISTS_MAX);
}

void summary_log_inspectors(const struct inspect *inspect)
{
	struct inspect_totals t;

	inspect_read_totals(inspect, &t);
	if (t.replaced)
		weft_log(
			WEFT_INFO,
			"%" PRIu64
			" inspectors were replaced: a process or file did not answer in time, or crashed them; it is left alone for an hour",
			t.replaced);
}

void summary_log_spans(const struct receiver *receiver)
{
	struct receiver_totals t;

	receiver_read_totals(receiver, &t);
	weft_log(WEFT_INFO, "%" PRIu64 " spans were received", t.spans);
	if (t.dropped)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" of these spans are lost: there was no memory for them",
			t.dropped);
	if (t.rejected)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" spans were left out for their IDs; their senders were told",
			t.rejected);
	if (t.times_full > 1)
		weft_log(
			WEFT_WARN,
			"%" PRIu64
			" connections for spans were closed for others, as all %d, or their memory, were taken",
			t.times_full, OTLP_CONNECTIONS_MAX);
}

void summary_log_context(const struct probe *probe)
{
	uint64_t refused = probe_contexts_refused(probe);

	if (refused)
		weft_log(
			WEFT_WARN,
			"--trace-probe: %" PRIu64
			" times a thread's IDs found no room, its samples have none: too many threads have one at a time",
			refused);
	if (probe_obi_is_silent(probe))
		weft_log(
			WEFT_WARN,
			"OBI's map is there, but empty: no trace IDs came from it; OBI fills it only with OTEL_EBPF_BPF_POPULATE_TRACE_CONTEXT=true, and while there are requests");
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/pipeline.h"

/* Batches and names that may wait for the writer before intervals merge. */
enum {
	WRITER_QUEUE_MAX = 4,
	/* How long an interval waits for what processes have mapped. Their
	 * inspectors have deadlines; the one that makes them may hang. */
	MAPS_WAIT_MS = 10000,
	/* With more of them the oldest waits no longer. */
	WAITING_BYTES_MAX = 32 << 20
};

struct waiting {
	struct waiting *next;
	struct raw_interval raw;
	size_t bytes;
	uint64_t since_ns;   /* uv_hrtime() */
	bool has_asked;      /* for the mappings that it needs */
	struct jit_ask *jit; /* owned; NULL: not asked yet */
};

struct pipeline {
	uint32_t n_events;
	uint64_t max_wal_bytes;
	struct resolver *resolver;    /* borrowed */
	struct writer *writer;        /* borrowed */
	struct waiting *first, *last; /* owned */
	size_t waiting_bytes;         /* of them */
	struct batch *batch;          /* owned; NULL: nothing is merged */
	struct pipeline_totals totals;
	bool is_finishing;
};

void raw_interval_release(struct raw_interval *raw)
{
	harvest_release(&raw->harvest);
	free(raw->cpus);
	measure_harvest_release(&raw->measured);
	*raw = (struct raw_interval){ 0 };
}

int pipeline_open(struct pipeline **out, uint32_t n_events,
		  uint64_t max_wal_bytes, struct resolver *resolver,
		  struct writer *writer, struct weft_err *err)
{
	struct pipeline *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return weft_fail(err, -ENOMEM, "cannot record: out of memory");
	p->n_events = n_events;
	p->max_wal_bytes = max_wal_bytes;
	p->resolver = resolver;
	p->writer = writer;
	*out = p;
	return 0;
}

static void waiting_free(struct waiting *w)
{
	raw_interval_release(&w->raw);
	jit_release(w->jit);
	free(w);
}

void pipeline_close(struct pipeline *p)
{
	if (!p)
		return;
	while (p->first) {
		struct waiting *w = p->first;

		p->first = w->next;
		waiting_free(w);
	}
	batch_free(p->batch);
	free(p);
}

int pipeline_add(struct pipeline *p, struct raw_interval *raw)
{
	struct waiting *w = calloc(1, sizeof(*w));

	if (!w) {
		raw_interval_release(raw);
		return -ENOMEM;
	}
	w->raw = *raw;
	w->bytes = harvest_bytes(&raw->harvest);
	w->since_ns = uv_hrtime();
	p->waiting_bytes += w->bytes;
	if (p->last)
		p->last->next = w;
	else
		p->first = w;
	p->last = w;
	*raw = (struct raw_interval){ 0 };
	return 0;
}

/* Several intervals become one row: from the first's start to the last's end.
 */
static void merge_row(struct batch *b, const struct store_interval *new)
{
	struct store_interval *row = batch_interval(b);
	struct store_interval merged = *new;

	if (row->end_ns) {
		merged.start_ns = row->start_ns;
		merged.self_cpu_ns += row->self_cpu_ns;
		merged.bpf_run_ns += row->bpf_run_ns;
		merged.bpf_run_count += row->bpf_run_count;
	}
	*row = merged;
}

static uint64_t sum_cpus(const struct raw_interval *raw, uint32_t event,
			 bool due, uint64_t *value)
{
	uint64_t sum = 0;

	*value = 0;
	for (size_t i = 0; i < raw->n_cpus; i++) {
		const struct store_cpu *c = &raw->cpus[i];
		uint64_t n = due ? c->due : c->fired;

		if (c->event != event)
			continue;
		sum += n;
		*value += n * c->period;
	}
	return sum;
}

/* due = fired + not_run. What has no timer is due as often as the kernel says
 * that it ran the program, or left it out. A timer that fires at the very edge
 * of an interval may be fired here and due in the next: not_run is then counted
 * from what was fired, never negative. */
static int add_due(struct batch *b, const struct raw_interval *raw,
		   uint32_t event)
{
	uint64_t fired = raw->ledger[event].entry[WEFT_FIRED].count;
	uint64_t fired_value = raw->ledger[event].entry[WEFT_FIRED].value;
	uint64_t due_value;
	uint64_t due = sum_cpus(raw, event, true, &due_value);
	int rc;

	if (due < fired)
		due = fired;
	if (due_value < fired_value)
		due_value = fired_value;
	due += raw->missed[event];
	rc = batch_ledger(b, event, LEDGER_DUE, due, due_value);
	return rc ? rc
		  : batch_ledger(b, event, LEDGER_NOT_RUN, due - fired,
				 due_value - fired_value);
}

/* How often the kernel held the event's timers back, where all of them tell. */
static int add_throttled(struct batch *b, const struct raw_interval *raw,
			 uint32_t event)
{
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < raw->n_cpus; i++) {
		const struct store_cpu *c = &raw->cpus[i];

		if (c->event != event)
			continue;
		if (!c->has_throttled)
			return 0;
		sum += c->throttled;
		n++;
	}
	return n ? batch_ledger(b, event, LEDGER_THROTTLED, sum, 0) : 0;
}

static int merge(struct pipeline *p, const struct waiting *w)
{
	const struct raw_interval *raw = &w->raw;
	struct batch *b = p->batch;
	int rc = 0;

	merge_row(b, &raw->row);
	for (uint32_t e = 0; e < p->n_events && !rc; e++) {
		rc = ledger_add_kernel(b, e, &raw->ledger[e]);
		if (!rc)
			rc = add_due(b, raw, e);
		if (!rc)
			rc = add_throttled(b, raw, e);
	}
	for (size_t i = 0; i < raw->n_cpus && !rc; i++)
		rc = batch_cpu(b, &raw->cpus[i]);
	if (!rc)
		rc = batch_ledger(b, 0, WEFT_SIDEBAND_LOST, raw->sideband_lost,
				  0);
	if (!rc)
		rc = batch_ledger(b, 0, LEDGER_PROBE_DEFERRED,
				  raw->probe_deferred, 0);
	if (!rc)
		rc = batch_ledger(b, 0, LEDGER_CONTEXT_FAILING,
				  raw->context_failing, 0);
	if (!rc)
		rc = batch_ledger(b, 0, LEDGER_TABLE_REFUSED,
				  raw->table_refused, 0);
	if (!rc)
		rc = resolve(p->resolver, &raw->harvest, &raw->measured, w->jit,
			     b);
	return rc;
}

static uint64_t entry_of(const struct store_batch *view, uint32_t event,
			 uint32_t entry)
{
	for (size_t i = 0; i < view->n_ledger; i++)
		if (view->ledger[i].event == event &&
		    view->ledger[i].entry == entry)
			return view->ledger[i].count;
	return 0;
}

/* The identities of the ledger, for one event of a batch. */
static bool is_right(const struct store_batch *v, uint32_t e)
{
	uint64_t counts = 0, samples = 0;
	uint64_t counted = entry_of(v, e, WEFT_COUNTED);
	uint64_t selected = entry_of(v, e, WEFT_SELECTED);

	for (size_t i = 0; i < v->n_counts; i++)
		counts += v->counts[i].event == e ? v->counts[i].count : 0;
	for (size_t i = 0; i < v->n_samples; i++)
		samples += v->samples[i].event == e;
	return entry_of(v, e, LEDGER_DUE) ==
		       entry_of(v, e, WEFT_FIRED) +
			       entry_of(v, e, LEDGER_NOT_RUN) &&
	       entry_of(v, e, WEFT_FIRED) ==
		       counted + entry_of(v, e, WEFT_FILTERED) +
			       entry_of(v, e, WEFT_IDLE) +
			       entry_of(v, e, WEFT_LOST_COUNTS_FULL) +
			       entry_of(v, e, WEFT_LOST_BUSY) &&
	       counted == selected + entry_of(v, e, WEFT_PASSED_OVER) &&
	       counted ==
		       counts + entry_of(v, e, LEDGER_LOST_COUNTS_DISCARDED) &&
	       selected == samples + entry_of(v, e, WEFT_LOST_RING_FULL) +
				   entry_of(v, e, WEFT_LOST_RING_BUSY) +
				   entry_of(v, e, LEDGER_LOST_DISCARDED);
}

static void total_add(struct pipeline_totals *t, const struct store_ledger *row)
{
	struct pipeline_total *c = &t->ledger[row->event][row->entry];

	c->count += row->count;
	c->value += row->value;
}

static void add_up(struct pipeline *p, const struct store_batch *view)
{
	for (size_t i = 0; i < view->n_ledger; i++)
		total_add(&p->totals, &view->ledger[i]);
	for (uint32_t e = 0; e < p->n_events; e++)
		p->totals.wrong_intervals += !is_right(view, e);
	p->totals.intervals++;
}

/* Count the batch's samples per event into a ledger entry. */
static void count_samples(struct batch *b, uint32_t n_events,
			  enum ledger_entry entry)
{
	struct store_batch view;
	uint64_t n[WEFT_MAX_EVENTS] = { 0 }, value[WEFT_MAX_EVENTS] = { 0 };

	batch_view(b, &view);
	for (size_t i = 0; i < view.n_samples; i++) {
		n[view.samples[i].event]++;
		value[view.samples[i].event] += view.samples[i].value;
	}
	for (uint32_t e = 0; e < n_events; e++)
		/* The row is there already: this cannot fail. */
		(void)!batch_ledger(b, e, entry, n[e], value[e]);
}

/* Give the merged batch to the writer, if it can take it. */
static void hand_over(struct pipeline *p)
{
	struct store_batch view;
	bool is_full;

	if (!p->batch)
		return;
	is_full = writer_wal_bytes(p->writer) >= p->max_wal_bytes;
	if (!p->is_finishing && (is_full || writer_is_over_size(p->writer))) {
		/* A reader that never ends holds the log, or more comes than
		 * can go: what keeps growing without limit is the details. */
		count_samples(p->batch, p->n_events, LEDGER_LOST_DISCARDED);
		batch_drop_samples(p->batch);
		if (is_full)
			writer_checkpoint(p->writer);
		return;
	}
	if (writer_queued(p->writer) >= WRITER_QUEUE_MAX)
		return;
	/* One of any size, or several that together are no larger. */
	if (writer_batch_bytes(p->writer) &&
	    writer_batch_bytes(p->writer) + batch_bytes(p->batch) >
		    BATCH_BYTES_MAX)
		return;
	/* A log half full: one at a time, so that it passes its limit by no
	 * more than one batch. */
	if (!p->is_finishing && writer_queued(p->writer) &&
	    writer_wal_bytes(p->writer) >= p->max_wal_bytes / 2)
		return;
	count_samples(p->batch, p->n_events, LEDGER_STORED);
	batch_view(p->batch, &view);
	add_up(p, &view);
	writer_batch(p->writer, p->batch);
	p->batch = NULL;
}

/* The first has to make room for others. */
static bool is_crowded_out(const struct pipeline *p, const struct waiting *w)
{
	return w == p->first && w != p->last &&
	       p->waiting_bytes > WAITING_BYTES_MAX;
}

/* All mappings are known that can be. Code whose are not is unknown. */
static bool has_maps(struct pipeline *p, const struct waiting *w)
{
	uint64_t waited_ns = uv_hrtime() - w->since_ns;

	if (!procs_waiting(p->resolver->procs))
		return true;
	if (waited_ns < (uint64_t)MAPS_WAIT_MS * 1000000 &&
	    !is_crowded_out(p, w))
		return false;
	p->totals.without_maps++;
	return true;
}

/* Ask for what the interval needs, each once. Which addresses are a JIT's is
 * known when the mappings are. */
static void ask(struct pipeline *p, struct waiting *w)
{
	if (!w->has_asked)
		resolve_want_maps(p->resolver, &w->raw.harvest,
				  &w->raw.measured);
	w->has_asked = true;
	if (!w->jit && has_maps(p, w))
		w->jit = resolve_want_jit(p->resolver, &w->raw.harvest,
					  &w->raw.measured);
}

void pipeline_advance(struct pipeline *p)
{
	/* Also for those that are not the first: what JITs have compiled by
	 * the end of an interval is not to be asked for much later. */
	for (struct waiting *w = p->first; w; w = w->next)
		ask(p, w);
	while (p->first) {
		struct waiting *w = p->first;

		ask(p, w);
		if (!w->jit ||
		    (!jit_is_answered(w->jit) && !is_crowded_out(p, w)))
			return;
		if (!p->batch)
			p->batch = batch_new();
		if (!p->batch || merge(p, w))
			return; /* out of memory: again at the next tick */
		p->first = w->next;
		if (!p->first)
			p->last = NULL;
		p->waiting_bytes -= w->bytes;
		waiting_free(w);
		hand_over(p);
	}
	hand_over(p);
}

bool pipeline_is_empty(const struct pipeline *p)
{
	return !p->first && !p->batch;
}

uint64_t pipeline_oldest_ns(const struct pipeline *p, uint64_t now_ns)
{
	return p->first ? p->first->raw.harvest.start_ns : now_ns;
}

void pipeline_finish(struct pipeline *p)
{
	p->is_finishing = true;
	pipeline_advance(p);
}

const struct pipeline_totals *pipeline_totals(const struct pipeline *p)
{
	return &p->totals;
}

void pipeline_totals_now(const struct pipeline *p, struct pipeline_totals *out)
{
	struct store_batch view;

	*out = p->totals;
	if (!p->batch)
		return;
	batch_view(p->batch, &view);
	for (size_t i = 0; i < view.n_ledger; i++)
		total_add(out, &view.ledger[i]);
}

/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/grow.h"
#include "collector/host.h"
#include "collector/reaper.h"

struct reaper {
	struct probe *probe;         /* borrowed */
	struct hooks *hooks;         /* borrowed */
	struct measures *measures;   /* borrowed; NULL: none */
	struct ring_buffer *samples; /* owned */
	uint32_t n_events;
	bool self_cost;
	struct harvest harvest[WEFT_EPOCHS]; /* details as they arrive */
	struct measure_harvest measured[WEFT_EPOCHS]; /* so examples */
	uint64_t started_ns, interval_ns;
	int64_t clock_offset_ns; /* when the interval began */
	uint64_t self_cpu_ns, bpf_run_ns, bpf_runs; /* at its start */
};

/* Of the newest sample. Without memory it goes without, which is counted. */
static void add_attributes(struct harvest *h,
			   const struct weft_sample_attributes *a)
{
	size_t size =
		a->size < WEFT_ATTRIBUTE_BYTES ? a->size : WEFT_ATTRIBUTE_BYTES;

	if (!size)
		return;
	if (GROW(h->attributes, h->n_attributes + 1, h->attributes_room) ||
	    GROW(h->bytes, h->n_bytes + size, h->bytes_room)) {
		h->lost_attributes++;
		return;
	}
	h->attributes[h->n_attributes++] = (struct sample_attributes){
		.sample = h->n_samples - 1,
		.first = h->n_bytes,
		.size = (uint16_t)size,
		.is_truncated = size < a->size,
	};
	memcpy(h->bytes + h->n_bytes, a->bytes, size);
	h->n_bytes += size;
}

static int on_sample(void *ctx, void *data, size_t size)
{
	struct reaper *r = ctx;
	const struct weft_sample *s = data;
	struct weft_count *lost;
	struct harvest *h;

	if (size >= sizeof(struct measure_example) &&
	    s->kind == WEFT_RECORD_EXAMPLE)
		measure_harvest_example(&r->measured[s->epoch % WEFT_EPOCHS],
					data);
	if (size < sizeof(*s) || s->kind != WEFT_RECORD_SAMPLE)
		return 0;
	h = &r->harvest[s->epoch % WEFT_EPOCHS];
	if (h->n_samples >= BATCH_SAMPLES_MAX ||
	    GROW(h->samples, h->n_samples + 1, h->samples_room)) {
		lost = &h->lost[s->event % WEFT_MAX_EVENTS];
		lost->count++;
		lost->value += s->value;
		return 0;
	}
	h->samples[h->n_samples++] = *s;
	if (size >= sizeof(struct weft_sample_attributes))
		add_attributes(h, data);
	return 0;
}

int reaper_open(struct reaper **out, struct probe *probe, struct hooks *hooks,
		struct measures *measures, uint32_t n_events, bool self_cost,
		struct weft_err *err)
{
	struct reaper *r = calloc(1, sizeof(*r));
	int rc;

	*out = NULL;
	if (!r)
		return weft_fail(err, -ENOMEM, "cannot record: out of memory");
	r->probe = probe;
	r->hooks = hooks;
	r->n_events = n_events;
	r->measures = measures;
	r->self_cost = self_cost;
	r->samples =
		ring_buffer__new(probe_samples_fd(probe), on_sample, r, NULL);
	if (!r->samples) {
		rc = weft_fail(err, -errno,
			       "cannot map the ring of details: %s",
			       strerror(errno));
		reaper_close(r);
		return rc;
	}
	*out = r;
	return 0;
}

void reaper_close(struct reaper *r)
{
	if (!r)
		return;
	ring_buffer__free(r->samples);
	for (int i = 0; i < WEFT_EPOCHS; i++) {
		harvest_release(&r->harvest[i]);
		measure_harvest_release(&r->measured[i]);
	}
	free(r);
}

int reaper_fd(const struct reaper *r)
{
	return ring_buffer__epoll_fd(r->samples);
}

void reaper_consume(struct reaper *r)
{
	ring_buffer__consume(r->samples);
}

/* Tell the program the periods that hold from an epoch on. */
static void tell_periods(struct reaper *r, uint32_t epoch)
{
	for (uint32_t g = 0; g < hooks_n_timers(r->hooks); g++) {
		struct timers *t = hooks_timers(r->hooks, g);

		for (uint32_t i = 0; i < timers_count(t); i++)
			if (timers_are_timers(t))
				probe_set_period(r->probe, epoch,
						 timers_cpu(t, i),
						 timers_next_period(t, i));
	}
}

void reaper_start(struct reaper *r, uint64_t self_cpu_ns)
{
	tell_periods(r, probe_epoch(r->probe));
	r->self_cpu_ns = self_cpu_ns;
	r->started_ns = r->interval_ns = clock_boot_ns();
	clock_read_offset(&r->clock_offset_ns, &(uint64_t){ 0 });
}

/* Read the perf events of a group, then set them to the periods of the next
 * interval. */
static int turn_timers(struct timers *t, struct raw_interval *raw,
		       const uint64_t *fired, struct weft_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < timers_count(t) && !rc; i++) {
		struct timer_due due = { 0 };

		rc = timers_take_due(t, i, &due, err);
		if (due.is_off && !due.due && !fired[due.cpu])
			continue;
		raw->cpus[raw->n_cpus++] = (struct store_cpu){
			.event = timers_event(t),
			.cpu = due.cpu,
			.period = due.period,
			.due = due.due,
			.fired = fired[due.cpu],
			.throttled = due.throttled,
			.has_throttled = due.has_throttled,
		};
	}
	return rc ? rc : timers_apply(t, err);
}

/* What each event's ledger says, and what the kernel says beside it. */
static int take_ledgers(struct reaper *r, struct raw_interval *raw,
			uint32_t epoch, struct weft_err *err)
{
	uint64_t fired[WEFT_MAX_EVENTS][WEFT_MAX_CPUS] = { 0 };
	size_t n = 0;
	int rc = 0;

	for (uint32_t e = 0; e < r->n_events && !rc; e++) {
		rc = probe_take_ledger(r->probe, epoch, e, &raw->ledger[e],
				       fired[e], err);
		raw->missed[e] = hooks_take_missed(r->hooks, e);
	}
	for (uint32_t g = 0; g < hooks_n_timers(r->hooks); g++)
		n += timers_count(hooks_timers(r->hooks, g));
	raw->cpus = calloc(n + 1, sizeof(*raw->cpus));
	if (!raw->cpus && !rc)
		rc = weft_fail(err, -ENOMEM, "cannot record: out of memory");
	for (uint32_t g = 0; g < hooks_n_timers(r->hooks) && !rc; g++) {
		struct timers *t = hooks_timers(r->hooks, g);

		rc = turn_timers(t, raw, fired[timers_event(t)], err);
	}
	return rc;
}

/* When the interval was, and what it cost. */
static void fill_row(struct reaper *r, uint64_t end_ns, uint64_t self_cpu_ns,
		     struct store_interval *row)
{
	uint64_t run_ns, runs;
	int64_t change;

	probe_run_cost(r->probe, &run_ns, &runs);
	*row = (struct store_interval){
		.start_ns = r->interval_ns,
		.end_ns = end_ns,
		.self_cpu_ns = self_cpu_ns - r->self_cpu_ns,
		.self_rss_bytes = host_rss_bytes(),
		.bpf_run_ns = run_ns - r->bpf_run_ns,
		.bpf_run_count = runs - r->bpf_runs,
		.has_bpf_run = r->self_cost,
	};
	clock_read_offset(&row->clock_offset_ns, &row->clock_error_ns);
	/* Where it was set meanwhile, nobody knows when. */
	change = row->clock_offset_ns - r->clock_offset_ns;
	row->clock_error_ns += (uint64_t)(change < 0 ? -change : change);
	r->clock_offset_ns = row->clock_offset_ns;
	r->interval_ns = end_ns;
	r->self_cpu_ns = self_cpu_ns;
	r->bpf_run_ns = run_ns;
	r->bpf_runs = runs;
}

int reaper_turn(struct reaper *r, uint64_t self_cpu_ns,
		struct raw_interval *raw, struct weft_err *err)
{
	uint64_t end_ns, swapped_ns;
	uint32_t epoch;
	int rc;

	for (uint32_t g = 0; g < hooks_n_timers(r->hooks); g++)
		timers_draw(hooks_timers(r->hooks, g));
	tell_periods(r, probe_epoch(r->probe) + 1);
	measures_turn(r->measures, probe_epoch(r->probe) + 1);
	end_ns = clock_boot_ns();
	rc = probe_swap(r->probe, &epoch, err);
	swapped_ns = clock_boot_ns();
	if (!rc)
		rc = take_ledgers(r, raw, epoch, err);
	if (rc)
		return rc;
	reaper_consume(r);
	raw->harvest = r->harvest[epoch % WEFT_EPOCHS];
	r->harvest[epoch % WEFT_EPOCHS] = (struct harvest){ 0 };
	raw->measured = r->measured[epoch % WEFT_EPOCHS];
	r->measured[epoch % WEFT_EPOCHS] = (struct measure_harvest){ 0 };
	/* Held up by the machine, the swap may come late: until then samples
	 * came, and what was mapped meanwhile may be what they hit. */
	raw->harvest.start_ns = r->interval_ns;
	raw->harvest.end_ns = swapped_ns;
	rc = probe_drain(r->probe, epoch, &raw->harvest.shape, err);
	if (!rc && shape_read_values(&raw->harvest.shape,
				     probe_shape_values_fd(r->probe)))
		rc = weft_fail(err, -ENOMEM, "cannot record: out of memory");
	if (!rc)
		rc = measures_drain(r->measures, epoch, &raw->measured, err);
	fill_row(r, end_ns, self_cpu_ns, &raw->row);
	return rc;
}

uint64_t reaper_interval_ns(const struct reaper *r)
{
	return r->interval_ns;
}

uint64_t reaper_started_ns(const struct reaper *r)
{
	return r->started_ns;
}

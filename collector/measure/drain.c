/* SPDX-License-Identifier: MIT */
/* What the measures counted in an epoch, moved out of the kernel's maps. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/host.h"
#include "collector/map_drain.h"
#include "collector/measure/inside.h"
#include "gen/measure.skel.h"

enum {
	DRAIN_BYTES = 4 << 20, /* of values, in one call to the kernel */
	EXAMPLES_MAX = 65536   /* of all measures, in an interval */
};

void measure_harvest_release(struct measure_harvest *h)
{
	free(h->rows);
	free(h->buckets);
	free(h->examples);
	*h = (struct measure_harvest){ 0 };
}

void measure_harvest_example(struct measure_harvest *h,
			     const struct measure_example *example)
{
	uint32_t measure = example->sample.event;

	if (measure >= MEASURES_MAX)
		return;
	if (h->n_examples >= EXAMPLES_MAX ||
	    GROW(h->examples, h->n_examples + 1, h->examples_room))
		h->unsent[measure]++;
	else
		h->examples[h->n_examples++] = *example;
}

static uint32_t batch_of(const struct measures *m, const struct one *one)
{
	uint64_t bytes = (uint64_t)m->n_cpus * one->ready.value_bytes;
	uint64_t n = DRAIN_BYTES / bytes;
	uint32_t room = measure_room(m, one);

	return n > room ? room : n < 16 ? 16 : (uint32_t)n;
}

int measure_buffers(struct measures *m, struct weft_err *err)
{
	size_t keys = 0, values = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct measure_ready *r = &m->one[i].ready;
		size_t n = batch_of(m, &m->one[i]);

		if (n * r->key_bytes > keys)
			keys = n * r->key_bytes;
		if (n * r->value_bytes * (size_t)m->n_cpus > values)
			values = n * r->value_bytes * (size_t)m->n_cpus;
	}
	m->keys = malloc(keys);
	m->values = malloc(values);
	m->ledgers = calloc((size_t)m->n_cpus, sizeof(*m->ledgers));
	return m->keys && m->values && m->ledgers
		       ? 0
		       : weft_fail(err, -ENOMEM,
				   "cannot measure: out of memory");
}

/* What of a measure is moved from and to. */
struct draining {
	const struct measures *m;
	size_t number;
	struct measure_harvest *h;
};

/* One key: the sum over CPUs. */
static int take_row(const struct draining *d, const uint8_t *key,
		    const uint8_t *values)
{
	const struct measure_ready *r = &d->m->one[d->number].ready;
	struct measure_harvest *h = d->h;
	size_t n_buckets = r->plan.n_buckets;
	uint64_t not_min = 0, max = 0, turn;
	struct measure_row *row;

	if (GROW(h->rows, h->n_rows + 1, h->rows_room) ||
	    GROW(h->buckets, h->n_buckets + n_buckets, h->buckets_room))
		return -ENOMEM;
	row = &h->rows[h->n_rows++];
	*row = (struct measure_row){ .measure = (uint32_t)d->number,
				     .first = h->n_buckets };
	memcpy(&row->key, key, r->key_bytes);
	memset(h->buckets + h->n_buckets, 0, n_buckets * sizeof(uint64_t));
	for (int cpu = 0; cpu < d->m->n_cpus; cpu++) {
		const struct measure_value *v =
			(const void *)(values + (size_t)cpu * r->value_bytes);

		row->count += v->count;
		row->sum += v->sum;
		if (v->not_min > not_min)
			not_min = v->not_min;
		if (v->max > max)
			max = v->max;
		for (size_t i = 0; i < n_buckets; i++)
			h->buckets[h->n_buckets + i] += v->bucket[i];
	}
	h->n_buckets += n_buckets;
	turn = r->plan.value.is_signed ? 1ULL << 63 : 0;
	row->min = r->plan.keeps_extremes ? ~not_min ^ turn : 0;
	row->max = r->plan.keeps_extremes ? max ^ turn : 0;
	/* A key that nothing was added to, as when a program was busy. */
	if (!row->count)
		h->n_rows--;
	return 0;
}

static int take_rows(void *ctx, uint32_t n)
{
	const struct draining *d = ctx;
	const struct measures *m = d->m;
	const struct measure_ready *r = &m->one[d->number].ready;
	size_t value = (size_t)m->n_cpus * r->value_bytes;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = take_row(d, (uint8_t *)m->keys + i * r->key_bytes,
			      (uint8_t *)m->values + i * value);
	return rc;
}

/* The value of what has no keys; then it is nothing again. */
static int drain_array(struct measures *m, struct draining *d, int fd)
{
	const struct measure_ready *r = &m->one[d->number].ready;
	uint32_t only = 0;
	int rc = bpf_map_lookup_elem(fd, &only, m->values);

	memset(m->keys, 0, r->key_bytes);
	if (!rc)
		rc = take_rows(d, 1);
	memset(m->values, 0, (size_t)m->n_cpus * r->value_bytes);
	return rc ? rc : bpf_map_update_elem(fd, &only, m->values, BPF_ANY);
}

static int drain_values(struct measures *m, size_t number, uint32_t epoch,
			struct measure_harvest *h)
{
	const struct one *one = &m->one[number];
	struct draining d = { m, number, h };
	int fd = bpf_map__fd(epoch % WEFT_EPOCHS ? one->skel->maps.values_1
						 : one->skel->maps.values_0);

	if (!one->ready.plan.n_keys)
		return drain_array(m, &d, fd);
	return map_drain(fd, m->keys, m->values, batch_of(m, one), take_rows,
			 &d);
}

static int drain_ledger(struct measures *m, size_t number, uint32_t epoch,
			struct measure_harvest *h)
{
	int fd = bpf_map__fd(m->one[number].skel->maps.measure_ledgers);
	uint32_t slot = epoch % WEFT_EPOCHS;
	int rc = bpf_map_lookup_elem(fd, &slot, m->ledgers);

	for (int cpu = 0; cpu < m->n_cpus && !rc; cpu++)
		for (int i = 0; i < MEASURE_ENTRIES; i++)
			h->ledger[number].entry[i] += m->ledgers[cpu].entry[i];
	if (rc)
		return rc;
	memset(m->ledgers, 0, (size_t)m->n_cpus * sizeof(*m->ledgers));
	return bpf_map_update_elem(fd, &slot, m->ledgers, BPF_ANY);
}

/* Whether a call's thread has ended. Signal 0 only asks. */
static bool has_ended(const struct measure_call_key *call)
{
	return tgkill((pid_t)(call->thread >> 32), (pid_t)call->thread, 0) &&
	       errno == ESRCH;
}

/* Take away the calls of threads that have ended; *n: how many. */
static int drop_ended(const struct one *one, uint64_t *n)
{
	int fd = bpf_map__fd(one->skel->maps.calls);
	struct measure_call_key *key = calloc(CALLS_MAX, sizeof(*key));
	struct measure_call *call = calloc(CALLS_MAX, sizeof(*call));
	uint32_t n_calls = CALLS_MAX;
	uint64_t position; /* opaque to us */
	int rc = key && call ? bpf_map_lookup_batch(fd, NULL, &position, key,
						    call, &n_calls, NULL)
			     : -ENOMEM;

	if (rc == -ENOENT)
		rc = 0; /* these were all */
	for (uint32_t i = 0; i < n_calls && !rc; i++)
		*n += has_ended(&key[i]) && !bpf_map_delete_elem(fd, &key[i]);
	free(key);
	free(call);
	return rc;
}

/* Calls that a thread ends in (exit(), a signal, a system call that is no more
 * than that) wait for ever: before they fill the table they are taken away, as
 * calls of which no return was seen. */
static int make_room_for_calls(struct one *one, __u64 *entry)
{
	uint64_t n_ended = 0;
	int rc;

	if (!one->ready.plan.pairs)
		return 0;
	one->waiting +=
		(int64_t)(entry[MEASURE_ENTERED] - entry[MEASURE_CALLS_FULL] -
			  entry[MEASURE_NO_RETURN]);
	one->waiting -=
		(int64_t)(entry[MEASURE_FIRED] - entry[MEASURE_FILTERED] -
			  entry[MEASURE_NO_ENTRY]);
	if (one->waiting < one->left_waiting)
		one->left_waiting = one->waiting;
	if (!entry[MEASURE_CALLS_FULL] &&
	    one->waiting - one->left_waiting < CALLS_MAX / 4)
		return 0;
	/* Elsewhere the kernel's numbers of threads are not ours. */
	if (!host_has_all_pids())
		return 0;
	rc = drop_ended(one, &n_ended);
	entry[MEASURE_NO_RETURN] += n_ended;
	one->waiting -= (int64_t)n_ended;
	one->left_waiting = one->waiting;
	return rc;
}

/* Events at which the kernel left out the program: while another ran on that
 * CPU, or a table was being changed. */
uint64_t measure_take_missed(struct one *one)
{
	struct bpf_program *program[LINKS_MAX];
	size_t n = measure_programs(one, program);
	uint64_t before = one->missed;

	one->missed = 0;
	for (size_t i = 0; i < n; i++)
		one->missed += probe_misses(bpf_program__fd(program[i]));
	return one->missed - before;
}

int measures_drain(struct measures *m, uint32_t epoch,
		   struct measure_harvest *h, struct weft_err *err)
{
	for (size_t i = 0; i < measures_count(m); i++) {
		int rc = drain_values(m, i, epoch, h);

		if (!rc)
			rc = drain_ledger(m, i, epoch, h);
		if (!rc)
			rc = make_room_for_calls(&m->one[i],
						 h->ledger[i].entry);
		if (rc)
			return weft_fail(
				err, rc, "cannot read measure '%s': %s",
				m->one[i].ready.measure.name, strerror(-rc));
		h->missed[i] = measure_take_missed(&m->one[i]);
	}
	return 0;
}

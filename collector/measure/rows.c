/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "collector/batch_metrics.h"
#include "collector/measure/rows.h"

_Static_assert((int)STORE_METRIC_KEYS == (int)MEASURE_KEYS_MAX,
	       "a key has as many parts as columns");

size_t measure_rows_describe(const struct measures *m,
			     struct store_metric out[MEASURES_MAX])
{
	for (size_t i = 0; i < measures_count(m); i++) {
		const struct measure_ready *r = measures_get(m, i);
		const struct measure *w = &r->measure;
		bool has_value = r->plan.has_value;

		out[i] = (struct store_metric){
			.name = w->name,
			.text = w->text,
			.aggregate = measure_aggregate_names[w->aggregate],
			.unit = r->unit,
			.probe = w->probe_text,
			.value = has_value ? w->value.text : NULL,
			.n_keys = w->n_keys,
			.linear_min = w->linear_min,
			.linear_max = w->linear_max,
			.linear_step = (int64_t)w->linear_step,
			.max_keys = measures_max_keys(m),
			.keeps_extremes = r->plan.keeps_extremes,
		};
		for (size_t k = 0; k < w->n_keys; k++)
			out[i].key[k] = w->key[k].text;
	}
	return measures_count(m);
}

/* An interval on its way into a batch. */
struct rows {
	const struct measures *measures;
	const struct measure_harvest *harvest;
	const struct shape *shape;
	measure_find_fn *find;
	void *ctx;
	struct batch *b;
};

/* A key as the store takes it; its parts that are text. */
struct key_text {
	char room[STORE_METRIC_KEYS][4 * WEFT_SHAPE_VALUE_BYTES + 1];
	const char *text[STORE_METRIC_KEYS];
};

/* The value of an attribute by its number. Not there: it was refused. */
static const char *attribute_text(const struct rows *rows, uint64_t number,
				  char *room, size_t size)
{
	const struct weft_shape_value *v =
		shape_find_value(rows->shape, (uint32_t)number);

	if (!number)
		return "";
	if (!v || v->size > WEFT_SHAPE_VALUE_BYTES)
		return "[others]";
	weft_sanitize(room, size, (const char *)v->bytes, v->size);
	return room;
}

/* One part of a key that is text, or NULL: it is a number. */
static const char *part_text(const struct rows *rows,
			     const struct measure_term *term, const __u64 *word,
			     char *room, size_t size)
{
	switch (term->kind) {
	case MEASURE_COMM:
		memcpy(room, word, WEFT_COMM_LEN);
		room[WEFT_COMM_LEN] = '\0';
		return room;
	case MEASURE_CGROUP:
		return measures_cgroup(rows->measures, *word);
	case MEASURE_ATTRIBUTE:
		return attribute_text(rows, *word, room, size);
	default:
		return NULL;
	}
}

/* The stack in a key, as an index. */
static int read_stack(const struct rows *rows, const struct measure_ready *r,
		      const struct measure_key *key,
		      struct store_metric_key *out)
{
	struct weft_identity who;
	struct weft_stack_key stack;
	uint32_t process, index;
	int rc;

	if (!measure_key_stack(r, key, &who, &stack))
		return -EINVAL; /* cannot be: it is planned as one */
	rc = rows->find(rows->ctx, &who, &stack, &process, &index);
	out->kind = STORE_KEY_STACK;
	out->number = index;
	return rc;
}

static int read_key(const struct rows *rows, const struct measure_ready *r,
		    const struct measure_key *key,
		    struct store_metric_key out[STORE_METRIC_KEYS],
		    struct key_text *t)
{
	int rc = 0;

	for (uint32_t i = 0; i < r->plan.n_keys && !rc; i++) {
		const struct measure_term *term = &r->plan.key[i];
		const __u64 *word = &key->word[term->word];

		t->text[i] = part_text(rows, term, word, t->room[i],
				       sizeof(t->room[i]));
		out[i].kind = t->text[i] ? STORE_KEY_TEXT : STORE_KEY_NUMBER;
		out[i].number = (int64_t)*word;
		if (term->kind == MEASURE_STACK)
			rc = read_stack(rows, r, key, &out[i]);
	}
	return rc;
}

static int add_row(const struct rows *rows, const struct measure_row *row)
{
	const struct measure_ready *r =
		measures_get(rows->measures, row->measure);
	struct key_text t;
	struct store_metric_value v = {
		.metric = row->measure,
		.count = row->count,
		.sum = (int64_t)row->sum,
		.min = (int64_t)row->min,
		.max = (int64_t)row->max,
	};

	int rc = read_key(rows, r, &row->key, v.key, &t);

	return rc ? rc
		  : batch_metric(rows->b, &v, t.text,
				 rows->harvest->buckets + row->first,
				 r->plan.n_buckets);
}

static int add_example(const struct rows *rows, const struct measure_example *e)
{
	const struct weft_sample *s = &e->sample;
	const struct measure_ready *r;
	struct key_text t;
	struct store_metric_exemplar x = {
		.metric = s->event,
		.bucket = e->bucket,
		.value = (int64_t)s->value,
		.time_ns = s->boot_ns,
		.cpu = s->cpu,
		.has_trace = s->context_status == WEFT_CTX_OK,
		.has_span = s->context_status == WEFT_CTX_HALF &&
			    s->context_source != WEFT_SOURCE_NONE,
		.context_source = s->context_source,
		.context_status = s->context_status,
	};
	char comm[WEFT_COMM_LEN + 1] = { 0 };
	uint32_t process;
	int rc = rows->find(rows->ctx, &s->process, &s->stack, &process,
			    &x.stack);

	memcpy(comm, s->thread_comm, WEFT_COMM_LEN);
	if (!rc)
		rc = batch_thread(rows->b, process, s->tid, s->thread_start_ns,
				  comm, &x.thread);
	if (rc)
		return rc;
	r = measures_get(rows->measures, s->event);
	memcpy(x.trace_id, s->trace_id, sizeof(x.trace_id));
	memcpy(x.span_id, s->span_id, sizeof(x.span_id));
	rc = read_key(rows, r, &e->key, x.key, &t);
	return rc ? rc : batch_metric_exemplar(rows->b, &x, t.text);
}

static int add_ledger(const struct rows *rows, uint32_t i,
		      const struct store_metric_ledger *kept)
{
	const struct measure_harvest *h = rows->harvest;

	static const int entries[MEASURE_ENTRIES] = {
		[MEASURE_FIRED] = STORE_METRIC_FIRED,
		[MEASURE_FILTERED] = STORE_METRIC_FILTERED,
		[MEASURE_NOT_MET] = STORE_METRIC_NOT_MET,
		[MEASURE_KEYS_FULL] = STORE_METRIC_KEYS_FULL,
		[MEASURE_BUSY] = STORE_METRIC_BUSY,
		[MEASURE_UNREADABLE] = STORE_METRIC_UNREADABLE,
		[MEASURE_ENTERED] = STORE_METRIC_ENTERED,
		[MEASURE_NO_ENTRY] = STORE_METRIC_NO_ENTRY,
		[MEASURE_NO_RETURN] = STORE_METRIC_NO_RETURN,
		[MEASURE_CALLS_FULL] = STORE_METRIC_CALLS_FULL,
		[MEASURE_SELECTED] = STORE_METRIC_SELECTED,
		[MEASURE_UNSENT] = STORE_METRIC_LOST_EXEMPLARS,
	};
	struct store_metric_ledger all = *kept;

	for (int k = 0; k < MEASURE_ENTRIES; k++)
		all.entry[entries[k]] += h->ledger[i].entry[k];
	all.entry[STORE_METRIC_MISSED] = h->missed[i];
	all.entry[STORE_METRIC_LOST_EXEMPLARS] += h->unsent[i];
	return batch_metric_ledger(rows->b, measures_count(rows->measures), i,
				   &all);
}

int measure_rows(const struct measures *m, const struct measure_harvest *h,
		 const struct shape *shape, measure_find_fn *find, void *ctx,
		 struct batch *b)
{
	const struct rows rows = { m, h, shape, find, ctx, b };
	struct store_metric_ledger kept[MEASURES_MAX] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < h->n_rows; i++) {
		const struct measure_row *row = &h->rows[i];
		uint64_t *entry = kept[row->measure].entry;

		entry[STORE_METRIC_COUNTED] += row->count;
		if (add_row(&rows, row))
			entry[STORE_METRIC_DISCARDED] += row->count;
	}
	for (size_t i = 0; i < h->n_examples; i++) {
		uint32_t measure = h->examples[i].sample.event;

		if (measure < measures_count(m) &&
		    add_example(&rows, &h->examples[i]))
			kept[measure].entry[STORE_METRIC_LOST_EXEMPLARS]++;
	}
	for (uint32_t i = 0; i < measures_count(m) && !rc; i++)
		rc = add_ledger(&rows, i, &kept[i]);
	return rc;
}

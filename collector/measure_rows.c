/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "collector/batch_metrics.h"
#include "collector/measure_rows.h"

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

static int add_row(const struct measures *m, const struct measure_harvest *h,
		   const struct measure_row *row, struct batch *b)
{
	const struct measure_ready *r = measures_get(m, row->measure);
	char comm[STORE_METRIC_KEYS][WEFT_COMM_LEN + 1];
	const char *text[STORE_METRIC_KEYS] = { NULL };
	struct store_metric_value v = {
		.metric = row->measure,
		.count = row->count,
		.sum = (int64_t)row->sum,
		.min = (int64_t)row->min,
		.max = (int64_t)row->max,
	};

	for (uint32_t i = 0; i < r->plan.n_keys; i++) {
		const struct measure_term *t = &r->plan.key[i];

		if (t->kind != MEASURE_COMM) {
			v.key[i].kind = STORE_KEY_NUMBER;
			v.key[i].number = (int64_t)row->key.word[t->word];
			continue;
		}
		v.key[i].kind = STORE_KEY_TEXT;
		memcpy(comm[i], &row->key.word[t->word], WEFT_COMM_LEN);
		comm[i][WEFT_COMM_LEN] = '\0';
		text[i] = comm[i];
	}
	return batch_metric(b, &v, text, h->buckets + row->first,
			    r->plan.n_buckets);
}

static int add_ledger(const struct measures *m, const struct measure_harvest *h,
		      uint32_t i, const struct store_metric_ledger *kept,
		      struct batch *b)
{
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
	};
	struct store_metric_ledger all = *kept;

	for (int k = 0; k < MEASURE_ENTRIES; k++)
		all.entry[entries[k]] += h->ledger[i].entry[k];
	all.entry[STORE_METRIC_MISSED] = h->missed[i];
	return batch_metric_ledger(b, measures_count(m), i, &all);
}

int measure_rows(const struct measures *m, const struct measure_harvest *h,
		 struct batch *b)
{
	struct store_metric_ledger kept[MEASURES_MAX] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < h->n_rows; i++) {
		const struct measure_row *row = &h->rows[i];
		uint64_t *entry = kept[row->measure].entry;

		entry[STORE_METRIC_COUNTED] += row->count;
		if (add_row(m, h, row, b))
			entry[STORE_METRIC_DISCARDED] += row->count;
	}
	for (uint32_t i = 0; i < measures_count(m) && !rc; i++)
		rc = add_ledger(m, h, i, &kept[i], b);
	return rc;
}

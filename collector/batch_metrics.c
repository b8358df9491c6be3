/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "collector/batch_rows.h"

void batch_metrics_release(struct batch_metrics *m)
{
	free(m->values);
	free(m->buckets);
	free(m->exemplars);
	free(m->ledger);
	*m = (struct batch_metrics){ 0 };
}

/* Copy the parts of a key that are text. */
static int add_key(struct batch *b,
		   struct store_metric_key key[STORE_METRIC_KEYS],
		   const char *const text[STORE_METRIC_KEYS])
{
	int rc = 0;

	for (int i = 0; i < STORE_METRIC_KEYS && !rc; i++)
		if (key[i].kind == STORE_KEY_TEXT)
			rc = batch_text(b, text[i], &key[i].text);
	return rc;
}

int batch_metric(struct batch *b, const struct store_metric_value *value,
		 const char *const text[STORE_METRIC_KEYS],
		 const uint64_t *counts, uint32_t n)
{
	struct batch_metrics *m = batch_metrics(b);
	struct store_metric_value row = *value;
	int rc;

	if (batch_is_full(b) || m->n_values >= BATCH_METRIC_VALUES_MAX ||
	    m->n_buckets + n > BATCH_METRIC_BUCKETS_MAX)
		return -E2BIG;
	rc = add_key(b, row.key, text);
	if (!rc)
		rc = GROW(m->values, m->n_values + 1, m->values_room);
	if (!rc)
		rc = GROW(m->buckets, m->n_buckets + n, m->buckets_room);
	if (rc)
		return rc;
	row.first = (uint32_t)m->n_buckets;
	for (uint32_t i = 0; i < n; i++)
		if (counts[i])
			m->buckets[m->n_buckets++] =
				(struct store_metric_bucket){ i, counts[i] };
	row.n_buckets = (uint32_t)m->n_buckets - row.first;
	m->values[m->n_values++] = row;
	return 0;
}

int batch_metric_exemplar(struct batch *b,
			  const struct store_metric_exemplar *exemplar,
			  const char *const text[STORE_METRIC_KEYS])
{
	struct batch_metrics *m = batch_metrics(b);
	struct store_metric_exemplar row = *exemplar;
	int rc;

	if (batch_is_full(b) || m->n_exemplars >= BATCH_METRIC_EXEMPLARS_MAX)
		return -E2BIG;
	rc = add_key(b, row.key, text);
	if (!rc)
		rc = GROW(m->exemplars, m->n_exemplars + 1, m->exemplars_room);
	if (rc)
		return rc;
	m->exemplars[m->n_exemplars++] = row;
	return 0;
}

int batch_metric_ledger(struct batch *b, size_t n_metrics, uint32_t metric,
			const struct store_metric_ledger *more)
{
	struct batch_metrics *m = batch_metrics(b);

	if (!m->ledger)
		m->ledger = calloc(n_metrics, sizeof(*more));
	if (!m->ledger)
		return -ENOMEM;
	for (int i = 0; i < STORE_METRIC_ENTRIES; i++)
		m->ledger[metric].entry[i] += more->entry[i];
	return 0;
}

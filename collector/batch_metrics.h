/* SPDX-License-Identifier: MIT */
/* What measures had, within a batch. Rows of one key may come several times:
 * the store adds them up. */
#ifndef WEFT_BATCH_METRICS_H
#define WEFT_BATCH_METRICS_H

#include "collector/batch.h"

/* All 0: empty. */
struct batch_metrics {
	struct store_metric_value *values; /* owned */
	size_t n_values, values_room;
	struct store_metric_bucket *buckets; /* owned */
	size_t n_buckets, buckets_room;
	struct store_metric_exemplar *exemplars; /* owned */
	size_t n_exemplars, exemplars_room;
	struct store_metric_ledger *ledger; /* owned; NULL: none yet */
};

void batch_metrics_release(struct batch_metrics *m);

/* What a key of a measure had; first and n_buckets of the value are set from
 * counts (n of them), of which those that are 0 are left out. Parts of the key
 * that are text are given in text. 0, -ENOMEM or -E2BIG (full). */
int batch_metric(struct batch *b, const struct store_metric_value *value,
		 const char *const text[STORE_METRIC_KEYS],
		 const uint64_t *counts, uint32_t n) MUST_CHECK;

/* An event of a measure; text as batch_metric() has it. Errors likewise. */
int batch_metric_exemplar(struct batch *b,
			  const struct store_metric_exemplar *exemplar,
			  const char *const text[STORE_METRIC_KEYS]) MUST_CHECK;

/* Add to where events of a measure (of n_metrics) ended. -ENOMEM. */
int batch_metric_ledger(struct batch *b, size_t n_metrics, uint32_t metric,
			const struct store_metric_ledger *more) MUST_CHECK;

#endif

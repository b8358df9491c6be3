/* SPDX-License-Identifier: MIT */
/* Measures: their rows, and what they had in an interval. */
#include <errno.h>
#include <stdlib.h>

#include "store/inside.h"

static void bind_string(sqlite3_stmt *stmt, int column, const char *text)
{
	/* NULL binds NULL. */
	sqlite3_bind_text(stmt, column, text, -1, SQLITE_STATIC);
}

static int add_one(struct store *st, const struct store_metric *m,
		   struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_METRIC_ADD, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, st->recording_id);
	bind_string(stmt, 2, m->name);
	bind_string(stmt, 3, m->text);
	bind_string(stmt, 4, m->aggregate);
	bind_string(stmt, 5, m->value);
	bind_string(stmt, 6, m->unit);
	bind_string(stmt, 7, m->probe);
	sqlite3_bind_int64(stmt, 8, (int64_t)m->n_keys);
	for (int i = 0; i < STORE_METRIC_KEYS; i++)
		bind_string(stmt, 9 + i, m->key[i]);
	for (int i = 13; i <= 15; i++)
		sqlite3_bind_null(stmt, i);
	if (m->linear_step) {
		sqlite3_bind_int64(stmt, 13, m->linear_min);
		sqlite3_bind_int64(stmt, 14, m->linear_max);
		sqlite3_bind_int64(stmt, 15, m->linear_step);
	}
	sqlite3_bind_int64(stmt, 16, (int64_t)m->max_keys);
	return store_run(st, stmt, err);
}

int metric_add(struct store *st, const struct store_metric *metrics, size_t n,
	       struct weft_err *err)
{
	int rc = 0;

	st->metric_has_value = calloc(n + 1, sizeof(bool));
	st->metric_has_extremes = calloc(n + 1, sizeof(bool));
	if (!st->metric_has_value || !st->metric_has_extremes)
		return weft_fail(err, -ENOMEM,
				 "cannot write to '%s': no memory", st->path);
	for (size_t i = 0; i < n && !rc; i++) {
		rc = add_one(st, &metrics[i], err);
		if (i == 0)
			st->first_metric_id =
				sqlite3_last_insert_rowid(st->conn.db);
		st->metric_has_value[i] = metrics[i].value != NULL;
		st->metric_has_extremes[i] = metrics[i].keeps_extremes;
	}
	st->n_metrics = n;
	return rc;
}

static void bind_key(sqlite3_stmt *stmt, const struct store_batch *b,
		     const struct interned *id,
		     const struct store_metric_key key[STORE_METRIC_KEYS])
{
	for (int i = 0; i < STORE_METRIC_KEYS; i++) {
		if (key[i].kind == STORE_KEY_NUMBER)
			sqlite3_bind_int64(stmt, 2 + i, key[i].number);
		else if (key[i].kind == STORE_KEY_STACK)
			sqlite3_bind_int64(stmt, 2 + i,
					   id->stack[key[i].number]);
		else
			bind_text_or_empty(stmt, 2 + i, b->text,
					   key[i].kind == STORE_KEY_TEXT
						   ? key[i].text
						   : 0);
	}
}

/* The id of a measure's key; written if it is new. */
static int find_key(struct store *st, const struct store_batch *b,
		    const struct interned *id, uint32_t metric,
		    const struct store_metric_key key[STORE_METRIC_KEYS],
		    int64_t *out, struct weft_err *err)
{
	int64_t metric_id = st->first_metric_id + metric;
	sqlite3_stmt *find, *add;
	int rc = store_stmt(st, STORE_SQL_METRIC_KEY_FIND, &find, err);

	if (!rc)
		rc = store_stmt(st, STORE_SQL_METRIC_KEY_ADD, &add, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(find, 1, metric_id);
	bind_key(find, b, id, key);
	rc = store_find(st, find, out, err);
	sweep_saw(st, SWEEP_KEY, *out);
	if (rc || *out)
		return rc;
	sqlite3_bind_int64(add, 1, metric_id);
	bind_key(add, b, id, key);
	rc = store_run(st, add, err);
	*out = sqlite3_last_insert_rowid(st->conn.db);
	return rc;
}

static int write_value(struct store *st, const struct store_metric_value *v,
		       int64_t interval_id, int64_t key_id,
		       struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_METRIC_VALUE_PUT, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, interval_id);
	sqlite3_bind_int64(stmt, 2, key_id);
	sqlite3_bind_int64(stmt, 3, (int64_t)v->count);
	for (int i = 4; i <= 6; i++)
		sqlite3_bind_null(stmt, i);
	if (st->metric_has_value[v->metric])
		sqlite3_bind_int64(stmt, 4, v->sum);
	if (st->metric_has_extremes[v->metric]) {
		sqlite3_bind_int64(stmt, 5, v->min);
		sqlite3_bind_int64(stmt, 6, v->max);
	}
	return store_run(st, stmt, err);
}

static int write_buckets(struct store *st, const struct store_batch *b,
			 const struct store_metric_value *v,
			 int64_t interval_id, int64_t key_id,
			 struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_METRIC_BUCKET_PUT, &stmt, err);

	for (uint32_t i = 0; i < v->n_buckets && !rc; i++) {
		const struct store_metric_bucket *bucket =
			&b->metric_buckets[v->first + i];

		sqlite3_bind_int64(stmt, 1, interval_id);
		sqlite3_bind_int64(stmt, 2, key_id);
		sqlite3_bind_int64(stmt, 3, bucket->bucket);
		sqlite3_bind_int64(stmt, 4, (int64_t)bucket->count);
		rc = store_run(st, stmt, err);
	}
	return rc;
}

static int write_ledger(struct store *st, const struct store_batch *b,
			int64_t interval_id, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_METRIC_INTERVAL_ADD, &stmt, err);

	for (size_t i = 0; i < st->n_metrics && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, interval_id);
		sqlite3_bind_int64(stmt, 2, st->first_metric_id + (int64_t)i);
		for (int k = 0; k < STORE_METRIC_ENTRIES; k++)
			sqlite3_bind_int64(
				stmt, 3 + k,
				(int64_t)b->metric_ledger[i].entry[k]);
		rc = store_run(st, stmt, err);
	}
	return rc;
}

static int write_exemplar(struct store *st, const struct store_batch *b,
			  const struct interned *id,
			  const struct store_metric_exemplar *e,
			  int64_t interval_id, struct weft_err *err)
{
	int64_t key_id = 0;
	sqlite3_stmt *stmt;
	int rc = find_key(st, b, id, e->metric, e->key, &key_id, err);

	if (!rc)
		rc = store_stmt(st, STORE_SQL_METRIC_EXEMPLAR_ADD, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, interval_id);
	sqlite3_bind_int64(stmt, 2, key_id);
	sqlite3_bind_int64(stmt, 3, e->bucket);
	sqlite3_bind_int64(stmt, 4, e->value);
	sqlite3_bind_int64(stmt, 5, (int64_t)e->time_ns);
	sqlite3_bind_int64(stmt, 6, e->cpu);
	sqlite3_bind_int64(stmt, 7, id->thread[e->thread]);
	sqlite3_bind_int64(stmt, 8, id->stack[e->stack]);
	sqlite3_bind_null(stmt, 9);
	sqlite3_bind_null(stmt, 10);
	if (e->has_trace)
		sqlite3_bind_blob(stmt, 9, e->trace_id, sizeof(e->trace_id),
				  SQLITE_STATIC);
	if (e->has_trace || e->has_span)
		sqlite3_bind_blob(stmt, 10, e->span_id, sizeof(e->span_id),
				  SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 11, e->context_source);
	sqlite3_bind_int64(stmt, 12, e->context_status);
	return store_run(st, stmt, err);
}

int metric_write(struct store *st, const struct store_batch *b,
		 const struct interned *id, int64_t interval_id,
		 struct weft_err *err)
{
	int rc = b->metric_ledger ? write_ledger(st, b, interval_id, err) : 0;

	for (size_t i = 0; i < b->n_metric_values && !rc; i++) {
		const struct store_metric_value *v = &b->metric_values[i];
		int64_t key_id = 0;

		rc = find_key(st, b, id, v->metric, v->key, &key_id, err);
		if (!rc)
			rc = write_value(st, v, interval_id, key_id, err);
		if (!rc)
			rc = write_buckets(st, b, v, interval_id, key_id, err);
	}
	for (size_t i = 0; i < b->n_metric_exemplars && !rc; i++)
		rc = write_exemplar(st, b, id, &b->metric_exemplars[i],
				    interval_id, err);
	return rc;
}

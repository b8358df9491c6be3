/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/inside.h"

/* What a batch is being turned into. */
struct writing {
	const struct store_batch *batch; /* borrowed */
	struct intern_mark mark;         /* where ids stood before */
	struct interned id;              /* owned */
	int64_t interval_id;
};

static int fail_memory(const struct store *st, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "cannot write to '%s': no memory",
			 st->path);
}

static int write_interval(struct store *st, struct writing *w,
			  struct weft_err *err)
{
	const struct store_interval *in = &w->batch->interval;
	sqlite3_stmt *stmt;
	int rc;

	rc = store_stmt(st, STORE_SQL_INTERVAL_ADD, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, st->recording_id);
	sqlite3_bind_int64(stmt, 2, (int64_t)in->start_ns);
	sqlite3_bind_int64(stmt, 3, (int64_t)in->end_ns);
	sqlite3_bind_int64(stmt, 4, in->clock_offset_ns);
	sqlite3_bind_int64(stmt, 5, (int64_t)in->clock_error_ns);
	sqlite3_bind_int64(stmt, 6, (int64_t)in->self_cpu_ns);
	sqlite3_bind_int64(stmt, 7, (int64_t)in->self_rss_bytes);
	bind_if(stmt, 8, in->has_bpf_run, in->bpf_run_ns);
	bind_if(stmt, 9, in->has_bpf_run, in->bpf_run_count);
	rc = store_run(st, stmt, err);
	w->interval_id = sqlite3_last_insert_rowid(st->conn.db);
	return rc;
}

static int write_cpus(struct store *st, const struct writing *w,
		      struct weft_err *err)
{
	const struct store_interval *in = &w->batch->interval;
	const struct store_cpu *cpu;
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_CPU_INTERVAL_ADD, &stmt, err);
	for (i = 0; i < w->batch->n_cpus && !rc; i++) {
		cpu = &w->batch->cpus[i];
		sqlite3_bind_int64(stmt, 1, w->interval_id);
		sqlite3_bind_int64(stmt, 2, st->first_event_id + cpu->event);
		sqlite3_bind_int64(stmt, 3, cpu->cpu);
		sqlite3_bind_int64(stmt, 4, (int64_t)cpu->period);
		sqlite3_bind_int64(stmt, 5, (int64_t)cpu->due);
		sqlite3_bind_int64(stmt, 6, (int64_t)cpu->fired);
		bind_if(stmt, 7, cpu->has_throttled, cpu->throttled);
		rc = store_run(st, stmt, err);
	}
	if (!rc)
		rc = store_stmt(st, STORE_SQL_EVENT_CPU_SUM, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, st->recording_id);
	sqlite3_bind_int64(stmt, 2, w->interval_id);
	sqlite3_bind_int64(stmt, 3, (int64_t)(in->end_ns - in->start_ns));
	return store_run(st, stmt, err);
}

/* A count with its ids, in the order of its row's key. */
struct count_row {
	int64_t event_id, process_id, stack_id;
	int64_t attribute_id; /* 0: none */
	uint64_t count, value;
};

static int compare_ids(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int compare_counts(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;
	int order = compare_ids(x->event_id, y->event_id);

	if (!order)
		order = compare_ids(x->process_id, y->process_id);
	if (!order)
		order = compare_ids(x->stack_id, y->stack_id);
	return order ? order : compare_ids(x->attribute_id, y->attribute_id);
}

/* Of one row of stack_count: only their attributes differ. */
static bool is_one_count(const struct count_row *a, const struct count_row *b)
{
	return a->event_id == b->event_id && a->process_id == b->process_id &&
	       a->stack_id == b->stack_id;
}

/* Sorted and with equal keys added up. Returns how many there are then. */
static size_t merge_counts(struct count_row *row, size_t n)
{
	size_t i, last = 0;

	if (!n)
		return 0;
	qsort(row, n, sizeof(*row), compare_counts);
	for (i = 1; i < n; i++) {
		if (compare_counts(&row[last], &row[i])) {
			row[++last] = row[i];
			continue;
		}
		row[last].count += row[i].count;
		row[last].value += row[i].value;
	}
	return last + 1;
}

/* The columns that stack_count and stack_total share, from the given one. */
static void bind_count(sqlite3_stmt *stmt, int first,
		       const struct count_row *row)
{
	sqlite3_bind_int64(stmt, first, row->event_id);
	sqlite3_bind_int64(stmt, first + 1, row->process_id);
	sqlite3_bind_int64(stmt, first + 2, row->stack_id);
	sqlite3_bind_int64(stmt, first + 3, (int64_t)row->count);
	sqlite3_bind_int64(stmt, first + 4, (int64_t)row->value);
}

static int write_count(struct store *st, const struct writing *w,
		       const struct count_row *row, struct weft_err *err)
{
	sqlite3_stmt *add, *put;
	int rc;

	rc = store_stmt(st,
			row->attribute_id ? STORE_SQL_STACK_ATTRIBUTE_COUNT_ADD
					  : STORE_SQL_STACK_COUNT_ADD,
			&add, err);
	if (!rc)
		rc = store_stmt(st,
				row->attribute_id
					? STORE_SQL_STACK_ATTRIBUTE_TOTAL_PUT
					: STORE_SQL_STACK_TOTAL_PUT,
				&put, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(add, 1, w->interval_id);
	bind_count(add, 2, row);
	bind_count(put, 1, row);
	if (row->attribute_id) {
		sqlite3_bind_int64(add, 7, row->attribute_id);
		sqlite3_bind_int64(put, 6, row->attribute_id);
	}
	rc = store_run(st, add, err);
	return rc ? rc : store_run(st, put, err);
}

/* n rows of one count: all of it, then what had which attribute. */
static int write_one_count(struct store *st, const struct writing *w,
			   const struct count_row *row, size_t n,
			   struct weft_err *err)
{
	struct count_row all = row[0];
	size_t i;
	int rc;

	all.attribute_id = 0;
	for (i = 1; i < n; i++) {
		all.count += row[i].count;
		all.value += row[i].value;
	}
	rc = write_count(st, w, &all, err);
	for (i = 0; i < n && !rc; i++) {
		if (row[i].attribute_id)
			rc = write_count(st, w, &row[i], err);
	}
	return rc;
}

static int write_counts(struct store *st, const struct writing *w,
			struct weft_err *err)
{
	const struct store_batch *b = w->batch;
	struct count_row *row;
	size_t i, n, same;
	int rc = 0;

	row = calloc(b->n_counts + 1, sizeof(*row));
	if (!row)
		return fail_memory(st, err);
	for (i = 0; i < b->n_counts; i++)
		row[i] = (struct count_row){
			.event_id = st->first_event_id + b->counts[i].event,
			.process_id = w->id.process[b->counts[i].process],
			.stack_id = w->id.stack[b->counts[i].stack],
			.attribute_id =
				b->counts[i].attribute
					? w->id.attribute
						  [b->counts[i].attribute - 1]
					: 0,
			.count = b->counts[i].count,
			.value = b->counts[i].value,
		};
	n = merge_counts(row, b->n_counts);
	for (i = 0; i < n && !rc; i += same) {
		for (same = 1; i + same < n; same++) {
			if (!is_one_count(&row[i], &row[i + same]))
				break;
		}
		rc = write_one_count(st, w, &row[i], same, err);
	}
	free(row);
	return rc;
}

/* What the samples of a batch add to a trace. */
struct trace_sum {
	int64_t id;
	const uint8_t *trace_id; /* borrowed from the batch */
	uint64_t samples, first_ns, last_ns;
	double weight, value;
};

struct trace_sums {
	struct trace_sum *sum; /* owned */
	size_t n;
	struct idmap place; /* trace id -> index into sum, from 1 */
};

static int add_to_trace(struct store *st, struct trace_sums *t, int64_t id,
			const struct store_sample *s, struct weft_err *err)
{
	struct idmap_key key = { { (uint64_t)id, 0 } };
	int64_t place = idmap_find(&t->place, key);
	struct trace_sum *sum;

	if (!place) {
		place = (int64_t)++t->n;
		if (idmap_add(&t->place, key, place))
			return fail_memory(st, err);
		t->sum[place - 1] = (struct trace_sum){
			.id = id,
			.trace_id = s->trace_id,
			.first_ns = UINT64_MAX,
		};
	}
	sum = &t->sum[place - 1];
	/* Of several events the timer's: a sum over units says nothing. */
	if (s->event == st->timer_event) {
		sum->samples++;
		sum->weight += s->weight;
		sum->value += s->weight * (double)s->value;
	}
	if (s->time_ns < sum->first_ns)
		sum->first_ns = s->time_ns;
	if (s->time_ns > sum->last_ns)
		sum->last_ns = s->time_ns;
	return 0;
}

static int write_trace_sums(struct store *st, const struct writing *w,
			    const struct trace_sums *t, struct weft_err *err)
{
	sqlite3_stmt *add, *add_up, *stmt;
	const struct trace_sum *sum;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_TRACE_ADD, &add, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_TRACE_SUM, &add_up, err);
	for (i = 0; i < t->n && !rc; i++) {
		int column = 2;

		sum = &t->sum[i];
		stmt = sum->id >= w->mark.trace ? add : add_up;
		sqlite3_bind_int64(stmt, 1, sum->id);
		if (stmt == add)
			sqlite3_bind_blob(stmt, column++, sum->trace_id, 16,
					  SQLITE_STATIC);
		sqlite3_bind_int64(stmt, column++, (int64_t)sum->samples);
		sqlite3_bind_double(stmt, column++, sum->weight);
		sqlite3_bind_double(stmt, column++, sum->value);
		sqlite3_bind_int64(stmt, column++, (int64_t)sum->first_ns);
		sqlite3_bind_int64(stmt, column, (int64_t)sum->last_ns);
		rc = store_run(st, stmt, err);
	}
	return rc;
}

/* trace_row: the trace's id for each sample, 0 for none. */
static int write_traces(struct store *st, const struct writing *w,
			int64_t *trace_row, struct weft_err *err)
{
	const struct store_batch *b = w->batch;
	struct trace_sums t = { 0 };
	size_t i;
	int rc = 0;

	idmap_init(&t.place);
	t.sum = calloc(b->n_samples + 1, sizeof(*t.sum));
	if (!t.sum)
		rc = fail_memory(st, err);
	for (i = 0; i < b->n_samples && !rc; i++) {
		if (!b->samples[i].has_trace)
			continue;
		rc = intern_trace(st, b->samples[i].trace_id, &trace_row[i],
				  err);
		if (!rc)
			rc = add_to_trace(st, &t, trace_row[i], &b->samples[i],
					  err);
	}
	if (!rc)
		rc = write_trace_sums(st, w, &t, err);
	idmap_release(&t.place);
	free(t.sum);
	return rc;
}

static int write_sample(struct store *st, const struct writing *w,
			sqlite3_stmt *stmt, const struct store_sample *s,
			int64_t trace, struct weft_err *err)
{
	sqlite3_bind_int64(stmt, 1, st->next_sample++);
	sqlite3_bind_int64(stmt, 2, w->interval_id);
	sqlite3_bind_int64(stmt, 3, st->first_event_id + s->event);
	sqlite3_bind_int64(stmt, 4, (int64_t)s->time_ns);
	sqlite3_bind_int64(stmt, 5, s->cpu);
	sqlite3_bind_int64(stmt, 6, w->id.thread[s->thread]);
	sqlite3_bind_int64(stmt, 7, w->id.stack[s->stack]);
	sqlite3_bind_int64(stmt, 8, (int64_t)s->value);
	sqlite3_bind_double(stmt, 9, s->weight);
	if (s->has_trace) {
		sqlite3_bind_int64(stmt, 10, trace);
		sqlite3_bind_int64(stmt, 12, s->trace_flags);
	} else {
		sqlite3_bind_null(stmt, 10);
		sqlite3_bind_null(stmt, 12);
	}
	if (s->has_trace || s->has_span)
		sqlite3_bind_blob(stmt, 11, s->span_id, sizeof(s->span_id),
				  SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, 11);
	sqlite3_bind_int64(stmt, 13, s->context_source);
	sqlite3_bind_int64(stmt, 14, s->context_status);
	return store_run(st, stmt, err);
}

static int write_samples(struct store *st, const struct writing *w,
			 struct weft_err *err)
{
	const struct store_batch *b = w->batch;
	int64_t *trace_row;
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	if (!b->n_samples)
		return 0;
	trace_row = calloc(b->n_samples, sizeof(*trace_row));
	if (!trace_row)
		return fail_memory(st, err);
	rc = write_traces(st, w, trace_row, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_SAMPLE_ADD, &stmt, err);
	for (i = 0; i < b->n_samples && !rc; i++)
		rc = write_sample(st, w, stmt, &b->samples[i], trace_row[i],
				  err);
	free(trace_row);
	return rc;
}

static int write_ledger(struct store *st, const struct writing *w,
			struct weft_err *err)
{
	const struct store_ledger *entry;
	int64_t event_id, entry_id;
	sqlite3_stmt *row, *sum;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_LEDGER_ADD, &row, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_LEDGER_SUM_ADD, &sum, err);
	for (i = 0; i < w->batch->n_ledger && !rc; i++) {
		entry = &w->batch->ledger[i];
		event_id = st->first_event_id + entry->event;
		entry_id = st->ledger_entry_id[entry->entry];
		sqlite3_bind_int64(row, 1, w->interval_id);
		sqlite3_bind_int64(row, 2, event_id);
		sqlite3_bind_int64(row, 3, entry_id);
		bind_if(row, 4, entry->measured, entry->count);
		bind_if(row, 5, entry->measured, entry->value);
		rc = store_run(st, row, err);
		if (rc)
			break;
		sqlite3_bind_int64(sum, 1, event_id);
		sqlite3_bind_int64(sum, 2, entry_id);
		bind_if(sum, 3, entry->measured, entry->count);
		bind_if(sum, 4, entry->measured, entry->value);
		rc = store_run(st, sum, err);
	}
	return rc;
}

static int write_rows(struct store *st, struct writing *w, struct weft_err *err)
{
	int64_t first_sample = st->next_sample;
	int rc;

	rc = intern_batch(st, w->batch, &w->id, err);
	if (!rc)
		rc = write_interval(st, w, err);
	if (!rc)
		rc = write_cpus(st, w, err);
	if (!rc)
		rc = write_counts(st, w, err);
	if (!rc)
		rc = write_samples(st, w, err);
	if (!rc)
		rc = attributes_write(st, w->batch, &w->id, first_sample, err);
	if (!rc)
		rc = write_ledger(st, w, err);
	if (!rc)
		rc = metric_write(st, w->batch, &w->id, w->interval_id, err);
	return rc;
}

int store_write(struct store *st, const struct store_batch *batch,
		struct store_frame_row *rows, struct weft_err *err)
{
	struct writing w = { .batch = batch };
	size_t i;
	int rc;

	rc = batch_check(st, batch, err);
	if (!rc)
		rc = intern_make_room(st, batch, err);
	if (!rc)
		rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	w.mark = intern_mark(st);
	rc = write_rows(st, &w, err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc) {
		conn_rollback(&st->conn);
		intern_forget(st, w.mark);
	}
	for (i = 0; i < batch->n_frames && !rc; i++)
		rows[i] = (struct store_frame_row){
			.id = w.id.frame[i],
			.is_new = w.id.frame[i] >= w.mark.frame,
		};
	if (!rc)
		st->tail_rows += batch->n_samples;
	interned_release(&w.id);
	return rc;
}

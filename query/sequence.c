/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/sequence.h"

/* Samples near the ends of a range may be stamped a little outside. */
static const int64_t SLACK_NS = 1000000000;

/* What went before on a thread. */
struct thread_state {
	int64_t thread_id;
	int64_t last_ns;
	size_t row; /* its latest */
};

struct loader {
	struct sequence *to;
	struct db *db;
	struct stacks *stacks;
	struct thread_state *threads; /* owned; by thread_id */
	size_t n_threads;
	double gap_ns; /* longer ones are marked; 0: none is */
	size_t max_rows;
};

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the samples");
}

/* The state of a thread; *is_new where it was not there. NULL: no memory. */
static struct thread_state *find_thread(struct loader *l, int64_t id,
					bool *is_new)
{
	struct thread_state *grown = l->threads;
	size_t lo = 0, hi = l->n_threads, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->threads[mid].thread_id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	*is_new = lo == l->n_threads || l->threads[lo].thread_id != id;
	if (!*is_new)
		return &l->threads[lo];
	if ((l->n_threads & (l->n_threads - 1)) == 0)
		grown = reallocarray(l->threads,
				     l->n_threads ? 2 * l->n_threads : 1,
				     sizeof(*grown));
	if (!grown)
		return NULL;
	l->threads = grown;
	memmove(grown + lo + 1, grown + lo,
		(l->n_threads++ - lo) * sizeof(*grown));
	grown[lo] = (struct thread_state){ .thread_id = id };
	return &grown[lo];
}

static void read_row(struct sequence_row *row, sqlite3_stmt *stmt)
{
	*row = (struct sequence_row){
		.first_ns = db_time(stmt, 0),
		.last_ns = db_time(stmt, 0),
		.thread_id = sqlite3_column_int64(stmt, 1),
		.stack_id = sqlite3_column_int64(stmt, 2),
		.pid = sqlite3_column_int64(stmt, 3),
		.tid = sqlite3_column_int64(stmt, 4),
		.gap_ns = -1,
		.samples = 1,
	};
	db_copy_text(stmt, 5, row->comm, sizeof(row->comm));
	db_copy_word(stmt, 6, row->span, sizeof(row->span));
	db_copy_word(stmt, 7, row->trace, sizeof(row->trace));
}

/* A key of the text that a stack reads as. */
static int text_of(struct loader *l, int64_t stack_id, uint64_t *out,
		   struct weft_err *err)
{
	int rc = stacks_need(l->stacks, l->db, stack_id, err);

	if (!rc)
		*out = stacks_text_key(l->stacks, stack_id);
	return rc;
}

/* 1: next is part of the run; 0: it is not; else a negative errno. */
static int continues(struct loader *l, const struct sequence_row *run,
		     const struct sequence_row *next, struct weft_err *err)
{
	uint64_t of_run, of_next;
	int rc;

	if (next->is_gap || next->is_other_trace ||
	    strcmp(run->span, next->span) != 0)
		return 0;
	if (run->stack_id == next->stack_id)
		return 1;
	rc = text_of(l, run->stack_id, &of_run, err);
	if (!rc)
		rc = text_of(l, next->stack_id, &of_next, err);
	return rc ? rc : of_run == of_next;
}

/* Take one sample: into the thread's run, or as a new row. 1: no more wanted.
 */
static int take(struct loader *l, struct sequence_row *row,
		struct weft_err *err)
{
	struct sequence *to = l->to;
	struct sequence_row *grown = to->rows, *run;
	struct thread_state *thread;
	bool is_new;
	int rc;

	thread = find_thread(l, row->thread_id, &is_new);
	if (!thread)
		return no_memory(err);
	if (!is_new) {
		run = &to->rows[thread->row];
		row->gap_ns = row->first_ns - thread->last_ns;
		row->is_gap = l->gap_ns > 0 && (double)row->gap_ns > l->gap_ns;
		row->is_other_trace = strcmp(run->trace, row->trace) != 0;
		thread->last_ns = row->first_ns;
		rc = continues(l, run, row, err);
		if (rc < 0)
			return rc;
		if (rc) {
			run->last_ns = row->last_ns;
			run->samples++;
			return 0;
		}
	}
	if (l->max_rows && to->n == l->max_rows) {
		to->is_cut = true;
		return 1;
	}
	if ((to->n & (to->n - 1)) == 0)
		grown = reallocarray(to->rows, to->n ? 2 * to->n : 1,
				     sizeof(*grown));
	if (!grown)
		return no_memory(err);
	to->rows = grown;
	thread->last_ns = row->first_ns;
	thread->row = to->n;
	grown[to->n++] = *row;
	return 0;
}

static int load_part(struct loader *l, struct report *r, size_t part,
		     int64_t trace, int64_t tid, struct weft_err *err)
{
	const struct range_part *p = &r->range.parts[part];
	struct sequence_row row;
	sqlite3_stmt *stmt;
	int rc, taken = 0;

	rc = range_query(&r->range, part, r->db,
			 trace ? QUERY_SQL_SEQUENCE_TRACE
			       : QUERY_SQL_SEQUENCE_TIME,
			 &stmt, err);
	if (rc)
		return rc;
	if (trace) {
		sqlite3_bind_int64(stmt, 4, trace);
	} else {
		sqlite3_bind_int64(stmt, 5, p->start_ns - SLACK_NS);
		sqlite3_bind_int64(stmt, 6, p->end_ns + SLACK_NS);
	}
	if (tid)
		sqlite3_bind_int64(stmt, 7, tid);
	while (!taken && (rc = db_step(r->db, stmt, err)) > 0) {
		read_row(&row, stmt);
		taken = take(l, &row, err);
	}
	sqlite3_reset(stmt);
	if (taken < 0)
		return taken;
	return rc < 0 ? rc : 0;
}

static int find_leaves(struct loader *l, struct weft_err *err)
{
	struct sequence *to = l->to;
	const char *text;
	int rc;

	for (size_t i = 0; i < to->n; i++) {
		rc = stacks_need(l->stacks, l->db, to->rows[i].stack_id, err);
		if (rc)
			return rc;
		text = stacks_leaf(l->stacks, to->rows[i].stack_id);
		to->rows[i].leaf = strdup(text);
		if (!to->rows[i].leaf)
			return no_memory(err);
	}
	return 0;
}

int sequence_load(struct sequence *s, struct report *r, struct stacks *stacks,
		  int64_t trace, int64_t tid, size_t max_rows,
		  struct weft_err *err)
{
	struct loader l = {
		.to = s,
		.db = r->db,
		.stacks = stacks,
		.max_rows = max_rows,
		.gap_ns = stats_unsampled_ns(report_ns_each(r)),
	};
	size_t i;
	int rc = 0;

	*s = (struct sequence){ 0 };
	for (i = 0; !rc && !s->is_cut && i < r->range.n_parts; i++)
		rc = load_part(&l, r, i, trace, tid, err);
	if (!rc)
		rc = find_leaves(&l, err);
	free(l.threads);
	if (rc)
		sequence_release(s);
	return rc;
}

void sequence_release(struct sequence *s)
{
	while (s->n > 0)
		free(s->rows[--s->n].leaf);
	free(s->rows);
	*s = (struct sequence){ 0 };
}

/* A part of a gap in percent: sums of estimates may exceed it. */
static int percent(double part_ns, int64_t gap_ns)
{
	double percent = 100 * part_ns / (double)gap_ns;

	return percent < 100 ? (int)(percent + 0.5) : 100;
}

/* What a gap was, and whether the request changed: into out. */
static const char *mark(const struct sequence_row *row, char *out, size_t size)
{
	const struct sequence_gap *in = &row->gap_in;
	int blocked = percent(in->blocked_ns, row->gap_ns);
	int waiting = percent(in->waiting_ns, row->gap_ns);
	size_t n = 0;

	out[0] = '\0';
	if (row->is_gap)
		n += (size_t)snprintf(out, size, "gap");
	if (row->is_gap && blocked > 0)
		n += (size_t)snprintf(out + n, size - n, ", off-CPU %d %%",
				      blocked);
	if (row->is_gap && waiting > 0)
		n += (size_t)snprintf(out + n, size - n, ", runnable %d %%",
				      waiting);
	if (row->is_gap && in->others)
		n += (size_t)snprintf(out + n, size - n, ", other request");
	if (row->is_gap && in->is_known && n == strlen("gap"))
		n += (size_t)snprintf(out + n, size - n, ", not sampled");
	if (row->is_other_trace)
		snprintf(out + n, size - n, "%sother trace", n ? ", " : "");
	return out;
}

static void fill_row(const struct sequence_row *row, int64_t origin_ns,
		     bool with_trace, struct table *t)
{
	char text[32], marks[96];

	snprintf(text, sizeof(text), "%+.6f",
		 (double)(row->first_ns - origin_ns) / 1e9);
	table_text(t, text);
	table_text(t,
		   FIGURE(figure_ns, (double)(row->last_ns - row->first_ns)));
	table_text(t, FIGURE(figure_count, (double)row->samples));
	table_text(t, row->gap_ns < 0 ? "-"
				      : FIGURE(figure_ns, (double)row->gap_ns));
	table_text(t, mark(row, marks, sizeof(marks)));
	snprintf(text, sizeof(text), "%lld", (long long)row->tid);
	table_text(t, text);
	table_text(t, row->comm);
	if (with_trace) {
		snprintf(text, sizeof(text), "%.8s",
			 *row->trace ? row->trace : "-");
		table_text(t, text);
	}
	table_text(t, *row->span ? row->span : "-");
	table_text(t, row->leaf);
}

int sequence_print(const struct sequence *s, int64_t origin_ns, bool with_trace,
		   struct weft_err *err)
{
	struct table_column columns[] = {
		{ "AT s", TABLE_RIGHT },    { "FOR", TABLE_RIGHT },
		{ "SAMPLES", TABLE_RIGHT }, { "SINCE LAST", TABLE_RIGHT },
		{ "MARK", TABLE_LEFT },     { "TID", TABLE_RIGHT },
		{ "THREAD", TABLE_LEFT },   { "TRACE", TABLE_LEFT },
		{ "SPAN", TABLE_LEFT },     { "FUNCTION", TABLE_CUT_END },
	};
	const size_t trace = 7;
	size_t n = ARRAY_LEN(columns), i;
	struct table *t;
	int rc;

	if (!with_trace) {
		n--;
		memmove(columns + trace, columns + trace + 1,
			(n - trace) * sizeof(columns[0]));
	}
	t = table_new(columns, n);
	if (!t)
		return no_memory(err);
	for (i = 0; i < s->n; i++)
		fill_row(&s->rows[i], origin_ns, with_trace, t);
	rc = report_print_table(t, err);
	table_free(t);
	if (!rc && s->is_cut)
		printf("there are more; -n 0 prints all\n");
	return rc;
}

void sequence_json(const struct sequence *s, struct json *j, int64_t origin_ns)
{
	const struct sequence_row *row;
	size_t i;

	json_array(j, "runs");
	for (i = 0; i < s->n; i++) {
		row = &s->rows[i];
		json_object(j, NULL);
		json_int(j, "at_ns", row->first_ns - origin_ns);
		json_int(j, "for_ns", row->last_ns - row->first_ns);
		json_int(j, "samples", (int64_t)row->samples);
		if (row->gap_ns < 0)
			json_null(j, "since_last_ns");
		else
			json_int(j, "since_last_ns", row->gap_ns);
		json_bool(j, "gap", row->is_gap);
		if (row->gap_in.is_known) {
			json_real(j, "gap_off_cpu_ns", row->gap_in.blocked_ns);
			json_real(j, "gap_runnable_ns", row->gap_in.waiting_ns);
			json_int(j, "gap_other_request_samples",
				 (int64_t)row->gap_in.others);
		}
		json_bool(j, "other_trace", row->is_other_trace);
		json_int(j, "pid", row->pid);
		json_int(j, "tid", row->tid);
		json_text(j, "thread", row->comm);
		json_text(j, "trace_id", *row->trace ? row->trace : NULL);
		json_text(j, "span_id", *row->span ? row->span : NULL);
		json_int(j, "stack_id", row->stack_id);
		json_text(j, "function", row->leaf);
		json_end_object(j);
	}
	json_end_array(j);
	json_bool(j, "runs_left_out", s->is_cut);
}

/* SPDX-License-Identifier: MIT */
/*
 * One pass over the samples of the sequence's time, whatever the number of
 * gaps: these are sorted by thread and time, so each sample finds its own. A
 * thread that is blocked has no other samples, so a block lies within one gap.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/gaps.h"

struct gap {
	int64_t thread_id, from_ns, to_ns;
	struct sequence_row *row; /* that comes after it */
};

struct gaps {
	struct gap *rows; /* owned */
	size_t n;
	int64_t from_ns, to_ns; /* of all */
};

static int compare(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->thread_id != y->thread_id)
		return x->thread_id < y->thread_id ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int find_gaps(struct gaps *g, struct sequence *s)
{
	size_t i;

	g->rows = calloc(s->n + 1, sizeof(*g->rows));
	if (!g->rows)
		return -ENOMEM;
	for (i = 0; i < s->n; i++) {
		struct sequence_row *row = &s->rows[i];
		struct gap gap = { row->thread_id, row->first_ns - row->gap_ns,
				   row->first_ns, row };

		if (!row->is_gap)
			continue;
		if (!g->n || gap.from_ns < g->from_ns)
			g->from_ns = gap.from_ns;
		if (!g->n || gap.to_ns > g->to_ns)
			g->to_ns = gap.to_ns;
		g->rows[g->n++] = gap;
		row->gap_in.is_known = true;
	}
	qsort(g->rows, g->n, sizeof(*g->rows), compare);
	return 0;
}

/* The gap of a thread in which a moment lies, or NULL. */
static struct gap *gap_at(const struct gaps *g, int64_t thread_id, int64_t ns)
{
	size_t lo = 0, hi = g->n, mid;

	while (lo < hi) {
		const struct gap *gap;

		mid = lo + (hi - lo) / 2;
		gap = &g->rows[mid];
		if (gap->thread_id < thread_id ||
		    (gap->thread_id == thread_id && gap->to_ns < ns))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == g->n || g->rows[lo].thread_id != thread_id ||
	    g->rows[lo].from_ns > ns)
		return NULL;
	return &g->rows[lo];
}

static void add(const struct gaps *g, sqlite3_stmt *stmt)
{
	int64_t end_ns = db_time(stmt, 1);
	const char *event = (const char *)sqlite3_column_text(stmt, 2);
	double length = db_weight(stmt, 3);
	struct gap *gap = gap_at(g, sqlite3_column_int64(stmt, 0), end_ns);
	struct sequence_gap *in;

	if (!gap || !event)
		return;
	in = &gap->row->gap_in;
	if (!*event) {
		in->others++;
		return;
	}
	/* It began before the last sample only by the error of clocks. */
	if (length > (double)(end_ns - gap->from_ns))
		length = (double)(end_ns - gap->from_ns);
	length *= db_weight(stmt, 4);
	if (!strcmp(event, "off-cpu"))
		in->blocked_ns += length;
	else
		in->waiting_ns += length;
}

static int load_part(const struct gaps *g, struct report *r, size_t part,
		     int64_t trace, int64_t tid, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int64_t any;
	int rc;

	rc = range_query(&r->range, part, r->db, QUERY_SQL_GAPS_ANY, &stmt,
			 err);
	if (rc)
		return rc;
	any = db_ask(r->db, stmt, err);
	if (any < 0 || (!any && !trace))
		return (int)any;
	rc = range_query(&r->range, part, r->db, QUERY_SQL_GAPS_SAMPLES, &stmt,
			 err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, g->from_ns);
	sqlite3_bind_int64(stmt, 6, g->to_ns);
	if (tid)
		sqlite3_bind_int64(stmt, 7, tid);
	if (trace)
		sqlite3_bind_int64(stmt, 8, trace);
	while ((rc = db_step(r->db, stmt, err)) > 0)
		add(g, stmt);
	return rc;
}

int gaps_explain(struct sequence *s, struct report *r, int64_t trace,
		 int64_t tid, struct weft_err *err)
{
	struct gaps g = { 0 };
	size_t i;
	int rc = 0;

	if (find_gaps(&g, s))
		return weft_fail(err, -ENOMEM, "out of memory for the gaps");
	for (i = 0; !rc && g.n && i < r->range.n_parts; i++)
		rc = load_part(&g, r, i, trace, tid, err);
	free(g.rows);
	return rc;
}

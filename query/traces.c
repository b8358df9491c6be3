/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/traces_inside.h"

enum {
	HEX_SIZE = 33,
	FEW = 256 /* samples of a request */
};

/* Of requests whose root span is not known, most of a million mostly: a row of
 * its own each would cost more than all else that there is of them. */
static struct spans_root no_root = { .duration_ns = -1 };

void traces_release(struct traces *t)
{
	for (size_t i = 0; i < t->n_rows; i++) {
		if (t->rows[i].root != &no_root)
			free(t->rows[i].root);
		free(t->rows[i].hex);
	}
	free(t->rows);
	sums_release(&t->sums);
	sums_release(&t->time_sums);
	stacks_free(t->stacks);
	report_close(&t->report);
}

int traces_no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the traces");
}

static int descending(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_cpu(const void *a, const void *b)
{
	const struct traces_row *x = a, *y = b;
	int order = descending(x->interval.lo, y->interval.lo);

	if (!order)
		order = descending(x->sum->tally.estimate,
				   y->sum->tally.estimate);
	if (!order)
		order = x->sum->key < y->sum->key ? -1 : 1;
	return order;
}

static int compare_samples(const void *a, const void *b)
{
	const struct traces_row *x = a, *y = b;

	if (x->sum->tally.count != y->sum->tally.count)
		return x->sum->tally.count > y->sum->tally.count ? -1 : 1;
	return compare_cpu(a, b);
}

int64_t traces_extent_ns(const struct traces_row *row)
{
	return row->sum->last_ns - row->sum->first_ns;
}

/* Of the request, as its root span has it; else of its samples. */
static int64_t duration_ns(const struct traces_row *row)
{
	return row->root->duration_ns >= 0 ? row->root->duration_ns
					   : traces_extent_ns(row);
}

static int compare_duration(const void *a, const void *b)
{
	if (duration_ns(a) != duration_ns(b))
		return duration_ns(a) > duration_ns(b) ? -1 : 1;
	return compare_cpu(a, b);
}

/* 0 where the duration is not known. */
static double cpu_share(const struct traces_row *row)
{
	return row->root->duration_ns > 0
		       ? row->interval.lo / (double)row->root->duration_ns
		       : 0;
}

static int compare_cpu_share(const void *a, const void *b)
{
	int order = descending(cpu_share(a), cpu_share(b));

	return order ? order : compare_cpu(a, b);
}

typedef int compare_rows(const void *a, const void *b);

/* The rows from 0 to n are a heap, the last of them on top, but for the one at
 * `at`: let it down to its place. */
static void sift(struct traces_row *rows, size_t at, size_t n,
		 compare_rows *compare)
{
	const struct traces_row row = rows[at];
	size_t child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n &&
		    compare(&rows[child], &rows[child + 1]) < 0)
			child++;
		if (compare(&row, &rows[child]) >= 0)
			break;
		rows[at] = rows[child];
		at = child;
	}
	rows[at] = row;
}

/* Bring the first n to the front: of a million mostly 20 are asked for. */
static void select_rows(struct traces *t, size_t n, compare_rows *compare)
{
	struct traces_row *rows = t->rows, swap;
	size_t i;

	for (i = n / 2; i-- > 0;)
		sift(rows, i, n, compare);
	for (i = n; i < t->n_rows; i++) {
		if (compare(&rows[i], &rows[0]) >= 0)
			continue;
		swap = rows[0];
		rows[0] = rows[i];
		rows[i] = swap;
		sift(rows, 0, n, compare);
	}
}

static void sort_rows(struct traces *t)
{
	static compare_rows *const compare[] = {
		[TRACES_BY_CPU] = compare_cpu,
		[TRACES_BY_SAMPLES] = compare_samples,
		[TRACES_BY_DURATION] = compare_duration,
		[TRACES_BY_CPU_SHARE] = compare_cpu_share,
	};

	size_t n = t->n_ordered < t->n_rows ? t->n_ordered : t->n_rows;

	if (!n)
		return;
	if (n < t->n_rows)
		select_rows(t, n, compare[t->sort]);
	qsort(t->rows, n, sizeof(*t->rows), compare[t->sort]);
}

/* Was the request while we recorded? */
static bool is_in_range(const struct traces *t, const struct spans_root *root)
{
	for (size_t i = 0; i < t->report.range.n_parts; i++) {
		const struct range_part *part = &t->report.range.parts[i];
		int64_t after = root->start_ns - part->start_unix_ns;

		if (after >= 0 && after < part->end_ns - part->start_ns)
			return true;
	}
	return false;
}

/* Add requests that have spans and no sample. */
static int add_unsampled(struct traces *t, struct weft_err *err)
{
	const struct tally none = { 0 };
	sqlite3_stmt *stmt;
	int rc = db_query(t->report.db, QUERY_SQL_SPANS_TRACES, &stmt, err);

	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		if (!sums_find(&t->sums, id) &&
		    sums_add(&t->sums, id, &none, 0, 0))
			return traces_no_memory(err);
	}
	return rc;
}

/* A row has a root span: keep a copy of it, if there is something in it. */
static int keep_root(struct traces_row *row, const struct spans_root *root,
		     struct weft_err *err)
{
	struct spans_root *copy;

	if (root->duration_ns < 0 && !root->start_ns && !*root->service &&
	    !*root->name && !*root->status)
		return 0;
	copy = row->root != &no_root ? row->root : malloc(sizeof(*copy));
	if (!copy)
		return traces_no_memory(err);
	*copy = *root;
	row->root = copy;
	return 0;
}

/* Find a row's root span, and whether the filter lets it through. 1: it does;
 * 0: it does not; else a negative errno. */
static int match(const struct traces *t, struct traces_row *row,
		 struct weft_err *err)
{
	struct spans_root root;
	int rc = spans_find_root(t->report.db, row->sum->key, &root, err);

	if (rc >= 0)
		rc = spans_match(t->report.db, &t->filter, row->sum->key, &root,
				 err);
	/* One from before or after us says nothing by having no sample. */
	if (rc <= 0 || (!row->sum->tally.count && !is_in_range(t, &root)))
		return rc < 0 ? rc : 0;
	rc = keep_root(row, &root, err);
	return rc ? rc : 1;
}

/* The interval of what a request used, of which so many samples are known to
 * stand for `each` on average. Most have few: theirs are told once. */
static struct stats_interval used(struct stats_interval few[FEW], uint64_t n,
				  double each)
{
	struct stats_interval *in = &few[n];

	if (n >= FEW)
		return stats_request_ns((double)n, each, true);
	if (!(in->hi > 0))
		*in = stats_request_ns((double)n, 1, true);
	return (struct stats_interval){ in->lo * each, in->hi * each };
}

/* The rows that the filter lets through, with their root spans. */
static int choose_rows(struct traces *t, struct weft_err *err)
{
	const struct stats_interval unsampled = {
		0, stats_unsampled_ns(report_ns_each(&t->report))
	};
	struct stats_interval few[FEW] = { 0 };
	int rc;

	t->has_roots = t->has_spans && (spans_is_filter(&t->filter) ||
					t->sort == TRACES_BY_DURATION ||
					t->sort == TRACES_BY_CPU_SHARE);
	if (spans_is_filter(&t->filter) && !t->has_spans && !t->filter.where.op)
		return 0;
	t->rows = calloc(t->sums.n + 1, sizeof(*t->rows));
	if (!t->rows)
		return traces_no_memory(err);
	for (size_t i = 0; i < t->sums.n; i++) {
		struct traces_row *row = &t->rows[t->n_rows];
		uint64_t k = t->sums.rows[i].tally.count;

		row->sum = &t->sums.rows[i];
		row->root = &no_root;
		if (t->has_roots || t->filter.where.op) {
			rc = match(t, row, err);
			if (rc < 0)
				return rc;
			if (!rc)
				continue;
		}
		row->interval =
			k ? used(few, k, row->sum->tally.estimate / (double)k)
			  : unsampled;
		t->n_sampled += k > 0;
		t->n_rows++;
	}
	return 0;
}

static int nothing(const struct traces *t, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if (spans_is_filter(&t->filter))
		return weft_fail(err, -ENODATA,
				 t->has_spans
					 ? "no request of '%s' is so: `weft "
					   "traces --sort duration` shows what "
					   "there is"
					 : "'%s' has no spans to choose by: "
					   "`weft import-spans` adds them",
				 db_path(t->report.db));
	rc = db_query(t->report.db, QUERY_SQL_TRACES_ANY, &stmt, err);
	if (!rc)
		rc = db_step(t->report.db, stmt, err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		return weft_fail(err, -ENODATA,
				 "no sample of that in '%s' carries a trace "
				 "ID, but others do: ask with --recording all, "
				 "of another --event or time",
				 db_path(t->report.db));
	return weft_fail(err, -ENODATA,
			 "no sample of '%s' carries a trace ID; `weft "
			 "loss` shows how reading them ended",
			 db_path(t->report.db));
}

static int load_coverage(struct traces *t, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(t->report.db, QUERY_SQL_TRACES_COVERAGE, &stmt, err);

	if (!rc)
		rc = db_step(t->report.db, stmt, err);
	if (rc <= 0)
		return rc;
	t->coverage = (struct traces_coverage){
		.with_spans = sqlite3_column_int64(stmt, 0),
		.unsampled = sqlite3_column_int64(stmt, 1),
		.spanless = sqlite3_column_int64(stmt, 2),
		.spans = sqlite3_column_int64(stmt, 3),
		.spanless_samples = sqlite3_column_int64(stmt, 4),
	};
	sqlite3_reset(stmt);
	return 0;
}

int traces_load(struct traces *t, const struct cli_common *common,
		const char *file, struct weft_err *err)
{
	int rc = report_open(&t->report, common, file, err);

	if (!rc)
		rc = spans_any(t->report.db, err);
	if (rc < 0)
		return rc;
	t->has_spans = rc;
	rc = t->has_spans ? load_coverage(t, err) : 0;
	if (!rc)
		rc = traces_load_samples(t, err);
	/* On one function only sampled requests can be. */
	if (!rc && t->has_spans && !t->on &&
	    (spans_is_filter(&t->filter) || t->sort == TRACES_BY_DURATION))
		rc = add_unsampled(t, err);
	if (!rc)
		rc = choose_rows(t, err);
	if (!rc && !t->n_rows)
		rc = nothing(t, err);
	if (!rc)
		sort_rows(t);
	return rc;
}

int traces_describe(struct traces *t, size_t n, struct weft_err *err)
{
	struct spans_root root;
	sqlite3_stmt *stmt;
	int rc;

	for (size_t i = 0; i < n; i++) {
		struct traces_row *row = &t->rows[i];

		rc = db_query(t->report.db, QUERY_SQL_TRACES_HEX, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, row->sum->key);
		rc = db_step(t->report.db, stmt, err);
		if (rc < 0)
			return rc;
		free(row->hex);
		row->hex = calloc(1, HEX_SIZE);
		if (!row->hex)
			return traces_no_memory(err);
		if (rc > 0)
			db_copy_word(stmt, 0, row->hex, HEX_SIZE);
		if (!t->has_spans || t->has_roots)
			continue;
		rc = spans_find_root(t->report.db, row->sum->key, &root, err);
		if (rc >= 0)
			rc = keep_root(row, &root, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

struct stats_interval traces_mean_ns(const struct traces *t,
				     const struct report *report,
				     double *estimate)
{
	double sum = 0, sum_sq = 0, total = 0;

	for (size_t i = 0; i < t->n_rows; i++) {
		double k = (double)t->rows[i].sum->tally.count;

		sum += k;
		sum_sq += k * k;
		total += t->rows[i].sum->tally.estimate;
	}
	*estimate = total / (double)t->n_rows;
	return stats_mean_request_ns(sum, sum_sq, (double)t->n_rows,
				     sum > 0 ? total / sum
					     : report_ns_each(report));
}

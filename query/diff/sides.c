/* SPDX-License-Identifier: MIT */
/* Which requests are compared with which others. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/requests.h"

static void swap(double *a, double *b)
{
	double kept = *a;

	*a = *b;
	*b = kept;
}

/*
 * The one that would be at `at` if they were sorted; they are shuffled. By
 * dividing them at one of themselves, again and again (Hoare 1961): a million
 * are not worth being sorted for one.
 */
static double order_statistic(double *x, size_t n, size_t at)
{
	uint64_t random = n;
	size_t from = 0;

	while (n - from > 1) {
		size_t less = from, i = from, above = n;
		double pivot;

		/* No order that somebody chose makes it slow. */
		random = random * 6364136223846793005 + 1442695040888963407;
		pivot = x[from + (random >> 33) % (n - from)];
		while (i < above) {
			if (x[i] < pivot)
				swap(&x[i++], &x[less++]);
			else if (x[i] > pivot)
				swap(&x[i], &x[--above]);
			else
				i++;
		}
		if (at >= less && at < above)
			return pivot;
		if (at < less)
			n = less;
		else
			from = above;
	}
	return x[from];
}

/* How long requests lasted, by their first and last sample of any event. */
static int find_extents(struct loading *l, struct weft_err *err)
{
	struct db *db = l->d->reports[0].db;
	const struct traces *t = &l->traces;
	struct request *r;
	sqlite3_stmt *stmt;
	int rc;

	if (t->has_totals) {
		for (size_t i = 0; i < t->n_rows; i++)
			requests_find(l, t->rows[i].sum->key)->duration_ns =
				(double)traces_extent_ns(&t->rows[i]);
		return 0;
	}
	rc = db_query(db, QUERY_SQL_DIFF_EXTENTS, &stmt, err);
	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		r = requests_find(l, sqlite3_column_int64(stmt, 0));
		if (r && r->is_listed)
			r->duration_ns = sqlite3_column_double(stmt, 1);
		rc = 0;
	}
	return rc;
}

/* Those from the order statistic of durations on are slow; who ties with it,
 * too. */
static int choose_slow(struct loading *l, struct weft_err *err)
{
	size_t n = 0, total = l->traces.sums.n;
	double *known = calloc(total + 1, sizeof(*known));
	struct diff *d = l->d;
	int rc = 0;

	if (!known)
		return diff_no_memory(err);
	d->by_extent = !l->traces.has_spans;
	if (d->by_extent)
		rc = find_extents(l, err);
	for (size_t i = 0; i < total; i++) {
		if (l->requests[i].is_listed && l->requests[i].duration_ns >= 0)
			known[n++] = l->requests[i].duration_ns;
		else
			d->unknown += l->requests[i].is_listed;
	}
	if (n)
		d->slow_from_ns = order_statistic(
			known, n,
			(size_t)fmin((double)n - 1,
				     floor((double)n * d->slow / 100)));
	free(known);
	for (size_t i = 0; i < total; i++) {
		struct request *r = &l->requests[i];

		if (r->is_listed && r->duration_ns >= 0)
			r->side = r->duration_ns >= d->slow_from_ns
					  ? COMPARE_SECOND
					  : COMPARE_FIRST;
	}
	return rc;
}

static int choose_where(struct loading *l, struct weft_err *err)
{
	const struct spans_filter filter = { .where = l->d->where };
	struct traces *t = &l->traces;
	bool any = false;
	int rc;

	for (size_t i = 0; i < t->n_rows; i++) {
		rc = spans_match(l->d->reports[0].db, &filter,
				 t->rows[i].sum->key, t->rows[i].root, err);
		if (rc < 0)
			return rc;
		any |= rc;
		requests_find(l, t->rows[i].sum->key)->side =
			rc ? COMPARE_SECOND : COMPARE_FIRST;
	}
	if (any)
		return 0;
	return weft_fail(err, -ENODATA,
			 t->has_spans ? "no request of '%s' is so: `weft "
					"traces` shows what there is"
				      : "no request of '%s' is so: it has no "
					"spans, `weft import-spans` adds them",
			 db_path(l->d->reports[0].db));
}

/* The one, and those of its route: of its root span's service and name. */
static int choose_one(struct loading *l, const struct request **one,
		      struct weft_err *err)
{
	struct report *r = &l->d->reports[0];
	struct traces *t = &l->traces;
	struct spans_root *root = &l->d->root;
	int64_t trace;
	int rc = report_find_trace(r, l->d->trace, &trace, l->d->hex, err);

	if (!rc)
		rc = spans_find_root(r->db, trace, root, err);
	if (rc < 0)
		return rc;
	*one = requests_find(l, trace);
	if (!*one)
		return report_no_sample(r, trace, l->d->hex, err);
	for (size_t i = 0; i < t->n_rows; i++)
		if (!rc || (!strcmp(t->rows[i].root->service, root->service) &&
			    !strcmp(t->rows[i].root->name, root->name)))
			requests_find(l, t->rows[i].sum->key)->side =
				COMPARE_FIRST;
	requests_find(l, trace)->side = COMPARE_SECOND;
	return 0;
}

int sides_choose(struct loading *l, const struct request **one,
		 struct weft_err *err)
{
	switch (l->d->mode) {
	case DIFF_SLOW:
		return choose_slow(l, err);
	case DIFF_WHERE:
		return choose_where(l, err);
	default:
		return choose_one(l, one, err);
	}
}

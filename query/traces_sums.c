/* SPDX-License-Identifier: MIT */
/* Samples summed up by request: all of them as the writer kept their sums, or
 * those of a time or on a function. */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "query/conveyor.h"
#include "query/traces_inside.h"

/* A function on more of the samples than that: reading all of them in order
 * is quicker than seeking them one by one. */
static const double SCAN_FROM_SHARE = 0.02;

/* Samples near the ends of an interval may be stamped a little outside. */
static const int64_t SLACK_NS = 1000000000;

/* As conveyor_take: sums of requests, of each one. */
static int take_totals(void *ctx, const void *rows, size_t n)
{
	const struct sum *sum = rows;
	struct sums *to = ctx;

	for (size_t i = 0; i < n; i++)
		if (sum[i].tally.count &&
		    sums_add(to, sum[i].key, &sum[i].tally, sum[i].first_ns,
			     sum[i].last_ns))
			return -ENOMEM;
	return 0;
}

static int read_totals(struct db *db, struct conveyor *to, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_TRACES_TOTALS, &stmt, err);

	if (rc)
		return rc;
	while ((rc = db_step(db, stmt, err)) > 0) {
		struct sum *sum = conveyor_next(to);
		struct tally *tally;

		if (!sum)
			return 0; /* conveyor_end() says why */
		sum->key = sqlite3_column_int64(stmt, 0);
		sum->first_ns = db_time(stmt, 4);
		sum->last_ns = db_time(stmt, 5);
		tally = &sum->tally;
		tally->count = (uint64_t)sqlite3_column_int64(stmt, 1);
		tally->weight = db_weight(stmt, 2);
		tally->weight_sq =
			tally->weight * tally->weight / (double)tally->count;
		tally->estimate = db_weight(stmt, 3);
	}
	return rc;
}

/* The sums that the writer kept: all samples of the file. */
static int load_totals(struct traces *t, struct weft_err *err)
{
	struct conveyor *to;
	int rc;

	if (conveyor_begin(&to, sizeof(struct sum), take_totals, &t->sums))
		return traces_no_memory(err);
	rc = read_totals(t->report.db, to, err);
	return conveyor_end(to) && !rc ? traces_no_memory(err) : rc;
}

/*
 * What the kept sums lack: in an interval whose detail was stored in part
 * only, each sample stands for more. factor - 1 times its samples is added.
 */
static int make_up(struct traces *t, const struct ledger_factor *f,
		   struct weft_err *err)
{
	struct db *db = t->report.db;
	double extra = 1 - 1 / f->factor; /* of what has the factor in it */
	sqlite3_stmt *stmt;
	struct tally more;
	int64_t start, end;
	int rc;

	rc = db_query(db, QUERY_SQL_TRACES_INTERVAL_TIME, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, f->interval_id);
	rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	start = db_time(stmt, 0);
	end = db_time(stmt, 1);
	rc = range_query(&t->report.range, 0, db, QUERY_SQL_TRACES_LOSSY, &stmt,
			 err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 4, f->interval_id);
	sqlite3_bind_int64(stmt, 5, start - SLACK_NS);
	sqlite3_bind_int64(stmt, 6, end + SLACK_NS);
	while ((rc = db_step(db, stmt, err)) > 0) {
		more = ledger_tally(&t->report.ledger, stmt, 1);
		more.count = 0; /* they are counted already */
		more.weight *= extra;
		more.weight_sq *= extra;
		more.estimate *= extra;
		if (sums_add(&t->sums, sqlite3_column_int64(stmt, 0), &more,
			     db_time(stmt, 6), db_time(stmt, 6)))
			return traces_no_memory(err);
	}
	return rc;
}

/* Add the rows of a statement; with wanted only those on its stacks. */
static int add_rows(struct traces *t, struct sums *to, sqlite3_stmt *stmt,
		    const struct sums *wanted, struct weft_err *err)
{
	struct tally tally;
	int64_t time_ns;
	int rc;

	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		if (wanted && !sums_find(wanted, sqlite3_column_int64(stmt, 5)))
			continue;
		tally = ledger_sample(&t->report.ledger,
				      sqlite3_column_int64(stmt, 1),
				      sqlite3_column_double(stmt, 2),
				      sqlite3_column_double(stmt, 3));
		time_ns = db_time(stmt, 4);
		if (sums_add(to, sqlite3_column_int64(stmt, 0), &tally, time_ns,
			     time_ns))
			return traces_no_memory(err);
	}
	return rc;
}

static int add_samples(struct traces *t, sqlite3_stmt *stmt,
		       const struct sums *wanted, struct weft_err *err)
{
	return add_rows(t, &t->sums, stmt, wanted, err);
}

/* Samples that say no trace, but are of one by their process and time. */
static int add_by_time(struct traces *t, const struct sums *wanted,
		       struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = by_time_load(t->report.db, &t->by_time, err);

	if (rc <= 0)
		return rc;
	rc = 0;
	for (size_t i = 0; !rc && i < t->report.range.n_parts; i++) {
		rc = range_query(&t->report.range, i, t->report.db,
				 QUERY_SQL_BY_TIME_SAMPLES, &stmt, err);
		if (!rc)
			rc = add_rows(t, &t->time_sums, stmt, wanted, err);
	}
	for (size_t i = 0; !rc && i < t->time_sums.n; i++) {
		const struct sum *sum = &t->time_sums.rows[i];

		if (sums_add(&t->sums, sum->key, &sum->tally, sum->first_ns,
			     sum->last_ns))
			rc = traces_no_memory(err);
	}
	return rc;
}

/* All samples in the order of the file. */
static int scan_samples(struct traces *t, const struct sums *wanted,
			struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < t->report.range.n_parts; i++) {
		rc = range_query(&t->report.range, i, t->report.db,
				 QUERY_SQL_TRACES_SAMPLES, &stmt, err);
		if (!rc)
			rc = add_samples(t, stmt, wanted, err);
	}
	return rc;
}

/* Those of a few stacks, by their index. */
static int seek_samples(struct traces *t, const struct sums *wanted,
			struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i, k;
	int rc = 0;

	for (i = 0; !rc && i < t->report.range.n_parts; i++)
		for (k = 0; !rc && k < wanted->n; k++) {
			rc = range_query(&t->report.range, i, t->report.db,
					 QUERY_SQL_TRACES_ON_STACK, &stmt, err);
			if (rc)
				return rc;
			sqlite3_bind_int64(stmt, 4, wanted->rows[k].key);
			rc = add_samples(t, stmt, NULL, err);
		}
	return rc;
}

/* Load the exact counts: which stacks there are, and how much of each. */
static int load_shape(struct traces *t, size_t part, struct weft_err *err)
{
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = range_query(&t->report.range, part, t->report.db,
			 t->report.range.is_whole ? QUERY_SQL_TOP_STACKS_WHOLE
						  : QUERY_SQL_TOP_STACKS_PART,
			 &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		tally = tally_of_shape((uint64_t)sqlite3_column_int64(stmt, 1),
				       (uint64_t)sqlite3_column_int64(stmt, 2));
		stacks_add(t->stacks, sqlite3_column_int64(stmt, 0), &tally);
	}
	return rc;
}

/* The function with samples whose name is nearest to one that has none, or
 * NULL. Borrowed from the stacks. */
static const char *nearest_function(const struct traces *t)
{
	struct stacks_row *rows;
	const char **names, *near;
	size_t n, n_names = 0;

	stacks_sum(t->stacks, STACKS_BY_FUNCTION, &rows, &n);
	names = calloc(n + 1, sizeof(*names));
	if (!names)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (rows[i].total.count)
			names[n_names++] = rows[i].name;
	near = weft_nearest(t->on, names);
	free(names);
	return near;
}

/* Say why nothing was found on a function: it is bounded, or unlucky, or meant
 * to be another. */
static int nothing_on(const struct traces *t, uint64_t counted,
		      struct weft_err *err)
{
	double all = (double)stacks_quality(t->stacks)->all.count;
	double lost = (double)t->report.ledger.shape_lost;
	const char *near;

	if (counted)
		return weft_fail(err, -ENODATA,
				 "'%s' has %llu counted samples, but none of "
				 "the detail samples on it carries a trace ID",
				 t->on, (unsigned long long)counted);
	near = nearest_function(t);
	return weft_fail(err, -ENODATA,
			 "no sample on '%s': its share is under %.2g %% "
			 "(95 %%), under %.2g %% even if every lost sample was "
			 "it%s%s%s",
			 t->on, 100 * stats_absent(all),
			 100 * stats_absent_with_loss(all, lost),
			 near ? "; did you mean '" : "", near ? near : "",
			 near ? "'?" : "");
}

static int load_on(struct traces *t, struct weft_err *err)
{
	struct sums wanted = { 0 }; /* stacks with the function on them */
	const struct tally *tally;
	struct tally counted = { 0 };
	size_t at = 0, i;
	int64_t id;
	int rc;

	rc = stacks_load(&t->stacks, t->report.db, err);
	for (i = 0; !rc && i < t->report.range.n_parts; i++)
		rc = load_shape(t, i, err);
	while (!rc && (at = stacks_next(t->stacks, at, &id, &tally))) {
		if (!stacks_has(t->stacks, id, t->on))
			continue;
		tally_add(&counted, tally);
		if (sums_add(&wanted, id, tally, 0, 0))
			rc = traces_no_memory(err);
	}
	if (!rc && tally_share(&counted, &stacks_quality(t->stacks)->all) >
			   SCAN_FROM_SHARE)
		rc = scan_samples(t, &wanted, err);
	else if (!rc)
		rc = seek_samples(t, &wanted, err);
	if (!rc && t->has_spans)
		rc = add_by_time(t, &wanted, err);
	sums_release(&wanted);
	if (!rc && t->sums.n == 0)
		rc = nothing_on(t, counted.count, err);
	return rc;
}

static int load_own(struct traces *t, struct weft_err *err)
{
	const struct ledger *ledger = &t->report.ledger;
	int rc;

	if (!t->report.range.is_all || t->report.range.n_parts != 1)
		return scan_samples(t, NULL, err);
	t->has_totals = true;
	rc = load_totals(t, err);
	for (size_t i = 0; !rc && i < ledger->n_factors; i++)
		rc = make_up(t, &ledger->factors[i], err);
	return rc;
}

int traces_load_samples(struct traces *t, struct weft_err *err)
{
	int rc;

	if (t->on)
		return load_on(t, err);
	rc = load_own(t, err);
	if (!rc && t->has_spans)
		rc = add_by_time(t, NULL, err);
	return rc;
}

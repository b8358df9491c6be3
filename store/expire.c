/* SPDX-License-Identifier: MIT */
/*
 * Rows that are old go, a few thousand in a transaction, and the ledger says
 * so in the same one. Samples have ids in the order of their intervals, so the
 * old ones are in front: no index over intervals is needed.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/retain.h"

/* What detail may go by. */
static int64_t detail_until(const struct retention *r)
{
	return r->is_pressed ? INT64_MAX : retain_until(r, r->keep->detail_ns);
}

static int run_all(struct store *st, const enum store_sql *which, size_t n,
		   const int64_t *values, int n_values, struct weft_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++)
		rc = retain_run(st, which[i], values, n_values, err);
	return rc;
}

/* The name of an entry that nothing before us may have needed. */
static int add_entry(struct store *st, const char *name, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_LEDGER_ENTRY_ADD, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
	return store_run(st, stmt, err);
}

/* A statement that counts what does not add up. */
static int check(struct store *st, enum store_sql which, struct weft_err *err)
{
	int64_t wrong;
	int rc = retain_find(st, which, NULL, 0, &wrong, err);

	if (rc || !wrong)
		return rc;
	return weft_fail(err, -EPROTO,
			 "cannot expire what is in '%s': more would go than "
			 "its ledger says is there; `weft loss` shows which "
			 "sum is wrong",
			 st->path);
}

/* ---- traces */

/* Their ids are in temp.over: delete them and their spans. */
static int drop_traces(struct store *st, struct store_gone *gone,
		       struct weft_err *err)
{
	int rc = retain_run(st, STORE_SQL_EXPIRE_SPANS, NULL, 0, err);

	if (rc)
		return rc;
	gone->spans += (uint64_t)sqlite3_changes64(st->conn.db);
	rc = retain_run(st, STORE_SQL_EXPIRE_OVER, NULL, 0, err);
	if (!rc)
		gone->traces += (uint64_t)sqlite3_changes64(st->conn.db);
	return rc;
}

/* Those that were in temp.over are not in the file any more. */
static int forget_traces(struct store *st, struct weft_err *err)
{
	struct retain_ids *ids;
	sqlite3_stmt *stmt;
	int rc, step;

	if (!memory_count(&st->trace))
		return 0;
	rc = store_stmt(st, STORE_SQL_EXPIRE_OVER_LIST, &stmt, err);
	ids = rc ? NULL : calloc(1, sizeof(*ids));
	if (!ids) {
		/* The file can be asked instead. */
		memory_clear(&st->trace);
		return 0;
	}
	do {
		ids->n = 0;
		while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
			ids->id[ids->n++] = sqlite3_column_int64(stmt, 0);
			if (ids->n == ARRAY_LEN(ids->id))
				break;
		}
		retain_forget(&st->trace, ids);
	} while (step == SQLITE_ROW);
	sqlite3_reset(stmt);
	free(ids);
	return 0;
}

/* Sums and extents of the traces whose samples are in temp.doomed; those that
 * nothing is left of go. */
static int settle_traces(struct store *st, const struct retention *r,
			 struct store_gone *gone, struct weft_err *err)
{
	int64_t is_in_tail, until[] = { detail_until(r) };
	int rc = retain_run(st, STORE_SQL_EXPIRE_TRACES, NULL, 0, err);

	if (until[0] == INT64_MAX)
		until[0] = r->reached_ns;
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_TOUCHED, NULL, 0, err);
	if (!rc)
		rc = retain_find(st, STORE_SQL_EXPIRE_IN_TAIL, NULL, 0,
				 &is_in_tail, err);
	if (!rc && is_in_tail)
		rc = retain_run(st, STORE_SQL_EXPIRE_TOUCH_TAIL, NULL, 0, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_EXTENTS, NULL, 0, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_DONE_TRACES, until, 1,
				err);
	return rc ? rc : drop_traces(st, gone, err);
}

int expire_spans(struct store *st, struct retention *r, struct weft_err *err)
{
	int64_t until = retain_until(r, r->keep->detail_ns);
	struct store_gone gone = *r->gone;
	int64_t window[] = { r->traces_at, RETAIN_SAMPLES };
	int64_t last, traces = (int64_t)gone.traces;
	int rc;

	/* Under pressure spans go with the samples of their time. */
	if (r->is_pressed)
		until = r->has_no_more ? r->now_ns : r->reached_ns;
	if (until == INT64_MIN || !until)
		return 0;
	rc = retain_find(st, STORE_SQL_EXPIRE_SPAN_WINDOW, window, 2, &last,
			 err);
	if (rc || !last)
		return rc;
	rc = retain_begin(st, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_SPAN_TRACES,
				(int64_t[]){ r->traces_at, last, until }, 3,
				err);
	if (!rc)
		rc = drop_traces(st, &gone, err);
	rc = retain_end(st, rc, err);
	if (rc)
		return rc;
	rc = forget_traces(st, err);
	r->traces_at = last;
	*r->gone = gone;
	/* The oldest are in front: while it is recorded, a look at those will
	 * do. */
	return rc ? rc : st->is_amended || (int64_t)gone.traces > traces;
}

/* ---- samples */

/* All that hangs on the samples in temp.doomed, and they themselves. */
static int drop_samples(struct store *st, struct retention *r,
			struct store_gone *gone, struct weft_err *err)
{
	static const enum store_sql steps[] = {
		STORE_SQL_EXPIRE_ATTRIBUTES, STORE_SQL_EXPIRE_SAMPLES,
		STORE_SQL_EXPIRE_STORED,     STORE_SQL_EXPIRE_ENTRY,
		STORE_SQL_EXPIRE_STORED_SUM, STORE_SQL_EXPIRE_ENTRY_SUM,
	};
	int64_t reached;
	int rc = retain_find(st, STORE_SQL_EXPIRE_REACHED, NULL, 0, &reached,
			     err);

	if (!rc && reached > r->reached_ns)
		r->reached_ns = reached;
	if (!rc)
		rc = add_entry(st, "expired", err);
	if (!rc)
		rc = run_all(st, steps, ARRAY_LEN(steps), NULL, 0, err);
	if (!rc)
		rc = check(st, STORE_SQL_EXPIRE_CHECK, err);
	return rc ? rc : settle_traces(st, r, gone, err);
}

/* Nothing of the samples after r->past up to last may go: because they are
 * pinned, or because they are not old? */
static int pass_by(struct store *st, struct retention *r, int64_t last,
		   int64_t until, struct weft_err *err)
{
	int64_t values[] = { last, until, r->newest };
	int64_t is_due;
	int rc = retain_find(st, STORE_SQL_EXPIRE_IS_DUE, values, 3, &is_due,
			     err);

	if (rc)
		return rc;
	if (is_due)
		r->past = last;
	else
		r->has_no_more = r->is_pressed;
	return is_due != 0;
}

int expire_detail(struct store *st, struct retention *r, struct weft_err *err)
{
	int64_t until = detail_until(r), last, n = 0;
	int64_t window[] = { r->past, RETAIN_SAMPLES };
	struct store_gone gone = *r->gone;
	int rc;

	if (until == INT64_MIN)
		return 0;
	rc = retain_find(st, STORE_SQL_EXPIRE_WINDOW, window, 2, &last, err);
	if (rc)
		return rc;
	if (!last) {
		r->has_no_more = r->is_pressed;
		return 0;
	}
	rc = retain_begin(st, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_FIND,
				(int64_t[]){ r->past, last, until, r->newest },
				4, err);
	if (!rc)
		n = sqlite3_changes64(st->conn.db);
	if (!rc && n)
		rc = drop_samples(st, r, &gone, err);
	rc = retain_end(st, rc, err);
	if (rc)
		return rc;
	if (!n)
		return pass_by(st, r, last, until, err);
	rc = forget_traces(st, err);
	gone.samples += (uint64_t)n;
	*r->gone = gone;
	r->removed += (uint64_t)n;
	st->sealed_rows -=
		(uint64_t)n < st->sealed_rows ? (uint64_t)n : st->sealed_rows;
	return rc ? rc : 1;
}

int expire_exemplars(struct store *st, struct retention *r,
		     struct weft_err *err)
{
	int64_t values[] = { detail_until(r), r->newest, RETAIN_SAMPLES };
	int64_t n = 0;
	int rc;

	if (values[0] == INT64_MIN)
		return 0;
	rc = retain_begin(st, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_EXPIRE_FIND_EXEMPLARS, values, 3,
				err);
	if (!rc)
		n = sqlite3_changes64(st->conn.db);
	if (!rc && n)
		rc = run_all(
			st,
			(enum store_sql[]){ STORE_SQL_EXPIRE_EXEMPLARS_ENTRY,
					    STORE_SQL_EXPIRE_EXEMPLARS },
			2, NULL, 0, err);
	rc = retain_end(st, rc, err);
	if (rc)
		return rc;
	r->gone->exemplars += (uint64_t)n;
	r->removed += (uint64_t)n;
	return n > 0;
}

/* ---- counts */

/* The counts in temp.doomed_count, of an interval (values[0]). */
static int drop_counts(struct store *st, const int64_t *values,
		       struct weft_err *err)
{
	static const enum store_sql of_interval[] = {
		STORE_SQL_DROP_ENTRY,
		STORE_SQL_DROP_ENTRY_SUM,
		STORE_SQL_DROP_ATTRIBUTE_TOTALS,
		STORE_SQL_DROP_EMPTY_ATTRIBUTE_TOTALS,
		STORE_SQL_DROP_ATTRIBUTES,
		STORE_SQL_DROP_COUNTS,
	};
	int rc = add_entry(st, "expired_counts", err);

	if (!rc)
		rc = retain_run(st, STORE_SQL_DROP_TOTALS, NULL, 0, err);
	if (!rc)
		rc = check(st, STORE_SQL_DROP_CHECK, err);
	if (!rc)
		rc = run_all(st, of_interval, ARRAY_LEN(of_interval), values, 1,
			     err);
	return rc ? rc
		  : retain_run(st, STORE_SQL_DROP_EMPTY_TOTALS, NULL, 0, err);
}

int expire_counts(struct store *st, struct retention *r, struct weft_err *err)
{
	static const enum store_sql measures[] = {
		STORE_SQL_DROP_METRIC_ENTRY,
		STORE_SQL_DROP_METRIC_VALUES,
		STORE_SQL_DROP_METRIC_BUCKETS,
	};
	int64_t until =
		r->is_pressed ? INT64_MAX : retain_until(r, r->keep->counts_ns);
	int64_t id, n = 0, sum = 0;
	int rc;

	if (until == INT64_MIN)
		return 0;
	rc = retain_find(st, STORE_SQL_DROP_FIND_INTERVAL,
			 (int64_t[]){ until, r->newest }, 2, &id, err);
	if (rc || !id)
		return rc;
	rc = retain_begin(st, err);
	if (!rc)
		rc = retain_run(st, STORE_SQL_DROP_FIND_COUNTS,
				(int64_t[]){ id, RETAIN_SWEPT }, 2, err);
	if (!rc)
		n = sqlite3_changes64(st->conn.db);
	if (!rc)
		rc = conn_int(&st->conn,
			      "SELECT sum(count) FROM temp.doomed_count", &sum,
			      err);
	if (!rc && n)
		rc = drop_counts(st, &id, err);
	/* Measures go with the last of them. */
	if (!rc && n < RETAIN_SWEPT)
		rc = run_all(st, measures, ARRAY_LEN(measures), &id, 1, err);
	rc = retain_end(st, rc, err);
	if (rc)
		return rc;
	r->gone->counts += (uint64_t)sum;
	r->removed += (uint64_t)n + 1;
	return 1;
}

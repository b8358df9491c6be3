/* SPDX-License-Identifier: MIT */
/*
 * Intervals that follow each other become one, as where the recorder itself
 * merges them: what was counted adds up, the first one's id stays. A step
 * moves a bounded number of rows into the first of a minute (or hour), so
 * that it takes several until that is whole; each leaves a file that is right.
 */
#include <errno.h>

#include "store/retain.h"

enum {
	LOOKED_AT = 64, /* intervals in a step */
	SUMS = 15,      /* columns of statement rollup_sums */
};

static const int64_t SECOND_NS = 1000000000;

static const int64_t length_ns[] = { 60000000000, 3600000000000 };

struct row {
	int64_t id, recording_id, start_ns, end_ns, offset_ns;
};

static int64_t bucket_of(const struct row *row, int64_t length)
{
	/* The sum of two numbers of a file may be anything. */
	__int128 unix_ns = (__int128)row->start_ns + row->offset_ns;

	return unix_ns < 0 || unix_ns > INT64_MAX ? -1
						  : (int64_t)(unix_ns / length);
}

/* May b become part of what a begins and before ends? Not over a hole, and not
 * over a change of the clock: times then still say when it was. */
static bool follows(const struct row *a, const struct row *before,
		    const struct row *b, int64_t length)
{
	__int128 moved = (__int128)b->offset_ns - before->offset_ns;

	return a->recording_id == b->recording_id &&
	       before->end_ns == b->start_ns && bucket_of(a, length) >= 0 &&
	       bucket_of(a, length) == bucket_of(b, length) &&
	       moved <= SECOND_NS && moved >= -SECOND_NS;
}

/* Intervals from one on, before another. */
static int read_rows(struct store *st, int64_t from, int64_t end,
		     struct row *row, size_t *n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_ROLLUP_INTERVALS, &stmt, err);

	*n = 0;
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, from);
	sqlite3_bind_int64(stmt, 2, end);
	sqlite3_bind_int64(stmt, 3, LOOKED_AT);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && *n < LOOKED_AT)
		row[(*n)++] = (struct row){
			sqlite3_column_int64(stmt, 0),
			sqlite3_column_int64(stmt, 1),
			sqlite3_column_int64(stmt, 2),
			sqlite3_column_int64(stmt, 3),
			sqlite3_column_int64(stmt, 4),
		};
	rc = rc == SQLITE_DONE || rc == SQLITE_ROW
		     ? 0
		     : conn_fail(&st->conn, rc, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

static int has_detail(struct store *st, const struct row *row, bool *out,
		      struct weft_err *err)
{
	/* Samples near the ends may be stamped a little outside. */
	int64_t values[] = { row->id, row->start_ns - SECOND_NS,
			     row->end_ns + SECOND_NS };
	int64_t found;
	int rc = retain_find(st, STORE_SQL_ROLLUP_HAS_DETAIL, values, 3, &found,
			     err);

	*out = found != 0;
	return rc;
}

/* How many of the n rows, from the first on, are to become one: 1 if it stays
 * what it is. */
static int find_group(struct store *st, const struct row *row, size_t n,
		      int64_t length, size_t *out, struct weft_err *err)
{
	int64_t budget = RETAIN_COUNTS, rows;
	bool is_detailed;
	size_t k;
	int rc = has_detail(st, row, &is_detailed, err);

	*out = 1;
	for (k = 1; !rc && !is_detailed && k < n; k++) {
		if (!follows(row, &row[k - 1], &row[k], length))
			break;
		rc = has_detail(st, &row[k], &is_detailed, err);
		if (rc || is_detailed)
			break;
		rc = retain_find(st, STORE_SQL_ROLLUP_ROWS,
				 (int64_t[]){ row[k].id, RETAIN_COUNTS }, 2,
				 &rows, err);
		budget -= rows;
		if (!rc && k > 1 && budget < 0)
			break;
		*out = k + 1;
	}
	return rc;
}

/* ---- conservation */

struct sums {
	int type[SUMS]; /* of SQLite: NULL stays NULL */
	int64_t sum[SUMS];
};

/* Returns 1 where 64 bits do not hold them. */
static int add_up(struct store *st, int64_t first, int64_t last,
		  struct sums *out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_ROLLUP_SUMS, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	rc = sqlite3_step(stmt);
	for (int i = 0; i < SUMS && rc == SQLITE_ROW; i++) {
		out->type[i] = sqlite3_column_type(stmt, i);
		out->sum[i] = sqlite3_column_int64(stmt, i);
	}
	if (rc == SQLITE_ROW)
		rc = 0;
	else
		rc = (rc & 0xff) == SQLITE_ERROR
			     ? 1
			     : conn_fail(&st->conn, rc, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

static bool are_equal(const struct sums *a, const struct sums *b)
{
	for (int i = 0; i < SUMS; i++)
		if (a->type[i] != b->type[i] || a->sum[i] != b->sum[i] ||
		    a->type[i] == SQLITE_FLOAT)
			return false;
	return true;
}

static int move_rows(struct store *st, const int64_t *range,
		     struct weft_err *err)
{
	static const enum store_sql steps[] = {
		STORE_SQL_ROLLUP_INTERVAL,
		STORE_SQL_ROLLUP_DROP_INTERVALS,
		STORE_SQL_ROLLUP_CPUS,
		STORE_SQL_ROLLUP_DROP_CPUS,
		STORE_SQL_ROLLUP_COUNTS,
		STORE_SQL_ROLLUP_DROP_COUNTS,
		STORE_SQL_ROLLUP_ATTRIBUTES,
		STORE_SQL_ROLLUP_DROP_ATTRIBUTES,
		STORE_SQL_ROLLUP_LEDGER,
		STORE_SQL_ROLLUP_DROP_LEDGER,
		STORE_SQL_ROLLUP_METRIC_VALUES,
		STORE_SQL_ROLLUP_DROP_METRIC_VALUES,
		STORE_SQL_ROLLUP_METRIC_BUCKETS,
		STORE_SQL_ROLLUP_DROP_METRIC_BUCKETS,
		STORE_SQL_ROLLUP_METRIC_INTERVALS,
		STORE_SQL_ROLLUP_DROP_METRIC_INTERVALS,
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && !rc; i++)
		rc = retain_run(st, steps[i], range, 2, err);
	return rc;
}

/* Intervals first to last become first. Returns 1 where their sums would not
 * come out: they are then what they were. */
static int merge(struct store *st, int64_t first, int64_t last,
		 struct weft_err *err)
{
	struct weft_err local = { 0 };
	struct sums before, after;
	int rc = retain_begin(st, err), rc_end;

	if (rc)
		return rc;
	rc = add_up(st, first, last, &before, err);
	/* Two numbers that do not add up to one fail here, or at the end. */
	if (!rc)
		rc = move_rows(st, (int64_t[]){ first, last }, &local);
	if (rc == -EINVAL)
		rc = 1;
	else if (rc < 0)
		weft_fail(err, rc, "%s", local.msg);
	if (!rc)
		rc = add_up(st, first, first, &after, err);
	if (!rc && !are_equal(&before, &after))
		rc = 1;
	rc_end = retain_end(st, rc, err);
	return rc ? rc : rc_end;
}

/* ---- stages */

/* The first interval that is not to be looked at: what is under way, and
 * samples that are not sealed, stay. */
static int find_end(struct store *st, const struct retention *r, int64_t *out,
		    struct weft_err *err)
{
	int64_t in_tail;
	int rc = retain_find(st, STORE_SQL_ROLLUP_TAIL, NULL, 0, &in_tail, err);

	*out = in_tail && in_tail < r->newest ? in_tail : r->newest;
	return rc;
}

static int rollup(struct store *st, struct retention *r, size_t level,
		  int64_t until, struct weft_err *err)
{
	int64_t length = length_ns[level];
	struct row row[LOOKED_AT];
	size_t n = 0, i, members = 1;
	int64_t end;
	int rc;

	if (until < 0)
		return 0;
	rc = find_end(st, r, &end, err);
	if (!rc)
		rc = read_rows(st, r->merge_at[level], end, row, &n, err);
	for (i = 0; i < n && !rc; i++) {
		/* A minute is merged when all of it is old. */
		if (bucket_of(&row[i], length) + 1 > until / length)
			return 0;
		/* What follows may be further on than we read. */
		if (i && n == LOOKED_AT && i + 1 == n)
			return 1;
		r->merge_at[level] = row[i].id;
		rc = find_group(st, &row[i], n - i, length, &members, err);
		if (!rc && members > 1)
			break;
	}
	if (rc || i >= n)
		return rc;
	rc = merge(st, row[i].id, row[i + members - 1].id, err);
	if (rc < 0)
		return rc;
	if (rc) {
		r->gone->unmerged++;
		r->merge_at[level] = row[i + members - 1].id;
	} else {
		r->gone->merged += members - 1;
		r->removed += members - 1;
	}
	return 1;
}

/* Up to when intervals merge that are kept as they are for age_ns: not while
 * their detail is there. */
static int64_t merge_until(const struct retention *r, uint64_t age_ns)
{
	uint64_t detail_ns = r->keep->detail_ns;

	if (r->is_pressed)
		return r->now_ns;
	if (detail_ns != STORE_KEEP_ALL && detail_ns > age_ns)
		age_ns = detail_ns;
	return retain_until(r, age_ns);
}

int rollup_minutes(struct store *st, struct retention *r, struct weft_err *err)
{
	return rollup(st, r, 0, merge_until(r, r->keep->seconds_ns), err);
}

int rollup_hours(struct store *st, struct retention *r, struct weft_err *err)
{
	return rollup(st, r, 1, merge_until(r, r->keep->minutes_ns), err);
}

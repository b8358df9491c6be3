/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/retain.h"

enum {
	VACUUM_PAGES = 1024, /* in a step */
	/* A log of that size is moved into the file between steps. */
	LOG_BYTES = 4 << 20,
	/* While it is recorded, free pages are soon used again: they are given
	 * back when they are many, one in so many. */
	FREE_SHARE = 16,
};

/* Tables of one step. */
static const char temp_tables[] =
	"CREATE TEMP TABLE IF NOT EXISTS doomed (id INTEGER PRIMARY KEY,"
	" interval_id, event_id, trace, weight, value);"
	"CREATE TEMP TABLE IF NOT EXISTS doomed_count (event_id, process_id,"
	" stack_id, count, value);"
	"CREATE TEMP TABLE IF NOT EXISTS touched (trace INTEGER PRIMARY KEY,"
	" first_ns);"
	"CREATE TEMP TABLE IF NOT EXISTS over (trace INTEGER PRIMARY KEY);";

static const char clear_temp_tables[] = "DELETE FROM temp.doomed;"
					"DELETE FROM temp.doomed_count;"
					"DELETE FROM temp.touched;"
					"DELETE FROM temp.over;";

int64_t retain_until(const struct retention *r, uint64_t age_ns)
{
	if (age_ns == STORE_KEEP_ALL || age_ns > (uint64_t)INT64_MAX ||
	    (int64_t)age_ns > r->now_ns)
		return INT64_MIN;
	return r->now_ns - (int64_t)age_ns;
}

int retain_begin(struct store *st, struct weft_err *err)
{
	int rc = st->is_trial ? conn_exec(&st->conn, "SAVEPOINT step", err)
			      : conn_begin(&st->conn, err);

	return rc ? rc : conn_exec(&st->conn, clear_temp_tables, err);
}

int retain_end(struct store *st, int rc, struct weft_err *err)
{
	if (!rc && st->is_trial)
		return conn_exec(&st->conn, "RELEASE step", err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc && st->is_trial)
		(void)!conn_exec(&st->conn, "ROLLBACK TO step; RELEASE step",
				 NULL);
	else if (rc)
		conn_rollback(&st->conn);
	return rc;
}

static int bind(struct store *st, enum store_sql which, const int64_t *values,
		int n, sqlite3_stmt **out, struct weft_err *err)
{
	int rc = store_stmt(st, which, out, err);

	for (int i = 0; i < n && !rc; i++)
		sqlite3_bind_int64(*out, i + 1, values[i]);
	return rc;
}

int retain_run(struct store *st, enum store_sql which, const int64_t *values,
	       int n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = bind(st, which, values, n, &stmt, err);

	return rc ? rc : store_run(st, stmt, err);
}

int retain_find(struct store *st, enum store_sql which, const int64_t *values,
		int n, int64_t *out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = bind(st, which, values, n, &stmt, err);

	*out = 0;
	return rc ? rc : store_find(st, stmt, out, err);
}

static int compare_ids(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_gone(void *ctx, int64_t id)
{
	const struct retain_ids *ids = ctx;

	return bsearch(&id, ids->id, ids->n, sizeof(id), compare_ids) != NULL;
}

void retain_forget(struct memory *memory, struct retain_ids *ids)
{
	if (ids->n && memory_count(memory))
		memory_drop_if(memory, is_gone, ids);
}

/* ---- how large the file is */

static int count_pages(struct store *st, int64_t *pages, int64_t *free_pages,
		       int64_t *page_bytes, struct weft_err *err)
{
	int rc = conn_int(&st->conn, "PRAGMA page_count", pages, err);

	if (!rc)
		rc = conn_int(&st->conn, "PRAGMA freelist_count", free_pages,
			      err);
	if (!rc)
		rc = conn_int(&st->conn, "PRAGMA page_size", page_bytes, err);
	return rc;
}

int store_used_bytes(struct store *st, uint64_t *out, struct weft_err *err)
{
	int64_t pages, free_pages, page_bytes;
	int rc = count_pages(st, &pages, &free_pages, &page_bytes, err);

	*out = rc ? 0 : (uint64_t)((pages - free_pages) * page_bytes);
	return rc;
}

/* Pressure begins at the limit and ends some way below, so that it is not at
 * each interval's end that something has to go. */
static int look_at_size(struct store *st, struct retention *r,
			struct weft_err *err)
{
	uint64_t max = r->keep->max_bytes, bytes;
	int rc;

	if (!max) {
		r->is_pressed = false;
		return 0;
	}
	rc = store_used_bytes(st, &bytes, err);
	if (rc)
		return rc;
	/* Of a file that is closed next no log is left. */
	if (!st->is_amended)
		bytes += store_wal_bytes(st);
	if (bytes > max)
		r->is_pressed = true;
	else if (bytes <= max - max / 16)
		r->is_pressed = false;
	return 0;
}

/* ---- stages of a pass */

/* What goes is sealed: the tail has no index to find it by. */
static int seal_what_is_due(struct store *st, struct retention *r,
			    struct weft_err *err)
{
	int64_t until =
		r->is_pressed ? INT64_MAX : retain_until(r, r->keep->detail_ns);
	int64_t values[] = { until, r->newest };
	int64_t is_due;
	int rc;

	if (!st->tail_rows || st->is_trial || until == INT64_MIN)
		return 0;
	rc = retain_find(st, STORE_SQL_RETAIN_TAIL_DUE, values, 2, &is_due,
			 err);
	if (rc || !is_due)
		return rc;
	/* With a reader in the way the log would only grow. */
	if (!st->is_amended)
		rc = store_checkpoint_log(st, err);
	if (rc || (!st->is_amended && store_wal_bytes(st)))
		return rc;
	return seal_tail(st, err);
}

static int vacuum(struct store *st, struct retention *r, struct weft_err *err)
{
	int64_t pages, free_pages, page_bytes, left;
	char sql[64];
	int rc = count_pages(st, &pages, &free_pages, &page_bytes, err);
	bool is_over = r->keep->max_bytes &&
		       (uint64_t)(pages * page_bytes) > r->keep->max_bytes;

	if (rc || !free_pages)
		return rc;
	if (!st->is_amended && !is_over &&
	    (free_pages < VACUUM_PAGES || free_pages * FREE_SHARE < pages))
		return 0;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%d)",
		 VACUUM_PAGES);
	rc = conn_exec(&st->conn, sql, err);
	if (!rc)
		rc = conn_int(&st->conn, "PRAGMA freelist_count", &left, err);
	return rc ? rc : left < free_pages && left;
}

typedef int stage_fn(struct store *st, struct retention *r,
		     struct weft_err *err);

static stage_fn *const stages[] = {
	seal_what_is_due, expire_detail,  expire_exemplars,
	expire_spans,     rollup_minutes, rollup_hours,
	expire_counts,    sweep_step,     vacuum,
};

static int begin_pass(struct store *st, struct retention *r,
		      struct weft_err *err)
{
	r->traces_at = 0;
	r->has_swept = false;
	r->has_no_more = false;
	return conn_exec(&st->conn, temp_tables, err);
}

static int open_retention(struct store *st, struct weft_err *err)
{
	if (st->retention)
		return 0;
	st->retention = calloc(1, sizeof(*st->retention));
	if (st->retention)
		return 0;
	return weft_fail(err, -ENOMEM,
			 "cannot expire what is in '%s': no memory", st->path);
}

void retention_free(struct retention *r)
{
	if (r)
		sweep_free(r->sweep);
	free(r);
}

int store_tend(struct store *st, const struct store_keep *keep, uint64_t now_ns,
	       struct store_gone *gone, bool *more, struct weft_err *err)
{
	struct retention *r;
	int rc = open_retention(st, err);

	*more = false;
	if (rc)
		return rc;
	r = st->retention;
	r->keep = keep;
	r->gone = gone;
	r->now_ns = (int64_t)now_ns;
	if (!r->stage)
		rc = begin_pass(st, r, err);
	/* While it is recorded, some of it is always left to look at. */
	r->newest = INT64_MAX;
	if (!rc && !st->is_amended)
		rc = retain_find(st, STORE_SQL_RETAIN_NEWEST, NULL, 0,
				 &r->newest, err);
	while (!rc && r->stage < ARRAY_LEN(stages)) {
		rc = look_at_size(st, r, err);
		if (!rc)
			rc = stages[r->stage](st, r, err);
		if (!rc)
			r->stage++;
	}
	if (rc < 0)
		return rc;
	*more = rc > 0;
	if (!*more) {
		gone->is_too_big = r->is_pressed;
		r->stage = 0;
	}
	if (!st->is_trial && store_wal_bytes(st) >= LOG_BYTES)
		(void)!store_checkpoint_log(st, NULL);
	return 0;
}

int store_try_only(struct store *st, struct weft_err *err)
{
	/* What sealing writes stays: it changes nothing of what there is. */
	int rc = seal_tail(st, err);

	if (!rc)
		rc = conn_exec(&st->conn, temp_tables, err);
	if (!rc)
		rc = conn_begin(&st->conn, err);
	st->is_trial = !rc;
	return rc;
}

int store_compact_if_needed(struct store *st, bool *is_needed,
			    struct weft_err *err)
{
	int64_t mode;
	int rc = conn_int(&st->conn, "PRAGMA auto_vacuum", &mode, err);

	*is_needed = !rc && mode != 2;
	st->is_to_compact = *is_needed && !st->is_trial;
	return rc;
}

/* ---- pins */

/* The trace whose ID begins with text. */
static int find_pinned(struct store *st, const char *text, int64_t *trace,
		       char hex[STORE_HEX_SIZE], struct weft_err *err)
{
	char low[STORE_HEX_SIZE] = "", high[STORE_HEX_SIZE + 1];
	size_t n = strlen(text);
	sqlite3_stmt *stmt;
	int rc, found = 0;

	if (n < 8 || n > 32 || strspn(text, "0123456789abcdefABCDEF") != n)
		return weft_fail(err, -EINVAL,
				 "'%s' is not a trace ID: give 8 to 32 "
				 "hexadecimal digits, as `weft traces` prints "
				 "them",
				 text);
	for (size_t i = 0; i < n; i++)
		low[i] = text[i] >= 'A' && text[i] <= 'F'
				 ? (char)(text[i] - 'A' + 'a')
				 : text[i];
	snprintf(high, sizeof(high), "%sg", low);
	rc = store_stmt(st, STORE_SQL_PIN_FIND, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_text(stmt, 1, low, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 2, high, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW && !found++) {
		*trace = sqlite3_column_int64(stmt, 0);
		snprintf(hex, STORE_HEX_SIZE, "%s",
			 (const char *)sqlite3_column_text(stmt, 1));
	}
	if (rc == SQLITE_ROW)
		rc = weft_fail(err, -EINVAL,
			       "several trace IDs in '%s' begin with %s: give "
			       "more of it",
			       st->path, low);
	else if (rc != SQLITE_DONE)
		rc = conn_fail(&st->conn, rc, "read", err);
	else
		rc = found ? 0
			   : weft_fail(err, -ENODATA,
				       "no trace in '%s' has the ID %s: `weft "
				       "traces` lists them",
				       st->path, low);
	sqlite3_reset(stmt);
	return rc;
}

int store_pin(struct store *st, const char *text, bool is_pinned,
	      uint64_t now_ns, char hex[STORE_HEX_SIZE], struct weft_err *err)
{
	int64_t values[2] = { 0, (int64_t)now_ns };
	int rc = find_pinned(st, text, &values[0], hex, err);

	if (rc)
		return rc;
	return is_pinned ? retain_run(st, STORE_SQL_PIN_ADD, values, 2, err)
			 : retain_run(st, STORE_SQL_PIN_REMOVE, values, 1, err);
}

int store_each_pin(struct store *st,
		   void (*fn)(void *ctx, const struct store_pinned *pin),
		   void *ctx, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_PIN_LIST, &stmt, err);

	if (rc)
		return rc;
	while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct store_pinned pin = {
			.hex = (const char *)sqlite3_column_text(stmt, 0),
			.pinned_ns = (uint64_t)sqlite3_column_int64(stmt, 1),
			.samples = (uint64_t)sqlite3_column_int64(stmt, 2),
			.spans = (uint64_t)sqlite3_column_int64(stmt, 3),
		};

		fn(ctx, &pin);
	}
	rc = rc == SQLITE_DONE ? 0 : conn_fail(&st->conn, rc, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

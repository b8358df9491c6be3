/* SPDX-License-Identifier: MIT */
/* Spans: what programs say of their requests, beside what was sampled. */
#include <errno.h>
#include <string.h>

#include "store/inside.h"

static const char *const kind_words[STORE_SPAN_KINDS] = {
	NULL, "internal", "server", "client", "producer", "consumer",
};

static const char *const status_words[STORE_SPAN_STATUSES] = {
	"unset",
	"ok",
	"error",
};

static int check_spans(const struct store_span *spans, size_t n,
		       size_t text_size, struct weft_err *err)
{
	size_t limit = text_size ? text_size : 1;

	for (size_t i = 0; i < n; i++) {
		if (spans[i].service >= limit || spans[i].name >= limit ||
		    spans[i].attributes >= limit ||
		    spans[i].kind >= STORE_SPAN_KINDS ||
		    spans[i].status >= STORE_SPAN_STATUSES)
			return weft_fail(err, -EINVAL,
					 "bad spans: span %zu leads out of "
					 "them",
					 i);
	}
	return 0;
}

/* A trace that has spans and, so far, no samples. */
static int add_trace(struct store *st, int64_t id, const uint8_t trace_id[16],
		     struct weft_err *err)
{
	sqlite3_stmt *add;
	int rc = store_stmt(st, STORE_SQL_TRACE_ADD, &add, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(add, 1, id);
	sqlite3_bind_blob(add, 2, trace_id, 16, SQLITE_STATIC);
	sqlite3_bind_int64(add, 3, 0);
	sqlite3_bind_double(add, 4, 0);
	sqlite3_bind_double(add, 5, 0);
	/* Samples that come later make these smaller and larger. */
	sqlite3_bind_int64(add, 6, INT64_MAX);
	sqlite3_bind_int64(add, 7, 0);
	return store_run(st, add, err);
}

static void bind_word(sqlite3_stmt *stmt, int column, const char *word)
{
	if (word)
		sqlite3_bind_text(stmt, column, word, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, column);
}

static void bind_time(sqlite3_stmt *stmt, int column, uint64_t ns)
{
	if (ns)
		sqlite3_bind_int64(stmt, column, (int64_t)ns);
	else
		sqlite3_bind_null(stmt, column);
}

static int add_span(struct store *st, int64_t trace,
		    const struct store_span *span, const char *text,
		    struct weft_err *err)
{
	sqlite3_stmt *add;
	int rc = store_stmt(st, STORE_SQL_SPAN_ADD, &add, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(add, 1, trace);
	sqlite3_bind_blob(add, 2, span->span_id, sizeof(span->span_id),
			  SQLITE_STATIC);
	if (span->has_parent)
		sqlite3_bind_blob(add, 3, span->parent_span_id,
				  sizeof(span->parent_span_id), SQLITE_STATIC);
	else
		sqlite3_bind_null(add, 3);
	bind_text(add, 4, text, span->service);
	bind_text(add, 5, text, span->name);
	bind_word(add, 6, kind_words[span->kind]);
	bind_time(add, 7, span->start_ns);
	bind_time(add, 8, span->end_ns);
	bind_word(add, 9, status_words[span->status]);
	bind_text(add, 10, text, span->attributes);
	return store_run(st, add, err);
}

static int write_spans(struct store *st, const struct store_span *spans,
		       size_t n, const char *text, struct weft_err *err)
{
	int64_t next = st->trace.next;

	for (size_t i = 0; i < n; i++) {
		int64_t trace;
		int rc = intern_trace(st, spans[i].trace_id, &trace, err);

		if (!rc && trace == next)
			rc = add_trace(st, next++, spans[i].trace_id, err);
		if (!rc)
			rc = add_span(st, trace, &spans[i], text, err);
		if (rc)
			return rc;
	}
	return 0;
}

int store_write_spans(struct store *st, const struct store_span *spans,
		      size_t n, const char *text, size_t text_size,
		      size_t *added, struct weft_err *err)
{
	struct intern_mark mark = intern_mark(st);
	int changes = 0;
	int rc = batch_check_text(text, text_size, err);

	*added = 0;
	if (!rc)
		rc = check_spans(spans, n, text_size, err);
	if (!rc)
		rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	changes = sqlite3_total_changes(st->conn.db);
	rc = write_spans(st, spans, n, text, err);
	changes = sqlite3_total_changes(st->conn.db) - changes;
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc) {
		conn_rollback(&st->conn);
		intern_forget(st, mark);
		return rc;
	}
	*added = (size_t)changes - (size_t)(st->trace.next - mark.trace);
	return 0;
}

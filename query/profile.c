/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include "query/profile.h"

enum {
	TRACE_BYTES = 16,
	SPAN_BYTES = 8
};

static enum query_sql statement(const struct report *r, bool of_trace,
				enum profile_form form,
				enum profile_order order)
{
	if (form == PROFILE_SHAPE)
		return r->range.is_whole ? QUERY_SQL_PROFILE_SHAPE_WHOLE
					 : QUERY_SQL_PROFILE_SHAPE_PART;
	if (order == PROFILE_BY_TIME)
		return of_trace ? QUERY_SQL_PROFILE_TRACE_TIME
				: QUERY_SQL_PROFILE_DETAIL_TIME;
	return of_trace ? QUERY_SQL_PROFILE_TRACE_STACK
			: QUERY_SQL_PROFILE_DETAIL_STACK;
}

/* An ID of that many bytes; another length, and zeros, are none. */
static const unsigned char *id(sqlite3_stmt *stmt, int column, int size)
{
	const unsigned char *bytes = sqlite3_column_blob(stmt, column);
	int i;

	if (!bytes || sqlite3_column_bytes(stmt, column) != size)
		return NULL;
	for (i = 0; i < size; i++)
		if (bytes[i])
			return bytes;
	return NULL;
}

static void read_sample(struct profile_sample *s, sqlite3_stmt *stmt,
			enum profile_form form)
{
	*s = (struct profile_sample){
		.process = {
			.id = sqlite3_column_int64(stmt, 0),
			.pid = sqlite3_column_int64(stmt, 1),
			.comm = db_text(stmt, 2),
			.exe = db_text(stmt, 3),
			.service = db_text(stmt, 4),
		},
		.stack_id = sqlite3_column_int64(stmt, 5),
		.count = (uint64_t)sqlite3_column_int64(stmt, 6),
		.value = sqlite3_column_int64(stmt, 7),
		.weight = 1,
		.thread = "",
	};
	if (form == PROFILE_SHAPE)
		return;
	s->weight = db_weight(stmt, 8);
	s->tid = sqlite3_column_int64(stmt, 9);
	s->thread = db_text(stmt, 10);
	s->cpu = sqlite3_column_int64(stmt, 11);
	s->unix_ns = db_time(stmt, 12);
	s->trace = id(stmt, 13, TRACE_BYTES);
	s->span = id(stmt, 14, SPAN_BYTES);
}

static int ask_part(const struct report *r, size_t part,
		    const struct profile_choice *choice, enum query_sql id_,
		    sqlite3_stmt **stmt, struct weft_err *err)
{
	int rc = report_query(r, part, choice->pid, id_, stmt, err);

	if (rc)
		return rc;
	if (choice->trace)
		sqlite3_bind_int64(*stmt, 5, choice->trace);
	return 0;
}

int profile_walk(const struct report *r, const struct frames *frames,
		 const struct profile_choice *choice, enum profile_form form,
		 enum profile_order order, profile_fn *fn, void *ctx,
		 struct weft_err *err)
{
	uint32_t stack[FRAMES_DEPTH_MAX + 1];
	struct profile_sample sample;
	sqlite3_stmt *stmt;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < r->range.n_parts; i++) {
		rc = ask_part(r, i, choice,
			      statement(r, choice->trace, form, order), &stmt,
			      err);
		while (!rc && (rc = db_step(r->db, stmt, err)) > 0) {
			read_sample(&sample, stmt, form);
			sample.frames = stack;
			sample.n_frames =
				frames_of_stack(frames, sample.stack_id, stack);
			rc = fn(ctx, &sample, err);
		}
	}
	return rc;
}

int profile_any(const struct report *r, const struct profile_choice *choice,
		enum profile_form form, struct weft_err *err)
{
	enum query_sql ask = form == PROFILE_SHAPE ? QUERY_SQL_PROFILE_ANY_SHAPE
			     : choice->trace       ? QUERY_SQL_PROFILE_ANY_TRACE
					     : QUERY_SQL_PROFILE_ANY_DETAIL;
	sqlite3_stmt *stmt;
	int64_t any;
	size_t i;
	int rc;

	for (i = 0; i < r->range.n_parts; i++) {
		rc = ask_part(r, i, choice, ask, &stmt, err);
		if (rc)
			return rc;
		any = db_ask(r->db, stmt, err);
		if (any)
			return any < 0 ? (int)any : 1;
	}
	return 0;
}

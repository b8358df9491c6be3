/* SPDX-License-Identifier: MIT */
/* What the writer of names reads of its own file. */
#include "store/inside.h"

static const char *text_of(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

int store_each_frame(struct store *st, store_frame_fn *fn, void *ctx,
		     struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc, step, told = 0;

	rc = store_stmt(st, STORE_SQL_FRAME_KNOWN, &stmt, err);
	if (rc)
		return rc;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && !told) {
		struct store_known_frame frame = {
			.id = sqlite3_column_int64(stmt, 0),
			.address = (uint64_t)sqlite3_column_int64(stmt, 1),
			.binary_id = sqlite3_column_int64(stmt, 2),
			.path = text_of(stmt, 3),
			.build_id = text_of(stmt, 4),
			.identity = text_of(stmt, 5),
			.levels = (uint32_t)sqlite3_column_int64(stmt, 6),
			.name = text_of(stmt, 7),
			.source = text_of(stmt, 8),
			.has_lines = sqlite3_column_int(stmt, 9),
		};

		told = fn(ctx, &frame);
	}
	if (!told && step != SQLITE_DONE)
		told = conn_fail(&st->conn, step, "read", err);
	sqlite3_reset(stmt);
	return told;
}

int store_read_segments(struct store *st, int64_t binary_id,
			struct store_segment *out, size_t max, size_t *n,
			struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc, step;

	*n = 0;
	rc = store_stmt(st, STORE_SQL_SEGMENTS_OF, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, binary_id);
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW && *n < max)
		out[(*n)++] = (struct store_segment){
			.file_offset = (uint64_t)sqlite3_column_int64(stmt, 0),
			.size = (uint64_t)sqlite3_column_int64(stmt, 1),
			.address = (uint64_t)sqlite3_column_int64(stmt, 2),
		};
	if (step != SQLITE_DONE && step != SQLITE_ROW)
		rc = conn_fail(&st->conn, step, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* What frames are, once it is known: names, and where the code of files
 * lies. */
#include <errno.h>

#include "gen/store_sql.h"
#include "store/inside.h"

static int check_names(const struct store *st, const struct store_name *names,
		       size_t n, size_t text_size, struct weft_err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (names[i].frame_id < 1 ||
		    names[i].frame_id >= st->frame.next ||
		    names[i].name >= (text_size ? text_size : 1) ||
		    names[i].linkage_name >= (text_size ? text_size : 1) ||
		    names[i].file >= (text_size ? text_size : 1) ||
		    names[i].source >= (text_size ? text_size : 1))
			return weft_fail(err, -EINVAL,
					 "bad names: name %zu leads out of "
					 "them",
					 i);
	}
	return 0;
}

static int find_function(struct store *st, const struct store_name *name,
			 const char *text, int64_t *out, struct weft_err *err)
{
	sqlite3_stmt *find, *add;
	int rc;

	rc = store_stmt(st, STORE_SQL_FUNCTION_FIND, &find, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_FUNCTION_ADD, &add, err);
	if (rc)
		return rc;
	bind_text_or_empty(find, 1, text, name->name);
	bind_text(find, 2, text, name->linkage_name);
	bind_text(find, 3, text, name->file);
	bind_text_or_empty(find, 4, text, name->source);
	rc = store_find(st, find, out, err);
	if (rc || *out)
		return rc;
	bind_text_or_empty(add, 1, text, name->name);
	bind_text(add, 2, text, name->linkage_name);
	bind_text(add, 3, text, name->file);
	bind_if(add, 4, name->function_line != 0, name->function_line);
	bind_text_or_empty(add, 5, text, name->source);
	rc = store_run(st, add, err);
	*out = sqlite3_last_insert_rowid(st->conn.db);
	return rc;
}

static int write_name(struct store *st, const struct store_name *name,
		      const char *text, struct weft_err *err)
{
	int64_t function_id;
	sqlite3_stmt *stmt;
	int rc;

	rc = find_function(st, name, text, &function_id, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_FRAME_FUNCTION_ADD, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, name->frame_id);
	sqlite3_bind_int64(stmt, 2, name->inline_depth);
	sqlite3_bind_int64(stmt, 3, function_id);
	bind_if(stmt, 4, name->line != 0, name->line);
	return store_run(st, stmt, err);
}

/* Take away the names that the frames have. */
static int drop_names(struct store *st, const struct store_name *names,
		      size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_FRAME_FUNCTION_DROP, &stmt, err);
	for (i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, names[i].frame_id);
		rc = store_run(st, stmt, err);
	}
	return rc;
}

static int write_names(struct store *st, const struct store_name *names,
		       size_t n, const char *text, size_t text_size,
		       bool replace, struct weft_err *err)
{
	size_t i;
	int rc;

	rc = batch_check_text(text, text_size, err);
	if (!rc)
		rc = check_names(st, names, n, text_size, err);
	if (!rc)
		rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	if (replace)
		rc = drop_names(st, names, n, err);
	for (i = 0; i < n && !rc; i++)
		rc = write_name(st, &names[i], text, err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc)
		conn_rollback(&st->conn);
	return rc;
}

int store_write_segments(struct store *st, const struct store_segment *segments,
			 size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	rc = store_stmt(st, STORE_SQL_SEGMENT_ADD, &stmt, err);
	if (!rc)
		rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	for (i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, segments[i].frame_id);
		sqlite3_bind_int64(stmt, 2, (int64_t)segments[i].file_offset);
		sqlite3_bind_int64(stmt, 3, (int64_t)segments[i].size);
		sqlite3_bind_int64(stmt, 4, (int64_t)segments[i].address);
		rc = store_run(st, stmt, err);
	}
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc)
		conn_rollback(&st->conn);
	return rc;
}

int store_write_names(struct store *st, const struct store_name *names,
		      size_t n, const char *text, size_t text_size,
		      struct weft_err *err)
{
	return write_names(st, names, n, text, text_size, false, err);
}

int store_replace_names(struct store *st, const struct store_name *names,
			size_t n, const char *text, size_t text_size,
			struct weft_err *err)
{
	return write_names(st, names, n, text, text_size, true, err);
}

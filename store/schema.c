/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/inside.h"
#include "store/schema.h"
#include "store/schema_text.h"

static int fail_differs(const char *path, const char *what, const char *name,
			struct weft_err *err)
{
	return weft_fail(err, -EPROTO,
			 "'%s' is not as weft makes its files (%s %s): it is "
			 "damaged, or was made to mislead; `sqlite3` can look "
			 "into it",
			 path, what, name);
}

static int no_memory(const char *path, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "cannot read '%s': no memory", path);
}

static int check_triggers(const struct conn *file, struct weft_err *err)
{
	int64_t triggers;
	int rc = conn_int(file,
			  "SELECT count(*) FROM sqlite_schema"
			  " WHERE type = 'trigger'",
			  &triggers, err);

	return !rc && triggers
		       ? fail_differs(file->path, "it has", "triggers", err)
		       : rc;
}

/* The statement that made what has that name in the file; NULL where there is
 * none, or it is of another type. Borrowed from have. */
static const char *find_sql(sqlite3_stmt *have, const char *type,
			    const char *name)
{
	const char *sql;

	sqlite3_reset(have);
	sqlite3_bind_text(have, 1, type, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(have, 2, name, -1, SQLITE_TRANSIENT);
	if (sqlite3_step(have) != SQLITE_ROW)
		return NULL;
	sql = (const char *)sqlite3_column_text(have, 0);
	return sql ? sql : "";
}

/* Prepare find_sql(). */
static int prepare_find(const struct conn *file, sqlite3_stmt **have,
			struct weft_err *err)
{
	int rc = sqlite3_prepare_v2(file->db,
				    "SELECT sql FROM main.sqlite_schema WHERE"
				    " type = ?1 AND name = ?2 COLLATE NOCASE",
				    -1, have, NULL);

	return rc ? conn_fail(file, rc, "read", err) : 0;
}

static int check_tables(const struct schema_text *own, const struct conn *file,
			struct weft_err *err)
{
	sqlite3_stmt *have = NULL;
	const char *sql;
	int rc = prepare_find(file, &have, err);

	for (size_t i = 0; i < own->n && !rc; i++) {
		const struct schema_statement *want = &own->rows[i];

		sql = find_sql(have, "table", want->name);
		if (!sql)
			rc = fail_differs(file->path, "it lacks the table",
					  want->name, err);
		else if (!schema_text_is_same(sql, want->sql))
			rc = fail_differs(file->path, "by its table",
					  want->name, err);
	}
	sqlite3_finalize(have);
	return rc;
}

int schema_check(sqlite3 *db, const char *path, int version,
		 struct weft_err *err)
{
	struct conn file = { .db = db, .path = path };
	struct schema_text own = { 0 };
	int rc = check_triggers(&file, err);

	if (!rc && schema_text_tables(&own, version))
		rc = no_memory(path, err);
	if (!rc)
		rc = check_tables(&own, &file, err);
	schema_text_release(&own);
	return rc;
}

static bool has_view(sqlite3_stmt *have, const struct schema_statement *own)
{
	const char *sql = find_sql(have, "view", own->name);

	return sql && schema_text_is_same(sql, own->sql);
}

/* Are the file's views ours, of which the first is `sample`? */
static int has_own_views(const struct conn *file, const struct schema_text *own,
			 bool has_tail, bool *out, struct weft_err *err)
{
	struct schema_text tail = { 0 };
	sqlite3_stmt *have;
	int rc = prepare_find(file, &have, err);

	if (rc)
		return rc;
	*out = has_view(have, &own->rows[0]);
	/* A closed file may still have the form of one that is written. */
	if (!*out && !has_tail) {
		if (schema_text_sample(&tail, true))
			rc = no_memory(file->path, err);
		else
			*out = has_view(have, &tail.rows[0]);
		schema_text_release(&tail);
	}
	for (size_t i = 1; i < own->n && *out; i++)
		*out = has_view(have, &own->rows[i]);
	sqlite3_finalize(have);
	return rc;
}

/* Make a view of ours as a temporary one. */
static int shadow(const struct conn *file, const char *sql,
		  struct weft_err *err)
{
	static const char create[] = "CREATE VIEW ";
	char *own;
	int rc;

	own = sqlite3_mprintf("CREATE TEMP VIEW %s", sql + sizeof(create) - 1);
	rc = own ? conn_exec(file, own, err) : no_memory(file->path, err);
	sqlite3_free(own);
	return rc;
}

int schema_use_own_views(sqlite3 *db, const char *path, struct weft_err *err)
{
	struct conn file = { .db = db, .path = path };
	struct schema_text own = { 0 };
	bool is_ours = false;
	int64_t has_tail;
	int rc = conn_int(&file, "SELECT EXISTS (SELECT 1 FROM sample_tail)",
			  &has_tail, err);

	if (!rc && (schema_text_sample(&own, has_tail != 0) ||
		    schema_text_views(&own)))
		rc = no_memory(path, err);
	if (!rc)
		rc = has_own_views(&file, &own, has_tail != 0, &is_ours, err);
	for (size_t i = 0; i < own.n && !rc && !is_ours; i++)
		rc = shadow(&file, own.rows[i].sql, err);
	schema_text_release(&own);
	return rc;
}

int schema_make_views(const struct conn *conn, bool has_tail,
		      struct weft_err *err)
{
	struct schema_text sample = { 0 };
	int rc = schema_text_sample(&sample, has_tail)
			 ? no_memory(conn->path, err)
			 : conn_exec(conn, "DROP VIEW IF EXISTS sample", err);

	if (!rc)
		rc = conn_exec(conn, sample.rows[0].sql, err);
	schema_text_release(&sample);
	return rc ? rc : conn_exec(conn, store_views_text, err);
}

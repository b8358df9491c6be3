/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/inside.h"
#include "store/schema.h"

static const char *skip_blanks(const char *sql)
{
	const char *end;

	for (;;) {
		sql += strspn(sql, " \t\r\n\f");
		if (sql[0] == '-' && sql[1] == '-') {
			sql += strcspn(sql, "\n");
		} else if (sql[0] == '/' && sql[1] == '*') {
			end = strstr(sql + 2, "*/");
			sql = end ? end + 2 : sql + strlen(sql);
		} else {
			return sql;
		}
	}
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Are two statements the same, but for comments and blanks? */
static bool is_same(const char *a, const char *b)
{
	char quote = 0, before = 0;

	for (;; before = *a++, b++) {
		const char *from_a = a, *from_b = b;

		if (!quote) {
			a = skip_blanks(a);
			b = skip_blanks(b);
		}
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		/* One word is not two. */
		if ((a == from_a) != (b == from_b) && is_word(before) &&
		    is_word(*a))
			return false;
		if (quote)
			quote = *a == quote ? 0 : quote;
		else if (strchr("'\"`", *a))
			quote = *a;
	}
}

static int fail_differs(const char *path, const char *what, const char *name,
			struct weft_err *err)
{
	return weft_fail(err, -EPROTO,
			 "'%s' is not as weft makes its files (%s %s): it is "
			 "damaged, or was made to mislead; `sqlite3` can look "
			 "into it",
			 path, what, name);
}

static const char *text_of(sqlite3_stmt *row, int column)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	return text ? text : "";
}

/* A connection to a schema of ours of that version, in memory. */
static int open_own(struct conn *own, const char *path, int version,
		    struct weft_err *err)
{
	int rc = conn_open(own, path, CONN_MEMORY, err);

	if (rc)
		return rc;
	rc = conn_migrate(own, 0, version, err);
	if (rc)
		conn_close(own);
	return rc;
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
	sqlite3_reset(have);
	sqlite3_bind_text(have, 1, type, -1, SQLITE_TRANSIENT);
	sqlite3_bind_text(have, 2, name, -1, SQLITE_TRANSIENT);
	return sqlite3_step(have) == SQLITE_ROW ? text_of(have, 0) : NULL;
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

/* Prepare to go through what is ours of that type: name and statement. */
static int prepare_own(const struct conn *own, const char *type,
		       sqlite3_stmt **want, struct weft_err *err)
{
	int rc = sqlite3_prepare_v2(own->db,
				    "SELECT name, sql FROM sqlite_schema"
				    " WHERE type = ?1",
				    -1, want, NULL);

	if (rc)
		return conn_fail(own, rc, "read", err);
	sqlite3_bind_text(*want, 1, type, -1, SQLITE_STATIC);
	return 0;
}

static int check_tables(const struct conn *own, const struct conn *file,
			struct weft_err *err)
{
	sqlite3_stmt *want = NULL, *have = NULL;
	const char *sql;
	int rc = prepare_own(own, "table", &want, err);

	if (!rc)
		rc = prepare_find(file, &have, err);
	while (!rc && sqlite3_step(want) == SQLITE_ROW) {
		sql = find_sql(have, "table", text_of(want, 0));
		if (!sql)
			rc = fail_differs(file->path, "it lacks the table",
					  text_of(want, 0), err);
		else if (!is_same(sql, text_of(want, 1)))
			rc = fail_differs(file->path, "by its table",
					  text_of(want, 0), err);
	}
	sqlite3_finalize(want);
	sqlite3_finalize(have);
	return rc;
}

int schema_check(sqlite3 *db, const char *path, int version,
		 struct weft_err *err)
{
	struct conn own, file = { .db = db, .path = path };
	int rc = check_triggers(&file, err);

	if (!rc)
		rc = open_own(&own, path, version, err);
	if (rc)
		return rc;
	rc = check_tables(&own, &file, err);
	conn_close(&own);
	return rc;
}

/* `sample` has a form for a file that is written, or was left so, and a plain
 * one that lets every query use the indexes: SQLite 3.40 does not push an
 * aggregate into UNION ALL. */
static const char *sample_view(bool has_tail)
{
	return has_tail ? "CREATE VIEW sample AS\n"
			  "  -- detail, all of it: sealed and newest\n"
			  "  SELECT * FROM sample_sealed UNION ALL\n"
			  "  SELECT * FROM sample_tail"
			: "CREATE VIEW sample AS\n"
			  "  -- detail, all of it\n"
			  "  SELECT * FROM sample_sealed";
}

/* A copy of the statement that *rest begins with, without its semicolon, for
 * the caller to free; *rest is what follows. NULL: there is none, or no memory
 * (then *rest stays). */
static char *take_statement(const char **rest)
{
	const char *end = *rest;
	char *sql = NULL;
	bool is_whole;

	while ((end = strchr(end, ';'))) {
		end++;
		sql = strndup(*rest, (size_t)(end - *rest));
		if (!sql)
			return NULL;
		is_whole = sqlite3_complete(sql);
		if (is_whole) {
			sql[end - *rest - 1] = '\0';
			*rest = end;
			return sql;
		}
		free(sql);
	}
	*rest = "";
	return NULL;
}

/* Does the file have the view that this statement makes, made by the same
 * one? Others make none. */
static bool has_view(sqlite3_stmt *have, const char *sql)
{
	static const char create[] = "CREATE VIEW ";
	const char *name = skip_blanks(sql), *found;
	char word[64];
	size_t n = 0;

	if (strncmp(name, create, sizeof(create) - 1) != 0)
		return true;
	name += sizeof(create) - 1;
	while (is_word(name[n]) && n < sizeof(word) - 1)
		n++;
	snprintf(word, sizeof(word), "%.*s", (int)n, name);
	found = find_sql(have, "view", word);
	return found && is_same(found, sql);
}

/*
 * Are the file's views ours? Their statements are compared as they stand:
 * having SQLite make them in another place, to see what it keeps, costs more
 * than most questions. Returns 1, 0, or a negative errno.
 */
static int has_own_views(const struct conn *file, bool has_tail,
			 struct weft_err *err)
{
	const char *rest = store_views_text;
	sqlite3_stmt *have;
	bool is_ours;
	char *sql;
	int rc = prepare_find(file, &have, err);

	if (rc)
		return rc;
	/* A closed file may still have the form of one that is written. */
	is_ours = has_view(have, sample_view(true)) ||
		  (!has_tail && has_view(have, sample_view(false)));
	while (is_ours && (sql = take_statement(&rest))) {
		is_ours = has_view(have, sql);
		free(sql);
	}
	sqlite3_finalize(have);
	if (is_ours && *rest)
		return weft_fail(err, -ENOMEM, "cannot read '%s': no memory",
				 file->path);
	return is_ours;
}

/* Make a view of ours as a temporary one; sql as SQLite keeps it. */
static int shadow(const struct conn *file, const char *sql,
		  struct weft_err *err)
{
	static const char create[] = "CREATE VIEW ";
	char *own;
	int rc;

	own = sqlite3_mprintf("CREATE TEMP VIEW %s", sql + sizeof(create) - 1);
	rc = own ? conn_exec(file, own, err)
		 : weft_fail(err, -ENOMEM, "cannot read '%s': no memory",
			     file->path);
	sqlite3_free(own);
	return rc;
}

static int shadow_views(const struct conn *file, bool has_tail,
			struct weft_err *err)
{
	struct conn own;
	sqlite3_stmt *want = NULL;
	int rc = open_own(&own, file->path, 0, err);

	if (rc)
		return rc;
	rc = schema_make_views(&own, has_tail, err);
	if (!rc)
		rc = prepare_own(&own, "view", &want, err);
	while (!rc && sqlite3_step(want) == SQLITE_ROW)
		rc = shadow(file, text_of(want, 1), err);
	sqlite3_finalize(want);
	conn_close(&own);
	return rc;
}

int schema_use_own_views(sqlite3 *db, const char *path, struct weft_err *err)
{
	struct conn file = { .db = db, .path = path };
	int64_t has_tail;
	int rc = conn_int(&file, "SELECT EXISTS (SELECT 1 FROM sample_tail)",
			  &has_tail, err);

	if (!rc)
		rc = has_own_views(&file, has_tail != 0, err);
	if (rc < 0)
		return rc;
	return rc ? 0 : shadow_views(&file, has_tail != 0, err);
}

int schema_make_views(const struct conn *conn, bool has_tail,
		      struct weft_err *err)
{
	int rc = conn_exec(conn, "DROP VIEW IF EXISTS sample", err);

	if (!rc)
		rc = conn_exec(conn, sample_view(has_tail), err);
	return rc ? rc : conn_exec(conn, store_views_text, err);
}

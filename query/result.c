/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/csv.h"
#include "query/result.h"
#include "query/table.h"

/* A result, collected so that printing it holds up nobody. */
struct result {
	struct table *table; /* owned */
	struct table_column columns[TABLE_COLUMNS_MAX];
	char titles[TABLE_COLUMNS_MAX][128];
};

/* The text of a value that is not NULL, of a blob its hexadecimal digits, which
 * are *owned by the caller then. NULL: out of memory. */
static const char *text_of(sqlite3_stmt *stmt, int column, char **owned,
			   size_t *size)
{
	const void *blob;
	const char *text;

	*owned = NULL;
	if (sqlite3_column_type(stmt, column) != SQLITE_BLOB) {
		text = (const char *)sqlite3_column_text(stmt, column);
		*size = (size_t)sqlite3_column_bytes(stmt, column);
		return text;
	}
	blob = sqlite3_column_blob(stmt, column);
	*size = 2 * (size_t)sqlite3_column_bytes(stmt, column);
	*owned = malloc(*size + 1);
	if (*owned)
		weft_hex(*owned, blob, *size / 2);
	return *owned;
}

static int add_value(struct table *t, sqlite3_stmt *stmt, int column)
{
	const char *text;
	size_t size;
	char *owned;

	if (sqlite3_column_type(stmt, column) == SQLITE_NULL) {
		table_text(t, "NULL");
		return 0;
	}
	text = text_of(stmt, column, &owned, &size);
	if (!text)
		return -ENOMEM;
	table_bytes(t, text, size);
	free(owned);
	return 0;
}

static int json_value(struct json *j, sqlite3_stmt *stmt, int column)
{
	const char *text;
	size_t size;
	char *owned;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		json_null(j, NULL);
		return 0;
	case SQLITE_INTEGER:
		json_int(j, NULL, sqlite3_column_int64(stmt, column));
		return 0;
	case SQLITE_FLOAT:
		json_real(j, NULL, sqlite3_column_double(stmt, column));
		return 0;
	default:
		text = text_of(stmt, column, &owned, &size);
		if (!text)
			return -ENOMEM;
		json_bytes(j, NULL, text, size);
		free(owned);
		return 0;
	}
}

static int csv_value(struct csv *c, sqlite3_stmt *stmt, int column)
{
	const char *text;
	size_t size;
	char *owned;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		csv_null(c);
		return 0;
	case SQLITE_INTEGER:
		csv_int(c, sqlite3_column_int64(stmt, column));
		return 0;
	case SQLITE_FLOAT:
		csv_real(c, sqlite3_column_double(stmt, column));
		return 0;
	default:
		text = text_of(stmt, column, &owned, &size);
		if (!text)
			return -ENOMEM;
		csv_text(c, text, size);
		free(owned);
		return 0;
	}
}

int result_csv(struct db *db, sqlite3_stmt *stmt, FILE *to,
	       struct weft_err *err)
{
	int n = sqlite3_column_count(stmt);
	struct csv c = { .to = to };
	const char *name;
	int i, rc;

	for (i = 0; i < n; i++) {
		name = sqlite3_column_name(stmt, i);
		csv_text(&c, name ? name : "", name ? strlen(name) : 0);
	}
	csv_end(&c);
	while ((rc = db_step(db, stmt, err)) > 0) {
		for (i = 0; i < n; i++)
			if (csv_value(&c, stmt, i))
				return weft_fail(err, -ENOMEM, "out of memory");
		csv_end(&c);
	}
	return rc;
}

static void set_titles(struct result *r, sqlite3_stmt *stmt, int n)
{
	const char *name;
	int i;

	for (i = 0; i < n; i++) {
		name = sqlite3_column_name(stmt, i);
		weft_sanitize(r->titles[i], sizeof(r->titles[i]),
			      name ? name : "", name ? strlen(name) : 0);
		r->columns[i] =
			(struct table_column){ r->titles[i], TABLE_CUT_END };
	}
}

static int collect(struct result *r, struct db *db, sqlite3_stmt *stmt, int n,
		   struct weft_err *err)
{
	int i, rc;

	while ((rc = db_step(db, stmt, err)) > 0)
		for (i = 0; i < n; i++) {
			if (table_rows(r->table) == 0 &&
			    sqlite3_column_type(stmt, i) <= SQLITE_FLOAT)
				r->columns[i].fit = TABLE_RIGHT;
			if (add_value(r->table, stmt, i))
				return weft_fail(err, -ENOMEM, "out of memory");
		}
	return rc;
}

int result_print(struct db *db, sqlite3_stmt *stmt, FILE *to,
		 struct weft_err *err)
{
	struct result *r = calloc(1, sizeof(*r));
	int n = sqlite3_column_count(stmt);
	int rc;

	if (r)
		r->table = table_new(r->columns, (size_t)n);
	if (!r || !r->table) {
		free(r);
		return weft_fail(err, -ENOMEM, "out of memory");
	}
	set_titles(r, stmt, n);
	rc = collect(r, db, stmt, n, err);
	if (!rc && table_print(r->table, to, table_width(), table_may_colour()))
		rc = weft_fail(err, -ENOMEM, "out of memory for the result");
	table_free(r->table);
	free(r);
	return rc;
}

int result_json(struct db *db, sqlite3_stmt *stmt, struct json *j,
		struct weft_err *err)
{
	int n = sqlite3_column_count(stmt);
	int i, rc;

	json_object(j, NULL);
	json_array(j, "columns");
	for (i = 0; i < n; i++)
		json_text(j, NULL, sqlite3_column_name(stmt, i));
	json_end_array(j);
	json_array(j, "rows");
	while ((rc = db_step(db, stmt, err)) > 0) {
		json_array(j, NULL);
		for (i = 0; i < n; i++)
			if (json_value(j, stmt, i))
				return weft_fail(err, -ENOMEM, "out of memory");
		json_end_array(j);
	}
	json_end_array(j);
	json_end_object(j);
	return rc;
}

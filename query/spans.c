/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/spans.h"

int spans_any(struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_SPANS_ANY, &stmt, err);

	return rc ? rc : (int)db_ask(db, stmt, err);
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

int spans_parse_where(struct spans_where *where, const char *text,
		      struct weft_err *err)
{
	const char *key = skip_blanks(text);
	const char *op = key + strcspn(key, "=~!");
	size_t size = (size_t)(op - key);
	bool differs = op[0] == '!' && op[1] == '=';

	if (!*op || !size || (*op == '!' && !differs))
		return weft_fail(err, -E2BIG,
				 "--where '%s' is not KEY = VALUE, KEY != "
				 "VALUE or KEY ~ PATTERN, as in 'http.route = "
				 "/cart'",
				 text);
	while (size && strchr(" \t", key[size - 1]))
		size--;
	/* It becomes a quoted step of a JSON path. */
	if (size >= sizeof(where->key) || memchr(key, '"', size) ||
	    memchr(key, '\\', size))
		return weft_fail(err, -E2BIG,
				 "--where cannot ask for the key '%.*s': it is "
				 "too long, or has a quote in it",
				 (int)size, key);
	snprintf(where->key, sizeof(where->key), "%.*s", (int)size, key);
	where->op = differs      ? SPANS_DIFFERS
		    : *op == '~' ? SPANS_LIKE
				 : SPANS_EQUALS;
	where->value = skip_blanks(op + 1 + differs);
	return 0;
}

int spans_parse_duration(const char *text, int64_t *out_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double number = strtod(text, &end);

	if (end == text || !(number >= 0))
		return -EINVAL;
	end = (char *)skip_blanks(end);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (number * units[i].ns > 9e18)
			return -EINVAL;
		*out_ns = (int64_t)(number * units[i].ns);
		return 0;
	}
	return -EINVAL;
}

bool spans_is_filter(const struct spans_filter *f)
{
	return f->service || f->name || f->min_duration_ns || f->where.op;
}

int spans_find_root(struct db *db, int64_t trace, struct spans_root *out,
		    struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_SPANS_ROOT, &stmt, err);

	*out = (struct spans_root){ .duration_ns = -1 };
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, trace);
	rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	db_copy_text(stmt, 0, out->service, sizeof(out->service));
	db_copy_text(stmt, 1, out->name, sizeof(out->name));
	db_copy_text(stmt, 2, out->status, sizeof(out->status));
	out->start_ns = db_time(stmt, 3);
	if (out->start_ns && db_time(stmt, 4) >= out->start_ns)
		out->duration_ns = db_time(stmt, 4) - out->start_ns;
	return 1;
}

int spans_match(struct db *db, const struct spans_filter *f, int64_t trace,
		const struct spans_root *root, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	if ((f->service && strcmp(f->service, root->service) != 0) ||
	    (f->name && strcmp(f->name, root->name) != 0) ||
	    (f->min_duration_ns && root->duration_ns < f->min_duration_ns))
		return 0;
	if (!f->where.op)
		return 1;
	rc = db_query(db, QUERY_SQL_SPANS_HAS, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, trace);
	sqlite3_bind_text(stmt, 2, f->where.key, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, f->where.value, -1, SQLITE_STATIC);
	sqlite3_bind_int(stmt, 4, (int)f->where.op);
	return (int)db_ask(db, stmt, err);
}

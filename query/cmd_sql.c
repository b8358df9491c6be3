/* SPDX-License-Identifier: MIT */
/* weft sql: ask the file in SQL, or one of the questions in named.sql. */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/cmd.h"
#include "query/report.h"
#include "query/sql_functions.h"

enum {
	MAX_OPERANDS = 32,
	MAX_QUERY_BYTES = 1 << 20
};

static const char named_prefix[] = "ask_";

struct sql_opts {
	struct cli_common common;
	bool list;
};

static const struct cli_option options[] = {
	{ "list", 'l', NULL, "list the named queries", CLI_FLAG,
	  offsetof(struct sql_opts, list) },
};

static const struct cli_command command = {
	.name = "sql",
	.operands = "[QUERY | @NAME [KEY=VALUE...]]",
	.about = "Ask the file a question in SQL, which can read it only. "
		 "Without QUERY it is read\nfrom standard input. @NAME asks a "
		 "question of ours (--list); a KEY=VALUE is bound\nto the "
		 "query's parameter :KEY, @KEY or $KEY. Tables, views and "
		 "their columns:\n`sqlite3 FILE .schema`.\n\n"
		 "Functions: wilson_low(k, n), wilson_high(k, n) of a share, "
		 "poisson_low(k),\npoisson_high(k) of a count (both also with "
		 "'listed' as last argument: of what is\nlisted as it has a "
		 "sample at all), weighted_low(sum, sum_sq, largest),\n"
		 "weighted_high(...) of a sum of weights, all of 95 %; "
		 "trace_hex(blob),\nfolded(stack_id); aggregates "
		 "percentile(x, p), median(x), and percentile_low(x, p),\n"
		 "percentile_high(x, p) where the x are a random sample. "
		 "weft.so brings them into\nother programs: `.load weft` in "
		 "sqlite3.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = MAX_OPERANDS,
	.has_no_range = true,
};

/* A result, collected so that printing it holds up nobody. */
struct result {
	struct table *table; /* owned */
	struct table_column columns[TABLE_COLUMNS_MAX];
	char titles[TABLE_COLUMNS_MAX][128];
};

static bool is_named(size_t id)
{
	return !strncmp(query_sql_name[id], named_prefix,
			sizeof(named_prefix) - 1);
}

static const char *short_name(size_t id)
{
	return query_sql_name[id] + sizeof(named_prefix) - 1;
}

static int list_named(bool as_json)
{
	struct json j = { .to = stdout };
	size_t id;

	if (as_json) {
		json_object(&j, NULL);
		json_text(&j, "report", "sql-list");
		json_array(&j, "queries");
	}
	for (id = 0; id < QUERY_SQL_COUNT; id++) {
		if (!is_named(id))
			continue;
		if (!as_json) {
			printf("@%-16s %s\n", short_name(id),
			       query_sql_help[id]);
			continue;
		}
		json_object(&j, NULL);
		json_text(&j, "name", short_name(id));
		json_text(&j, "question", query_sql_help[id]);
		json_text(&j, "sql", query_sql_text[id]);
		json_end_object(&j);
	}
	if (as_json) {
		json_end_array(&j);
		json_end_object(&j);
	}
	return cli_finish();
}

/* The text of a named query; NULL, with err filled, where there is none. */
static const char *find_named(const char *name, struct weft_err *err)
{
	const char *words[QUERY_SQL_COUNT + 1] = { NULL };
	const char *near;
	size_t id, n = 0;

	for (id = 0; id < QUERY_SQL_COUNT; id++) {
		if (!is_named(id))
			continue;
		if (!strcmp(short_name(id), name))
			return query_sql_text[id];
		words[n++] = short_name(id);
	}
	near = weft_nearest(name, words);
	weft_fail(err, -E2BIG,
		  "no query is named '@%s'%s%s%s (`weft sql --list`)", name,
		  near ? "; did you mean '@" : "", near ? near : "",
		  near ? "'?" : "");
	return NULL;
}

/* Standard input whole; the caller frees it. */
static char *read_query(struct weft_err *err)
{
	char *text = malloc(MAX_QUERY_BYTES + 1);
	size_t n;

	if (!text) {
		weft_fail(err, -ENOMEM, "out of memory");
		return NULL;
	}
	n = fread(text, 1, MAX_QUERY_BYTES + 1, stdin);
	if (ferror(stdin) || n > MAX_QUERY_BYTES) {
		weft_fail(err, ferror(stdin) ? -EIO : -EFBIG,
			  "cannot read the query from standard input: %s",
			  ferror(stdin) ? "input error" : "over 1 MiB");
		free(text);
		return NULL;
	}
	text[n] = '\0';
	return text;
}

/* What a query may do: read this file, and nothing else. */
static int authorize(void *cookie, int action, const char *a, const char *b,
		     const char *database, const char *trigger)
{
	static const char *const harmless[] = {
		"table_info",      "table_xinfo",   "table_list",
		"index_list",      "index_info",    "index_xinfo",
		"compile_options", "function_list", "application_id",
		"user_version",
	};
	bool *refused = cookie;
	size_t i;

	(void)database;
	(void)trigger;
	if (action == SQLITE_SELECT || action == SQLITE_READ ||
	    action == SQLITE_FUNCTION || action == SQLITE_RECURSIVE)
		return SQLITE_OK;
	for (i = 0; action == SQLITE_PRAGMA && i < ARRAY_LEN(harmless); i++)
		if (a && !strcmp(a, harmless[i]) &&
		    (i < ARRAY_LEN(harmless) - 2 || !b))
			return SQLITE_OK;
	*refused = true;
	return SQLITE_DENY;
}

/* Bind a parameter: as a whole number where it is written like one. */
static int bind_value(sqlite3_stmt *stmt, int at, const char *text)
{
	char *end, back[32];
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	snprintf(back, sizeof(back), "%lld", number);
	if (!errno && !strcmp(back, text))
		return sqlite3_bind_int64(stmt, at, number);
	return sqlite3_bind_text(stmt, at, text, -1, SQLITE_TRANSIENT);
}

/* The value of KEY in the operands KEY=VALUE, or NULL. */
static const char *find_value(const char *const *operands, const char *key)
{
	size_t n = strlen(key), i;

	for (i = 0; i < MAX_OPERANDS && operands[i]; i++)
		if (!strncmp(operands[i], key, n) && operands[i][n] == '=')
			return operands[i] + n + 1;
	return NULL;
}

static int bind_all(sqlite3_stmt *stmt, const char *const *operands,
		    struct weft_err *err)
{
	const char *name, *value;
	int at;

	for (at = 1; at <= sqlite3_bind_parameter_count(stmt); at++) {
		name = sqlite3_bind_parameter_name(stmt, at);
		value = name ? find_value(operands, name + 1) : NULL;
		if (!value && name && *name == '$')
			continue; /* it may be left out */
		if (!value)
			return weft_fail(err, -E2BIG,
					 "the query needs a value: give "
					 "%s=VALUE after it",
					 name ? name + 1 : "a named parameter");
		if (bind_value(stmt, at, value))
			return weft_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

/* Every KEY=VALUE must be of use to the statement. */
static int check_operands(sqlite3_stmt *stmt, const char *const *operands,
			  struct weft_err *err)
{
	const char *name, *equals;
	size_t i, size;
	int at;

	for (i = 0; i < MAX_OPERANDS && operands[i]; i++) {
		equals = strchr(operands[i], '=');
		size = equals ? (size_t)(equals - operands[i]) : 0;
		for (at = sqlite3_bind_parameter_count(stmt); at > 0; at--) {
			name = sqlite3_bind_parameter_name(stmt, at);
			if (size && name && strlen(name + 1) == size &&
			    !strncmp(name + 1, operands[i], size))
				break;
		}
		if (at == 0)
			return weft_fail(err, -E2BIG,
					 "'%s' fits no parameter of the query",
					 operands[i]);
	}
	return 0;
}

/* A blob as hexadecimal digits; the caller frees it. NULL: out of memory. */
static char *to_hex(sqlite3_stmt *stmt, int column)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *blob = sqlite3_column_blob(stmt, column);
	size_t n = (size_t)sqlite3_column_bytes(stmt, column), i;
	char *hex = malloc(2 * n + 1);

	for (i = 0; hex && i < n; i++) {
		hex[2 * i] = digits[blob[i] >> 4];
		hex[2 * i + 1] = digits[blob[i] & 15];
	}
	if (hex)
		hex[2 * n] = '\0';
	return hex;
}

static int add_value(struct table *t, sqlite3_stmt *stmt, int column)
{
	const char *text;
	char *hex;

	switch (sqlite3_column_type(stmt, column)) {
	case SQLITE_NULL:
		table_text(t, "NULL");
		return 0;
	case SQLITE_BLOB:
		hex = to_hex(stmt, column);
		if (!hex)
			return -ENOMEM;
		table_text(t, hex);
		free(hex);
		return 0;
	default:
		text = (const char *)sqlite3_column_text(stmt, column);
		if (!text)
			return -ENOMEM;
		table_bytes(t, text,
			    (size_t)sqlite3_column_bytes(stmt, column));
		return 0;
	}
}

static int json_value(struct json *j, sqlite3_stmt *stmt, int column)
{
	const char *text;
	char *hex;

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
	case SQLITE_BLOB:
		hex = to_hex(stmt, column);
		if (!hex)
			return -ENOMEM;
		json_text(j, NULL, hex);
		free(hex);
		return 0;
	default:
		text = (const char *)sqlite3_column_text(stmt, column);
		if (!text)
			return -ENOMEM;
		json_bytes(j, NULL, text,
			   (size_t)sqlite3_column_bytes(stmt, column));
		return 0;
	}
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

static int print_rows(struct db *db, sqlite3_stmt *stmt, FILE *to,
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

static int json_rows(struct db *db, sqlite3_stmt *stmt, struct json *j,
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

/* Prepare the first statement of text; *rest is what follows it. */
static int prepare(struct db *db, const char *text, sqlite3_stmt **stmt,
		   const char **rest, struct weft_err *err)
{
	bool refused = false;
	int result;

	sqlite3_set_authorizer(db_handle(db), authorize, &refused);
	result = sqlite3_prepare_v2(db_handle(db), text, -1, stmt, rest);
	sqlite3_set_authorizer(db_handle(db), NULL, NULL);
	/* what gives no columns is no question */
	if (!result && *stmt && sqlite3_column_count(*stmt) == 0) {
		sqlite3_finalize(*stmt);
		refused = true;
	}
	if (refused)
		return weft_fail(err, -EROFS,
				 "cannot run the query: weft sql only reads "
				 "'%s'; it never changes it or opens another "
				 "file",
				 db_path(db));
	if (result) {
		const char *why = sqlite3_errmsg(db_handle(db));

		return weft_fail(err, -EIO, "cannot run the query: %s%s", why,
				 strncmp(why, "no such ", 8) != 0
					 ? ""
					 : "; the shell's `sqlite3 FILE "
					   ".schema` shows what there is");
	}
	return 0;
}

static int run_one(struct db *db, sqlite3_stmt *stmt,
		   const char *const *operands, struct json *j,
		   struct weft_err *err)
{
	int rc;

	if (sqlite3_column_count(stmt) > TABLE_COLUMNS_MAX)
		return weft_fail(err, -E2BIG, "more than %d columns",
				 TABLE_COLUMNS_MAX);
	rc = check_operands(stmt, operands, err);
	if (!rc)
		rc = bind_all(stmt, operands, err);
	if (rc)
		return rc;
	return j->depth ? json_rows(db, stmt, j, err)
			: print_rows(db, stmt, j->to, err);
}

/* Run the statements of text, one after the other. */
static int run_all(struct db *db, const char *text, const char *const *operands,
		   struct json *j, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t n = 0;
	int rc = 0;

	while (!rc && *text) {
		rc = prepare(db, text, &stmt, &text, err);
		if (rc || !stmt)
			continue; /* blanks or a comment at the end */
		if (n++ > 0 && !j->depth)
			putc('\n', j->to);
		rc = run_one(db, stmt, operands, j, err);
		sqlite3_finalize(stmt);
	}
	if (!rc && n == 0)
		return weft_fail(err, -E2BIG, "the query is empty");
	return rc;
}

static int run_to(FILE *to, const struct sql_opts *opts, const char *text,
		  const char *const *operands, struct weft_err *err)
{
	struct json j = { .to = to };
	struct db *db;
	int rc = db_open(&db, opts->common.input, err);

	if (rc)
		return rc;
	if (opts->common.json) {
		json_object(&j, NULL);
		json_text(&j, "report", "sql");
		json_array(&j, "results");
	}
	if (sql_functions_add(db_handle(db)))
		rc = db_fail(db, "add functions for", err);
	else
		rc = run_all(db, text, operands, &j, err);
	if (opts->common.json && !rc) {
		json_end_array(&j);
		json_end_object(&j);
	}
	db_close(db);
	return rc;
}

/* All of the output is made before any is printed: a damaged file gives no
 * half result, and a slow pipe holds up no writer. */
static int run(const struct sql_opts *opts, const char *text,
	       const char *const *operands, struct weft_err *err)
{
	char *output = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&output, &size);
	int rc;

	if (!to)
		return weft_fail(err, -ENOMEM, "out of memory");
	rc = run_to(to, opts, text, operands, err);
	if (fclose(to) && !rc)
		rc = weft_fail(err, -ENOMEM, "out of memory for the result");
	if (!rc)
		fwrite(output, 1, size, stdout);
	free(output);
	return rc;
}

int cmd_sql(int argc, char **argv)
{
	const char *operands[MAX_OPERANDS + 1] = { NULL };
	struct sql_opts opts = { 0 };
	struct weft_err err = { 0 };
	char *typed = NULL;
	const char *text;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, operands);
	if (rc >= 0)
		return rc;
	if (opts.list)
		return list_named(opts.common.json);
	text = operands[0];
	if (!text && isatty(STDIN_FILENO))
		return cli_usage(&command, "no query");
	if (!text)
		text = typed = read_query(&err);
	else if (*text == '@')
		text = find_named(text + 1, &err);
	if (!text)
		return cli_fail(&err);
	rc = run(&opts, text, operands[0] ? operands + 1 : operands, &err);
	free(typed);
	return rc ? cli_fail(&err) : cli_finish();
}

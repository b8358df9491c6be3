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
#include "query/result.h"
#include "query/sql_functions.h"

enum {
	MAX_OPERANDS = 32,
	MAX_QUERY_BYTES = 1 << 20
};

static const char named_prefix[] = "ask_";

struct sql_opts {
	struct cli_common common;
	bool list;
	const char *format;
};

static const struct cli_option options[] = {
	{ "format", 'f', "FORMAT", "table (default), csv or json", CLI_TEXT,
	  offsetof(struct sql_opts, format) },
	{ "list", 'l', NULL, "list the named queries", CLI_FLAG,
	  offsetof(struct sql_opts, list) },
};

static const struct cli_command command = {
	.name = "sql",
	.operands = "[QUERY | @NAME [KEY=VALUE...]]",
	.about = "Ask the file a question in SQL, which can read it only. "
		 "Without QUERY it is read\nfrom standard input. @NAME asks a "
		 "question of ours (--list); a KEY=VALUE is bound\nto the "
		 "query's parameter :KEY, @KEY or $KEY. CSV is as RFC 4180 "
		 "has it: a heading, CRLF,\nNULL as an empty field; text is "
		 "made safe for terminals. Tables, views and their\ncolumns: "
		 "`sqlite3 FILE .schema`.\n\n"
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

/* Where results go, and as what: JSON where an object of it is open. */
struct output {
	struct json json;
	bool is_csv;
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
		   const char *const *operands, struct output *out,
		   struct weft_err *err)
{
	struct json *j = &out->json;
	int rc;

	if (sqlite3_column_count(stmt) > TABLE_COLUMNS_MAX)
		return weft_fail(err, -E2BIG, "more than %d columns",
				 TABLE_COLUMNS_MAX);
	rc = check_operands(stmt, operands, err);
	if (!rc)
		rc = bind_all(stmt, operands, err);
	if (rc)
		return rc;
	if (out->is_csv)
		return result_csv(db, stmt, j->to, err);
	return j->depth ? result_json(db, stmt, j, err)
			: result_print(db, stmt, j->to, err);
}

/* Run the statements of text, one after the other. */
static int run_all(struct db *db, const char *text, const char *const *operands,
		   struct output *out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t n = 0;
	int rc = 0;

	while (!rc && *text) {
		rc = prepare(db, text, &stmt, &text, err);
		if (rc || !stmt)
			continue; /* blanks or a comment at the end */
		if (n++ > 0 && !out->json.depth)
			fputs(out->is_csv ? "\r\n" : "\n", out->json.to);
		rc = run_one(db, stmt, operands, out, err);
		sqlite3_finalize(stmt);
	}
	if (!rc && n == 0)
		return weft_fail(err, -E2BIG, "the query is empty");
	return rc;
}

static int run_to(FILE *to, const struct sql_opts *opts, const char *text,
		  const char *const *operands, struct weft_err *err)
{
	struct output out = {
		.json = { .to = to },
		.is_csv = opts->format && !strcmp(opts->format, "csv"),
	};
	struct json *j = &out.json;
	struct db *db;
	int rc = db_open(&db, opts->common.input, err);

	if (rc)
		return rc;
	if (opts->common.json) {
		json_object(j, NULL);
		json_text(j, "report", "sql");
		json_array(j, "results");
	}
	if (sql_functions_add(db_handle(db)))
		rc = db_fail(db, "add functions for", err);
	else
		rc = run_all(db, text, operands, &out, err);
	if (opts->common.json && !rc) {
		json_end_array(j);
		json_end_object(j);
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

/* --format json is --json. -1, or the status of a usage error. */
static int choose_format(struct sql_opts *opts)
{
	const char *format = opts->format;

	if (!format || !strcmp(format, "table"))
		return -1;
	if (!strcmp(format, "csv"))
		return opts->common.json
			       ? cli_usage(&command, "--json or --format csv?")
			       : -1;
	if (strcmp(format, "json") != 0)
		return cli_usage(&command,
				 "--format takes table, csv or json, not '%s'",
				 format);
	opts->common.json = true;
	return -1;
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
	rc = choose_format(&opts);
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

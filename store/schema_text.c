/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/store_sql.h"
#include "store/schema_text.h"
#include "store/weft.h"

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

bool schema_text_is_same(const char *a, const char *b)
{
	char quote = 0, before = 0;

	/* Mostly SQLite has kept what it was given. */
	if (!strcmp(a, b))
		return true;
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

/* Does the statement begin with that? Then *rest is what follows. */
static bool begins(const char *sql, const char *with, const char **rest)
{
	size_t n = strlen(with);

	*rest = sql + n;
	return !strncmp(sql, with, n);
}

static size_t word_length(const char *at)
{
	size_t n = 0;

	while (is_word(at[n]))
		n++;
	return n;
}

/*
 * A copy of the statement that *rest begins with, without its semicolon and
 * what stands before it, for the caller to free; *rest is what follows. NULL:
 * there is none, or no memory (then *rest stays).
 */
static char *take_statement(const char **rest)
{
	const char *sql = skip_blanks(*rest), *end = sql;
	char *copy = NULL;
	bool is_whole;

	while ((end = strchr(end, ';'))) {
		end++;
		copy = strndup(sql, (size_t)(end - sql));
		if (!copy)
			return NULL;
		is_whole = sqlite3_complete(copy);
		if (is_whole) {
			copy[end - sql - 1] = '\0';
			*rest = end;
			return copy;
		}
		free(copy);
	}
	*rest = "";
	return NULL;
}

/* Add a statement that makes what at, within it, begins with the name of. It
 * is ours from here on. */
static int add(struct schema_text *t, char *sql, const char *at)
{
	struct schema_statement *rows =
		reallocarray(t->rows, t->n + 1, sizeof(*rows));
	char *name = strndup(at, word_length(at));

	if (rows)
		t->rows = rows;
	if (!rows || !name) {
		free(name);
		free(sql);
		return -ENOMEM;
	}
	rows[t->n++] = (struct schema_statement){ name, sql };
	return 0;
}

static bool is_constraint(const char *at)
{
	static const char *const words[] = { "PRIMARY", "UNIQUE", "CHECK",
					     "FOREIGN", "CONSTRAINT" };
	size_t n = word_length(at);

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == n && !strncmp(at, words[i], n))
			return true;
	return false;
}

/* Where SQLite puts a column that is added to a table: after the last one,
 * before what the statement says of the whole table. */
static size_t place_of_column(const char *sql)
{
	const char *at = sql;
	int depth = 0;

	for (; *(at = skip_blanks(at)); at++) {
		if (*at == '\'') {
			at += strcspn(at + 1, "'") + 1;
			if (!*at)
				break;
		}
		if (depth == 1 &&
		    (*at == ')' ||
		     (*at == ',' && is_constraint(skip_blanks(at + 1)))))
			break;
		depth += (*at == '(') - (*at == ')');
	}
	return (size_t)(at - sql);
}

/* ALTER TABLE: at is the table's name and what follows it. */
static int alter(struct schema_text *t, const char *at)
{
	size_t n = word_length(at), place, i = 0;
	const char *column;
	char *sql;

	while (i < t->n && (strlen(t->rows[i].name) != n ||
			    strncmp(t->rows[i].name, at, n) != 0))
		i++;
	if (i == t->n || !begins(skip_blanks(at + n), "ADD COLUMN", &column))
		return 0;
	place = place_of_column(t->rows[i].sql);
	if (asprintf(&sql, "%.*s, %s%s", (int)place, t->rows[i].sql,
		     skip_blanks(column), t->rows[i].sql + place) < 0)
		return -ENOMEM;
	free(t->rows[i].sql);
	t->rows[i].sql = sql;
	return 0;
}

/* Go through a script. */
static int read_script(struct schema_text *t, const char *script)
{
	const char *at;
	char *sql;
	int rc = 0;

	while (!rc && (sql = take_statement(&script))) {
		if (begins(sql, "CREATE TABLE ", &at) ||
		    begins(sql, "CREATE VIEW ", &at)) {
			rc = add(t, sql, at);
			continue;
		}
		if (begins(sql, "ALTER TABLE ", &at))
			rc = alter(t, at);
		free(sql);
	}
	return !rc && *script ? -ENOMEM : rc;
}

int schema_text_tables(struct schema_text *t, int version)
{
	int rc = 0;

	for (int i = 0; i < version && !rc; i++)
		rc = read_script(t, store_migration_text[i]);
	return rc;
}

int schema_text_views(struct schema_text *t)
{
	return read_script(t, store_views_text);
}

/* SQLite 3.40 does not push an aggregate into UNION ALL: so there is a plain
 * form, which lets every query use the indexes. */
int schema_text_sample(struct schema_text *t, bool has_tail)
{
	return read_script(
		t, has_tail ? "CREATE VIEW sample AS\n"
			      "  -- detail, all of it: sealed and newest\n"
			      "  SELECT * FROM sample_sealed UNION ALL\n"
			      "  SELECT * FROM sample_tail;"
			    : "CREATE VIEW sample AS\n"
			      "  -- detail, all of it\n"
			      "  SELECT * FROM sample_sealed;");
}

void schema_text_release(struct schema_text *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->rows[i].name);
		free(t->rows[i].sql);
	}
	free(t->rows);
	*t = (struct schema_text){ 0 };
}

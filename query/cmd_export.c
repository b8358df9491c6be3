/* SPDX-License-Identifier: MIT */
/* weft export: the stacks of a recording in a format that others read. */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/folded.h"
#include "query/report.h"
#include "query/stacks.h"

struct export_opts {
	struct cli_common common;
	const char *format, *output;
};

static const struct cli_option options[] = {
	{ "format", 'f', "FORMAT", "folded (the default, and the only one yet)",
	  CLI_TEXT, offsetof(struct export_opts, format) },
	{ "output", 'o', "OUT", "write to OUT (default standard output)",
	  CLI_TEXT, offsetof(struct export_opts, output) },
};

static const struct cli_command command = {
	.name = "export",
	.operands = "[FILE]",
	.about = "The exact counts of all stacks, for other tools. folded: one "
		 "line per process\nname and stack, root first, `;` between "
		 "frames, then the count; sorted. Kernel\nframes end in _[k]. "
		 "What the format has no way to say is replaced: `;` by `:`,\n"
		 "control characters by `?`, bytes that are not UTF-8 by "
		 "U+FFFD.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

struct line {
	char *text; /* owned */
	uint64_t count;
};

struct lines {
	struct line *rows; /* owned */
	size_t n;
};

static void lines_release(struct lines *l)
{
	while (l->n > 0)
		free(l->rows[--l->n].text);
	free(l->rows);
	l->rows = NULL;
}

/* Consumes text. */
static int add_line(struct lines *l, char *text, uint64_t count)
{
	struct line *grown = l->rows;

	if ((l->n & (l->n - 1)) == 0)
		grown = reallocarray(l->rows, l->n ? 2 * l->n : 1,
				     sizeof(*grown));
	if (!grown || !text) {
		if (grown)
			l->rows = grown;
		free(text);
		return -ENOMEM;
	}
	l->rows = grown;
	grown[l->n++] = (struct line){ text, count };
	return 0;
}

static int load_part(struct lines *l, struct report *r, size_t part,
		     const struct stacks *stacks, struct weft_err *err)
{
	enum query_sql id = r->range.is_whole ? QUERY_SQL_EXPORT_WHOLE
					      : QUERY_SQL_EXPORT_PART;
	const char *names[STACKS_FRAMES_MAX + 1];
	sqlite3_stmt *stmt;
	size_t n;
	int rc;

	rc = range_query(&r->range, part, r->db, id, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		names[0] = (const char *)sqlite3_column_text(stmt, 0);
		if (!names[0])
			names[0] = "";
		n = stacks_names(stacks, sqlite3_column_int64(stmt, 1),
				 names + 1);
		if (n == 0)
			names[++n] = "[unknown]";
		if (add_line(l, folded_text(names, n + 1),
			     (uint64_t)sqlite3_column_int64(stmt, 2)))
			return weft_fail(err, -ENOMEM,
					 "out of memory for the stacks of '%s'",
					 db_path(r->db));
	}
	return rc;
}

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* Sort, and add up the lines that read the same. */
static void merge(struct lines *l)
{
	size_t i, kept = 0;

	if (l->n == 0)
		return;
	qsort(l->rows, l->n, sizeof(*l->rows), compare_lines);
	for (i = 1; i < l->n; i++) {
		if (strcmp(l->rows[kept].text, l->rows[i].text) != 0) {
			l->rows[++kept] = l->rows[i];
			continue;
		}
		l->rows[kept].count += l->rows[i].count;
		free(l->rows[i].text);
	}
	l->n = kept + 1;
}

static int load(struct lines *l, const struct cli_common *common,
		const char *file, struct weft_err *err)
{
	struct stacks *stacks = NULL;
	struct report report;
	size_t i;
	int rc;

	rc = report_open(&report, common, file, err);
	if (!rc)
		rc = stacks_load(&stacks, report.db, err);
	for (i = 0; !rc && i < report.range.n_parts; i++)
		rc = load_part(l, &report, i, stacks, err);
	merge(l);
	if (!rc && l->n == 0)
		rc = weft_fail(err, -ENODATA, "'%s' has no sample to export",
			       db_path(report.db));
	stacks_free(stacks);
	report_close(&report);
	return rc;
}

static void write_lines(const struct lines *l, FILE *to)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		fprintf(to, "%s %" PRIu64 "\n", l->rows[i].text,
			l->rows[i].count);
}

static int write_file(const struct lines *l, const char *path,
		      struct weft_err *err)
{
	FILE *to = fopen(path, "we");
	int code;

	if (!to) {
		code = -errno;
		return weft_fail(err, code, "cannot create '%s': %s", path,
				 strerror(-code));
	}
	write_lines(l, to);
	code = ferror(to) ? -EIO : 0;
	if (fclose(to))
		code = -errno;
	if (code)
		return weft_fail(err, code, "cannot write '%s': %s", path,
				 strerror(-code));
	return 0;
}

int cmd_export(int argc, char **argv)
{
	struct export_opts opts = { .format = "folded" };
	struct weft_err err = { 0 };
	struct lines lines = { 0 };
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	if (strcmp(opts.format, "folded") != 0)
		return cli_usage(&command, "no format '%s'; there is 'folded'",
				 opts.format);
	if (opts.common.json)
		return cli_usage(&command, "an export is not a report: it has "
					   "no --json");
	rc = load(&lines, &opts.common, file, &err);
	if (!rc && opts.output && strcmp(opts.output, "-") != 0)
		rc = write_file(&lines, opts.output, &err);
	else if (!rc)
		write_lines(&lines, stdout);
	lines_release(&lines);
	return rc ? cli_fail(&err) : cli_finish();
}

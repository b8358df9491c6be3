/* SPDX-License-Identifier: MIT */
/* weft traces: the requests that used most CPU time, as far as samples say. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/figure.h"
#include "query/report.h"
#include "query/stacks.h"

enum sort {
	SORT_CPU,
	SORT_SAMPLES,
	SORT_DURATION,
	SORT_COUNT
};

static const char *const sort_words[SORT_COUNT + 1] = {
	"cpu",
	"samples",
	"duration",
	NULL,
};

/* With fewer samples only the interval is printed, no central value. */
enum {
	FEW_SAMPLES = 3
};

struct traces_opts {
	struct cli_common common;
	const char *sort, *on;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "sort", 0, "BY",
	  "cpu (default; by the lower limit), samples or duration", CLI_TEXT,
	  offsetof(struct traces_opts, sort) },
	{ "on", 0, "FUNCTION", "only samples that have it on their stack",
	  CLI_TEXT, offsetof(struct traces_opts, on) },
	{ "rows", 'n', "N", "rows to print (default 20; 0: all)", CLI_NUMBER,
	  offsetof(struct traces_opts, rows) },
};

static const struct cli_command command = {
	.name = "traces",
	.operands = "[FILE]",
	.about = "The requests (traces) that used most, estimated from the "
		 "detail samples that\ncarry their ID, with the 95 % interval "
		 "of what each really used. Sorted by the\nlower limit: a "
		 "request that has one sample by chance does not come first.\n"
		 "EXTENT is the time from its first sample to its last.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

struct row {
	int64_t id;
	struct tally tally;
	struct stats_interval interval; /* of tally.estimate */
	int64_t first_ns, last_ns;      /* boot */
	char hex[33];                   /* of the rows to be printed */
};

struct traces {
	struct report report;
	struct stacks *stacks; /* owned; NULL without --on */
	const char *on;
	enum sort sort;
	struct row *rows; /* owned */
	size_t n_rows;
};

static void traces_release(struct traces *t)
{
	free(t->rows);
	stacks_free(t->stacks);
	report_close(&t->report);
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the traces");
}

static void combine(struct row *row, const struct row *more)
{
	tally_add(&row->tally, &more->tally);
	if (more->first_ns < row->first_ns)
		row->first_ns = more->first_ns;
	if (more->last_ns > row->last_ns)
		row->last_ns = more->last_ns;
}

/* Add to the last row if that is of the same trace, else begin one. */
static int add(struct traces *t, const struct row *more)
{
	struct row *grown = t->rows;

	if (t->n_rows && t->rows[t->n_rows - 1].id == more->id) {
		combine(&t->rows[t->n_rows - 1], more);
		return 0;
	}
	if ((t->n_rows & (t->n_rows - 1)) == 0) /* a power of two: full */
		grown = reallocarray(t->rows, t->n_rows ? 2 * t->n_rows : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	t->rows = grown;
	grown[t->n_rows++] = *more;
	return 0;
}

/* The sums that the writer kept: all samples of the file. */
static int load_totals(struct traces *t, struct weft_err *err)
{
	struct row row = { 0 };
	sqlite3_stmt *stmt;
	double weight;
	int rc;

	rc = db_query(t->report.db, QUERY_SQL_TRACES_TOTALS, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		row.id = sqlite3_column_int64(stmt, 0);
		row.tally.count = (uint64_t)sqlite3_column_int64(stmt, 1);
		if (row.tally.count == 0)
			continue;
		weight = sqlite3_column_double(stmt, 2);
		row.tally.weight = weight;
		row.tally.weight_sq = weight * weight / (double)row.tally.count;
		row.tally.estimate = sqlite3_column_double(stmt, 3);
		row.first_ns = sqlite3_column_int64(stmt, 4);
		row.last_ns = sqlite3_column_int64(stmt, 5);
		if (add(t, &row))
			return no_memory(err);
	}
	return rc;
}

static int compare_ids(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Several stacks or recordings gave rows of the same trace: combine them. */
static void merge(struct traces *t)
{
	size_t i, last = 0;

	if (t->n_rows == 0)
		return;
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_ids);
	for (i = 1; i < t->n_rows; i++)
		if (t->rows[i].id == t->rows[last].id)
			combine(&t->rows[last], &t->rows[i]);
		else
			t->rows[++last] = t->rows[i];
	t->n_rows = last + 1;
}

/*
 * What the kept sums lack: in an interval whose detail was stored in part
 * only, each sample stands for more. factor - 1 times its samples is added.
 */
static int make_up(struct traces *t, int64_t interval_id, double factor,
		   struct weft_err *err)
{
	struct db *db = t->report.db;
	struct row key, *row;
	struct tally more;
	sqlite3_stmt *stmt;
	int64_t start, end;
	int rc;

	rc = db_query(db, QUERY_SQL_TRACES_INTERVAL_TIME, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, interval_id);
	rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	/* samples near its ends may be stamped a little outside */
	start = sqlite3_column_int64(stmt, 0) - 1000000000;
	end = sqlite3_column_int64(stmt, 1) + 1000000000;
	rc = range_query(&t->report.range, 0, db, QUERY_SQL_TRACES_LOSSY, &stmt,
			 err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 4, interval_id);
	sqlite3_bind_int64(stmt, 5, start);
	sqlite3_bind_int64(stmt, 6, end);
	while ((rc = db_step(db, stmt, err)) > 0) {
		key.id = sqlite3_column_int64(stmt, 0);
		row = bsearch(&key, t->rows, t->n_rows, sizeof(key),
			      compare_ids);
		if (!row)
			continue;
		more = ledger_tally(&t->report.ledger, stmt, 1);
		row->tally.weight += more.weight * (1 - 1 / factor);
		row->tally.weight_sq += more.weight_sq * (1 - 1 / factor);
		row->tally.estimate += more.estimate * (1 - 1 / factor);
	}
	return rc;
}

static int load_samples(struct traces *t, size_t part, int64_t stack_id,
			struct weft_err *err)
{
	enum query_sql id =
		t->on ? QUERY_SQL_TRACES_ON_STACK : QUERY_SQL_TRACES_PART;
	struct row row = { 0 };
	sqlite3_stmt *stmt;
	int rc;

	rc = range_query(&t->report.range, part, t->report.db, id, &stmt, err);
	if (rc)
		return rc;
	if (t->on)
		sqlite3_bind_int64(stmt, 4, stack_id);
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		row.id = sqlite3_column_int64(stmt, 0);
		row.tally = ledger_tally(&t->report.ledger, stmt, 1);
		row.first_ns = sqlite3_column_int64(stmt, 6);
		row.last_ns = sqlite3_column_int64(stmt, 7);
		if (add(t, &row))
			return no_memory(err);
	}
	return rc;
}

/* Load the exact counts: which stacks there are, and how much of each. */
static int load_shape(struct traces *t, size_t part, struct weft_err *err)
{
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = range_query(&t->report.range, part, t->report.db,
			 t->report.range.is_whole ? QUERY_SQL_TOP_STACKS_WHOLE
						  : QUERY_SQL_TOP_STACKS_PART,
			 &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		tally = tally_of_shape((uint64_t)sqlite3_column_int64(stmt, 1),
				       (uint64_t)sqlite3_column_int64(stmt, 2));
		stacks_add(t->stacks, sqlite3_column_int64(stmt, 0), &tally);
	}
	return rc;
}

/* Say why nothing was found on a function: it is bounded, or unlucky. */
static int nothing_on(const struct traces *t, uint64_t counted,
		      struct weft_err *err)
{
	double all = (double)stacks_quality(t->stacks)->all.count;
	double lost = (double)t->report.ledger.shape_lost;

	if (counted)
		return weft_fail(err, -ENODATA,
				 "'%s' has %llu counted samples, but none of "
				 "the detail samples on it carries a trace ID",
				 t->on, (unsigned long long)counted);
	return weft_fail(err, -ENODATA,
			 "no sample on '%s': its share is under %.2g %% "
			 "(95 %%), under %.2g %% even if every lost sample was "
			 "it",
			 t->on, 100 * stats_absent(all),
			 100 * stats_absent_with_loss(all, lost));
}

static int load_on(struct traces *t, struct weft_err *err)
{
	const struct range *range = &t->report.range;
	const struct tally *tally;
	uint64_t counted = 0;
	size_t at = 0, i;
	int64_t id;
	int rc;

	rc = stacks_load(&t->stacks, t->report.db, err);
	for (i = 0; !rc && i < range->n_parts; i++)
		rc = load_shape(t, i, err);
	while (!rc && (at = stacks_next(t->stacks, at, &id, &tally))) {
		if (!stacks_has(t->stacks, id, t->on))
			continue;
		counted += tally->count;
		for (i = 0; !rc && i < range->n_parts; i++)
			rc = load_samples(t, i, id, err);
	}
	if (rc)
		return rc;
	merge(t);
	return t->n_rows ? 0 : nothing_on(t, counted, err);
}

static int load(struct traces *t, struct weft_err *err)
{
	const struct ledger *ledger = &t->report.ledger;
	size_t i;
	int rc = 0;

	if (t->on)
		return load_on(t, err);
	if (t->report.range.is_all && t->report.range.n_parts == 1) {
		rc = load_totals(t, err);
		for (i = 0; !rc && i < ledger->n_factors; i++)
			rc = make_up(t, ledger->factors[i].interval_id,
				     ledger->factors[i].factor, err);
	} else {
		for (i = 0; !rc && i < t->report.range.n_parts; i++)
			rc = load_samples(t, i, 0, err);
		merge(t);
	}
	if (!rc && t->n_rows == 0)
		rc = weft_fail(err, -ENODATA,
			       "no sample of '%s' carries a trace ID; `weft "
			       "loss` shows how reading them ended",
			       db_path(t->report.db));
	return rc;
}

static int descending(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_cpu(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = descending(x->interval.lo, y->interval.lo);

	if (!order)
		order = descending(x->tally.estimate, y->tally.estimate);
	return order ? order : compare_ids(a, b);
}

static int compare_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->tally.count != y->tally.count)
		return x->tally.count > y->tally.count ? -1 : 1;
	return compare_cpu(a, b);
}

static int compare_extent(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int64_t dx = x->last_ns - x->first_ns, dy = y->last_ns - y->first_ns;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return compare_cpu(a, b);
}

static void sort_rows(struct traces *t)
{
	static int (*const compare[SORT_COUNT])(const void *, const void *) = {
		compare_cpu,
		compare_samples,
		compare_extent,
	};
	struct row *row;
	size_t i;

	for (i = 0; i < t->n_rows; i++) {
		row = &t->rows[i];
		row->interval = stats_request_ns(
			(double)row->tally.count,
			row->tally.estimate / (double)row->tally.count, true);
	}
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare[t->sort]);
}

/* Look up the IDs of the first n rows. */
static int find_ids(struct traces *t, size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		rc = db_query(t->report.db, QUERY_SQL_TRACES_HEX, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, t->rows[i].id);
		rc = db_step(t->report.db, stmt, err);
		if (rc < 0)
			return rc;
		if (rc > 0)
			snprintf(t->rows[i].hex, sizeof(t->rows[i].hex), "%s",
				 (const char *)sqlite3_column_text(stmt, 0));
	}
	return 0;
}

static int print_table(const struct traces *t, size_t n, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "ESTIMATE", TABLE_RIGHT }, { "95 %", TABLE_RIGHT },
		{ "SAMPLES", TABLE_RIGHT },  { "EXTENT", TABLE_RIGHT },
		{ "TRACE", TABLE_LEFT },
	};
	struct table *table = table_new(columns, ARRAY_LEN(columns));
	const char *unit = t->report.range.unit;
	const struct row *row;
	size_t i;
	int rc;

	if (!table)
		return no_memory(err);
	for (i = 0; i < n; i++) {
		row = &t->rows[i];
		table_text(table, row->tally.count < FEW_SAMPLES
					  ? "-"
					  : FIGURE(figure_value,
						   row->tally.estimate, unit));
		table_text(table,
			   FIGURE(figure_value_interval, row->interval, unit));
		table_text(table,
			   FIGURE(figure_count, (double)row->tally.count));
		table_text(table, FIGURE(figure_ns, (double)(row->last_ns -
							     row->first_ns)));
		table_text(table, row->hex);
	}
	rc = report_print_table(table, err);
	table_free(table);
	return rc;
}

static int print(const struct traces *t, size_t n, struct weft_err *err)
{
	double each = report_ns_each(&t->report);
	char loss[256];
	int rc;

	report_print_heading(&t->report);
	printf("estimated from detail: %s requests have samples%s%s; sorted by "
	       "%s%s\n\n",
	       FIGURE(figure_count, (double)t->n_rows), t->on ? " on " : "",
	       t->on ? t->on : "", sort_words[t->sort],
	       t->sort == SORT_CPU ? ", its lower limit" : "");
	rc = print_table(t, n, err);
	if (rc)
		return rc;
	putchar('\n');
	if (n < t->n_rows)
		printf("%zu more; -n 0 prints all\n", t->n_rows - n);
	if (each > 0)
		printf("a request without a sample may have used up to %s "
		       "(95 %%)\n",
		       FIGURE(figure_ns, stats_unsampled_ns(each)));
	if (ledger_describe_loss(&t->report.ledger, loss, sizeof(loss)))
		printf("%s\n", loss);
	return 0;
}

static void print_json(const struct traces *t, size_t n)
{
	int64_t start = t->report.range.parts[0].start_ns;
	struct json j = { .to = stdout };
	const struct row *row;
	char key[32];
	size_t i;

	report_json(&t->report, &j, "traces");
	json_text(&j, "sorted_by", sort_words[t->sort]);
	json_text(&j, "on", t->on);
	json_bool(&j, "estimated", true);
	json_real(&j, "unsampled_ns_hi",
		  stats_unsampled_ns(report_ns_each(&t->report)));
	json_array(&j, "rows");
	snprintf(key, sizeof(key), "estimate_%s", t->report.range.unit);
	for (i = 0; i < n; i++) {
		row = &t->rows[i];
		json_object(&j, NULL);
		json_text(&j, "trace_id", row->hex);
		json_int(&j, "samples", (int64_t)row->tally.count);
		json_real(&j, key, row->tally.estimate);
		json_interval(&j, key, row->interval);
		json_int(&j, "first_after_start_ns", row->first_ns - start);
		json_int(&j, "extent_ns", row->last_ns - row->first_ns);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_int(&j, "rows_left_out", (int64_t)(t->n_rows - n));
	json_end_object(&j);
}

static int run(struct traces *t, const struct traces_opts *opts,
	       const char *file, struct weft_err *err)
{
	size_t n;
	int rc = report_open(&t->report, &opts->common, file, err);

	if (!rc)
		rc = load(t, err);
	if (rc)
		return rc;
	sort_rows(t);
	n = opts->rows && opts->rows < t->n_rows ? opts->rows : t->n_rows;
	rc = find_ids(t, n, err);
	if (rc)
		return rc;
	db_release(t->report.db);
	if (!opts->common.json)
		return print(t, n, err);
	print_json(t, n);
	return 0;
}

int cmd_traces(int argc, char **argv)
{
	struct traces_opts opts = { .sort = "cpu", .rows = 20 };
	struct traces traces = { 0 };
	struct weft_err err = { 0 };
	const char *file, *near;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	while (traces.sort < SORT_COUNT &&
	       strcmp(opts.sort, sort_words[traces.sort]) != 0)
		traces.sort++;
	if (traces.sort == SORT_COUNT) {
		near = weft_nearest(opts.sort, sort_words);
		return cli_usage(&command, "--sort cannot be '%s'%s%s%s",
				 opts.sort, near ? "; did you mean '" : "",
				 near ? near : "", near ? "'?" : "");
	}
	traces.on = opts.on;
	rc = run(&traces, &opts, file, &err);
	traces_release(&traces);
	return rc ? cli_fail(&err) : cli_finish();
}

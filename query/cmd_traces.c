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
#include "query/sums.h"

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

/* A function on more of the samples than that: reading all of them in order
 * is quicker than seeking them one by one. */
static const double SCAN_FROM_SHARE = 0.02;

/* Samples near the ends of an interval may be stamped a little outside. */
static const int64_t SLACK_NS = 1000000000;

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

/* A row that is printed. */
struct row {
	struct sum sum;                 /* its key is the trace's id */
	struct stats_interval interval; /* of sum.tally.estimate */
	char hex[33];
};

struct traces {
	struct report report;
	struct stacks *stacks; /* owned; NULL without --on */
	const char *on;
	enum sort sort;
	struct sums sums;
	struct row *rows; /* owned: the sums in their order */
	size_t n_rows;
};

static void traces_release(struct traces *t)
{
	free(t->rows);
	sums_release(&t->sums);
	stacks_free(t->stacks);
	report_close(&t->report);
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the traces");
}

/* The sums that the writer kept: all samples of the file. */
static int load_totals(struct traces *t, struct weft_err *err)
{
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = db_query(t->report.db, QUERY_SQL_TRACES_TOTALS, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		tally.count = (uint64_t)sqlite3_column_int64(stmt, 1);
		if (tally.count == 0)
			continue;
		tally.weight = sqlite3_column_double(stmt, 2);
		tally.weight_sq =
			tally.weight * tally.weight / (double)tally.count;
		tally.estimate = sqlite3_column_double(stmt, 3);
		if (sums_add(&t->sums, sqlite3_column_int64(stmt, 0), &tally,
			     sqlite3_column_int64(stmt, 4),
			     sqlite3_column_int64(stmt, 5)))
			return no_memory(err);
	}
	return rc;
}

/*
 * What the kept sums lack: in an interval whose detail was stored in part
 * only, each sample stands for more. factor - 1 times its samples is added.
 */
static int make_up(struct traces *t, const struct ledger_factor *f,
		   struct weft_err *err)
{
	struct db *db = t->report.db;
	double extra = 1 - 1 / f->factor; /* of what has the factor in it */
	sqlite3_stmt *stmt;
	struct tally more;
	int64_t start, end;
	int rc;

	rc = db_query(db, QUERY_SQL_TRACES_INTERVAL_TIME, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, f->interval_id);
	rc = db_step(db, stmt, err);
	if (rc <= 0)
		return rc;
	start = sqlite3_column_int64(stmt, 0);
	end = sqlite3_column_int64(stmt, 1);
	rc = range_query(&t->report.range, 0, db, QUERY_SQL_TRACES_LOSSY, &stmt,
			 err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 4, f->interval_id);
	sqlite3_bind_int64(stmt, 5, start - SLACK_NS);
	sqlite3_bind_int64(stmt, 6, end + SLACK_NS);
	while ((rc = db_step(db, stmt, err)) > 0) {
		more = ledger_tally(&t->report.ledger, stmt, 1);
		more.count = 0; /* they are counted already */
		more.weight *= extra;
		more.weight_sq *= extra;
		more.estimate *= extra;
		if (sums_add(&t->sums, sqlite3_column_int64(stmt, 0), &more,
			     sqlite3_column_int64(stmt, 6),
			     sqlite3_column_int64(stmt, 6)))
			return no_memory(err);
	}
	return rc;
}

/* Add the rows of a statement; with wanted only those on its stacks. */
static int add_samples(struct traces *t, sqlite3_stmt *stmt,
		       const struct sums *wanted, struct weft_err *err)
{
	struct tally tally;
	int64_t time_ns;
	int rc;

	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		if (wanted && !sums_find(wanted, sqlite3_column_int64(stmt, 5)))
			continue;
		tally = ledger_sample(&t->report.ledger,
				      sqlite3_column_int64(stmt, 1),
				      sqlite3_column_double(stmt, 2),
				      sqlite3_column_double(stmt, 3));
		time_ns = sqlite3_column_int64(stmt, 4);
		if (sums_add(&t->sums, sqlite3_column_int64(stmt, 0), &tally,
			     time_ns, time_ns))
			return no_memory(err);
	}
	return rc;
}

/* All samples in the order of the file. */
static int scan_samples(struct traces *t, const struct sums *wanted,
			struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < t->report.range.n_parts; i++) {
		rc = range_query(&t->report.range, i, t->report.db,
				 QUERY_SQL_TRACES_SAMPLES, &stmt, err);
		if (!rc)
			rc = add_samples(t, stmt, wanted, err);
	}
	return rc;
}

/* Those of a few stacks, by their index. */
static int seek_samples(struct traces *t, const struct sums *wanted,
			struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i, k;
	int rc = 0;

	for (i = 0; !rc && i < t->report.range.n_parts; i++)
		for (k = 0; !rc && k < wanted->n; k++) {
			rc = range_query(&t->report.range, i, t->report.db,
					 QUERY_SQL_TRACES_ON_STACK, &stmt, err);
			if (rc)
				return rc;
			sqlite3_bind_int64(stmt, 4, wanted->rows[k].key);
			rc = add_samples(t, stmt, NULL, err);
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
	struct sums wanted = { 0 }; /* stacks with the function on them */
	const struct tally *tally;
	struct tally counted = { 0 };
	size_t at = 0, i;
	int64_t id;
	int rc;

	rc = stacks_load(&t->stacks, t->report.db, err);
	for (i = 0; !rc && i < t->report.range.n_parts; i++)
		rc = load_shape(t, i, err);
	while (!rc && (at = stacks_next(t->stacks, at, &id, &tally))) {
		if (!stacks_has(t->stacks, id, t->on))
			continue;
		tally_add(&counted, tally);
		if (sums_add(&wanted, id, tally, 0, 0))
			rc = no_memory(err);
	}
	if (!rc && tally_share(&counted, &stacks_quality(t->stacks)->all) >
			   SCAN_FROM_SHARE)
		rc = scan_samples(t, &wanted, err);
	else if (!rc)
		rc = seek_samples(t, &wanted, err);
	sums_release(&wanted);
	if (!rc && t->sums.n == 0)
		rc = nothing_on(t, counted.count, err);
	return rc;
}

static int load(struct traces *t, struct weft_err *err)
{
	const struct ledger *ledger = &t->report.ledger;
	size_t i;
	int rc;

	if (t->on)
		return load_on(t, err);
	if (t->report.range.is_all && t->report.range.n_parts == 1) {
		rc = load_totals(t, err);
		for (i = 0; !rc && i < ledger->n_factors; i++)
			rc = make_up(t, &ledger->factors[i], err);
	} else {
		rc = scan_samples(t, NULL, err);
	}
	if (!rc && t->sums.n == 0)
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
		order = descending(x->sum.tally.estimate,
				   y->sum.tally.estimate);
	if (!order)
		order = x->sum.key < y->sum.key ? -1 : 1;
	return order;
}

static int compare_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.tally.count != y->sum.tally.count)
		return x->sum.tally.count > y->sum.tally.count ? -1 : 1;
	return compare_cpu(a, b);
}

static int64_t extent_ns(const struct row *row)
{
	return row->sum.last_ns - row->sum.first_ns;
}

static int compare_extent(const void *a, const void *b)
{
	if (extent_ns(a) != extent_ns(b))
		return extent_ns(a) > extent_ns(b) ? -1 : 1;
	return compare_cpu(a, b);
}

static int sort_rows(struct traces *t, struct weft_err *err)
{
	static int (*const compare[SORT_COUNT])(const void *, const void *) = {
		compare_cpu,
		compare_samples,
		compare_extent,
	};
	const struct tally *tally;
	size_t i;

	t->rows = calloc(t->sums.n, sizeof(*t->rows));
	if (!t->rows)
		return no_memory(err);
	t->n_rows = t->sums.n;
	for (i = 0; i < t->n_rows; i++) {
		t->rows[i].sum = t->sums.rows[i];
		tally = &t->rows[i].sum.tally;
		t->rows[i].interval = stats_request_ns(
			(double)tally->count,
			tally->estimate / (double)tally->count, true);
	}
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare[t->sort]);
	return 0;
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
		sqlite3_bind_int64(stmt, 1, t->rows[i].sum.key);
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
		table_text(table,
			   row->sum.tally.count < FEW_SAMPLES
				   ? "-"
				   : FIGURE(figure_value,
					    row->sum.tally.estimate, unit));
		table_text(table,
			   FIGURE(figure_value_interval, row->interval, unit));
		table_text(table,
			   FIGURE(figure_count, (double)row->sum.tally.count));
		table_text(table, FIGURE(figure_ns, (double)extent_ns(row)));
		table_text(table, row->hex);
	}
	rc = report_print_table(table, err);
	table_free(table);
	return rc;
}

static int print(const struct traces *t, size_t n, struct weft_err *err)
{
	double each = report_ns_each(&t->report);
	char loss[512];
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
		json_int(&j, "samples", (int64_t)row->sum.tally.count);
		json_real(&j, key, row->sum.tally.estimate);
		json_interval(&j, key, row->interval);
		json_int(&j, "first_after_start_ns", row->sum.first_ns - start);
		json_int(&j, "extent_ns", extent_ns(row));
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
	if (!rc)
		rc = sort_rows(t, err);
	if (rc)
		return rc;
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

/* SPDX-License-Identifier: MIT */
/* weft traces: the requests that used most CPU time, as far as samples say. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/cmd.h"
#include "query/context.h"
#include "query/figure.h"
#include "query/traces.h"

static const char *const sort_words[TRACES_SORTS + 1] = {
	"cpu", "samples", "duration", "cpu-share", NULL,
};

enum {
	/* With fewer samples only the interval is printed, no central value. */
	FEW_SAMPLES = 3
};

struct traces_opts {
	struct cli_common common;
	const char *sort, *on, *service, *name, *min_duration, *where;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "sort", 0, "BY",
	  "cpu (default; by the lower limit), samples, duration, cpu-share",
	  CLI_TEXT, offsetof(struct traces_opts, sort) },
	{ "on", 0, "FUNCTION", "only samples that have it on their stack",
	  CLI_TEXT, offsetof(struct traces_opts, on) },
	{ "service", 0, "NAME", "only requests whose root span is of it",
	  CLI_TEXT, offsetof(struct traces_opts, service) },
	{ "name", 0, "NAME", "only requests whose root span has this name",
	  CLI_TEXT, offsetof(struct traces_opts, name) },
	{ "min-duration", 0, "TIME", "only requests that lasted so long (5ms)",
	  CLI_TEXT, offsetof(struct traces_opts, min_duration) },
	{ "where", 0, "KEY=VALUE",
	  "only requests that have this attribute (also !=, ~)", CLI_TEXT,
	  offsetof(struct traces_opts, where) },
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
		 "EXTENT is the time from its first sample to its last.\n\n"
		 "Where the file has spans (weft import-spans), DURATION, "
		 "STATUS and NAME are those\nof the request's root span, CPU "
		 "% is the estimate's part of the duration; with\n--sort "
		 "duration or a choice of requests those without a sample are "
		 "listed, too,\nand the mean of all of them is told.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

static void table_spans(struct table *table, const struct traces_row *row)
{
	const struct spans_root *root = row->root;
	double duration = (double)root->duration_ns;
	char share[64];

	if (duration > 0)
		snprintf(share, sizeof(share), "%.3g .. %.3g",
			 100 * row->interval.lo / duration,
			 100 * row->interval.hi / duration);
	table_text(table, duration >= 0 ? FIGURE(figure_ns, duration) : "-");
	table_text(table, duration > 0 ? share : "-");
	table_text(table, *root->status ? root->status : "-");
	table_text(table, *root->service ? root->service : "-");
	table_text(table, *root->name ? root->name : "-");
}

static void table_samples(struct table *table, const struct traces_row *row,
			  const char *unit)
{
	const struct tally *tally = &row->sum->tally;

	table_text(table,
		   tally->count < FEW_SAMPLES
			   ? "-"
			   : FIGURE(figure_value, tally->estimate, unit));
	table_text(table, FIGURE(figure_value_interval, row->interval, unit));
	table_text(table, FIGURE(figure_count, (double)tally->count));
	table_text(table, tally->count ? FIGURE(figure_ns,
						(double)traces_extent_ns(row))
				       : "-");
}

static int print_table(const struct traces *t, size_t n, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "ESTIMATE", TABLE_RIGHT }, { "95 %", TABLE_RIGHT },
		{ "SAMPLES", TABLE_RIGHT },  { "EXTENT", TABLE_RIGHT },
		{ "TRACE", TABLE_LEFT },     { "DURATION", TABLE_RIGHT },
		{ "CPU %", TABLE_RIGHT },    { "STATUS", TABLE_LEFT },
		{ "SERVICE", TABLE_LEFT },   { "NAME", TABLE_LEFT },
	};
	enum {
		WITHOUT_SPANS = 5
	};
	struct table *table = table_new(
		columns, t->has_spans ? ARRAY_LEN(columns) : WITHOUT_SPANS);
	int rc;

	if (!table)
		return weft_fail(err, -ENOMEM, "out of memory for the table");
	for (size_t i = 0; i < n; i++) {
		table_samples(table, &t->rows[i], t->report.range.unit);
		table_text(table, t->rows[i].hex);
		if (t->has_spans)
			table_spans(table, &t->rows[i]);
	}
	rc = report_print_table(table, err);
	table_free(table);
	return rc;
}

/* Is it known of samples in which requests they are? */
static bool has_requests(const struct traces *t)
{
	return t->n_sampled || t->by_time.joined ||
	       context_is_any(&t->report.ledger);
}

/* Many short requests hardly have a sample each; together they have. */
static void print_mean(const struct traces *t)
{
	const char *unit = t->report.range.unit;
	struct stats_interval in;
	double mean;

	if (!spans_is_filter(&t->filter))
		return;
	if (!has_requests(t)) {
		printf("these %s requests: what they used nobody can say, for "
		       "no sample tells its request\n",
		       FIGURE(figure_count, (double)t->n_rows));
		return;
	}
	in = traces_mean_ns(t, &t->report, &mean);
	printf("these %s requests, %s of them without a sample: mean %s "
	       "(95 %%: %s)%s\n",
	       FIGURE(figure_count, (double)t->n_rows),
	       FIGURE(figure_count, (double)(t->n_rows - t->n_sampled)),
	       FIGURE(figure_value, mean, unit),
	       FIGURE(figure_value_interval, in, unit),
	       t->n_sampled < TRACES_FEW_REQUESTS ? ": few requests" : "");
}

/* How samples and spans meet: of the whole file, whatever is listed. */
static void print_coverage(const struct traces *t)
{
	const struct traces_coverage *c = &t->coverage;
	const struct by_time *b = &t->by_time;

	if (!t->has_spans)
		return;
	printf("spans: %s of %s requests, %s of these without a sample that "
	       "has their ID; %s requests (%s samples) have no span\n",
	       FIGURE(figure_count, (double)c->spans),
	       FIGURE(figure_count, (double)c->with_spans),
	       FIGURE(figure_count, (double)c->unsampled),
	       FIGURE(figure_count, (double)c->spanless),
	       FIGURE(figure_count, (double)c->spanless_samples));
	if (b->joined + b->ambiguous + b->between + b->clock == 0)
		return;
	printf("of processes that tell no IDs, by time: %s samples in one "
	       "request, %s in one of several (not joined), %s between "
	       "requests",
	       FIGURE(figure_count, (double)b->joined),
	       FIGURE(figure_count, (double)b->ambiguous),
	       FIGURE(figure_count, (double)b->between));
	if (b->clock)
		printf(", %s while the clock was set",
		       FIGURE(figure_count, (double)b->clock));
	putchar('\n');
}

static int print(const struct traces *t, size_t n, struct weft_err *err)
{
	double each = report_ns_each(&t->report);
	char loss[512], ids[256];
	int rc;

	report_print_heading(&t->report);
	printf("estimated from detail: %s %s samples%s%s; sorted by %s%s\n\n",
	       FIGURE(figure_count, (double)t->n_sampled),
	       t->n_sampled == 1 ? "request has" : "requests have",
	       t->on ? " on " : "", t->on ? t->on : "", sort_words[t->sort],
	       t->sort == TRACES_BY_CPU ? ", its lower limit" : "");
	rc = print_table(t, n, err);
	if (rc)
		return rc;
	putchar('\n');
	if (n < t->n_rows)
		report_print_more(t->n_rows - n);
	print_mean(t);
	print_coverage(t);
	if (each > 0 && has_requests(t))
		printf("a request without a sample may have used up to %s "
		       "(95 %%)\n",
		       FIGURE(figure_ns, stats_unsampled_ns(each)));
	context_describe_ledger(&t->report.ledger, ids, sizeof(ids));
	printf("%s\n", ids);
	if (ledger_describe_loss(&t->report.ledger, loss, sizeof(loss)))
		printf("%s\n", loss);
	return 0;
}

static void json_root(struct json *j, const struct spans_root *root)
{
	json_text(j, "service", *root->service ? root->service : NULL);
	json_text(j, "name", *root->name ? root->name : NULL);
	json_text(j, "status", *root->status ? root->status : NULL);
	if (root->duration_ns >= 0)
		json_int(j, "duration_ns", root->duration_ns);
	else
		json_null(j, "duration_ns");
}

static void json_row(const struct traces *t, struct json *j,
		     const struct traces_row *row, const char *estimate)
{
	int64_t start = t->report.range.parts[0].start_ns;
	const struct sum *by_time = sums_find(&t->time_sums, row->sum->key);

	json_object(j, NULL);
	json_text(j, "trace_id", row->hex);
	json_int(j, "samples", (int64_t)row->sum->tally.count);
	json_int(j, "samples_by_time",
		 by_time ? (int64_t)by_time->tally.count : 0);
	json_real(j, estimate, row->sum->tally.estimate);
	json_interval(j, estimate, row->interval);
	if (row->sum->tally.count)
		json_int(j, "first_after_start_ns", row->sum->first_ns - start);
	else
		json_null(j, "first_after_start_ns");
	json_int(j, "extent_ns", traces_extent_ns(row));
	if (t->has_spans)
		json_root(j, row->root);
	json_end_object(j);
}

static void json_coverage(const struct traces *t, struct json *j)
{
	const struct traces_coverage *c = &t->coverage;

	json_object(j, "coverage");
	json_int(j, "spans", c->spans);
	json_int(j, "requests_with_spans", c->with_spans);
	json_int(j, "requests_with_spans_unsampled", c->unsampled);
	json_int(j, "requests_without_spans", c->spanless);
	json_int(j, "samples_without_spans", c->spanless_samples);
	json_int(j, "by_time_joined", t->by_time.joined);
	json_int(j, "by_time_ambiguous", t->by_time.ambiguous);
	json_int(j, "by_time_between", t->by_time.between);
	json_int(j, "by_time_clock", t->by_time.clock);
	json_end_object(j);
}

static void print_json(const struct traces *t, size_t n)
{
	struct json j = { .to = stdout };
	char key[32], mean_key[32];
	double mean;

	report_json(&t->report, &j, "traces");
	json_text(&j, "sorted_by", sort_words[t->sort]);
	json_text(&j, "on", t->on);
	json_bool(&j, "estimated", true);
	if (has_requests(t))
		json_real(&j, "unsampled_ns_hi",
			  stats_unsampled_ns(report_ns_each(&t->report)));
	else
		json_null(&j, "unsampled_ns_hi");
	if (spans_is_filter(&t->filter)) {
		struct stats_interval in = traces_mean_ns(t, &t->report, &mean);

		snprintf(mean_key, sizeof(mean_key), "mean_%s",
			 t->report.range.unit);
		json_int(&j, "requests", (int64_t)t->n_rows);
		json_int(&j, "requests_sampled", (int64_t)t->n_sampled);
		if (has_requests(t)) {
			json_real(&j, mean_key, mean);
			json_interval(&j, mean_key, in);
		} else {
			json_null(&j, mean_key);
		}
	}
	if (t->has_spans)
		json_coverage(t, &j);
	context_json_ledger(&t->report.ledger, &j);
	json_array(&j, "rows");
	snprintf(key, sizeof(key), "estimate_%s", t->report.range.unit);
	for (size_t i = 0; i < n; i++)
		json_row(t, &j, &t->rows[i], key);
	json_end_array(&j);
	json_int(&j, "rows_left_out", (int64_t)(t->n_rows - n));
	json_end_object(&j);
}

static int run(struct traces *t, const struct traces_opts *opts,
	       const char *file, struct weft_err *err)
{
	int rc = traces_load(t, &opts->common, file, err);
	size_t n;

	if (rc)
		return rc;
	n = opts->rows && opts->rows < t->n_rows ? opts->rows : t->n_rows;
	rc = traces_describe(t, n, err);
	if (rc)
		return rc;
	db_release(t->report.db);
	if (!opts->common.json)
		return print(t, n, err);
	print_json(t, n);
	return 0;
}

/* Returns 0, or the status after a usage error that it has printed. */
static int take_options(struct traces *t, const struct traces_opts *opts)
{
	struct weft_err err = { 0 };
	const char *near;

	while (t->sort < TRACES_SORTS &&
	       strcmp(opts->sort, sort_words[t->sort]) != 0)
		t->sort++;
	if (t->sort == TRACES_SORTS) {
		near = weft_nearest(opts->sort, sort_words);
		return cli_usage(&command, "--sort cannot be '%s'%s%s%s",
				 opts->sort,
				 near ? "; did you mean '"
				      : "; `weft traces --help` has the words",
				 near ? near : "", near ? "'?" : "");
	}
	t->n_ordered = opts->rows ? opts->rows : SIZE_MAX;
	t->on = opts->on;
	t->filter.service = opts->service;
	t->filter.name = opts->name;
	if (opts->min_duration &&
	    spans_parse_duration(opts->min_duration,
				 &t->filter.min_duration_ns))
		return cli_usage(&command,
				 "--min-duration cannot be '%s': a number with "
				 "ns, us, ms or s",
				 opts->min_duration);
	if (opts->where &&
	    spans_parse_where(&t->filter.where, opts->where, &err))
		return cli_usage(&command, "%s", err.msg);
	return 0;
}

int cmd_traces(int argc, char **argv)
{
	struct traces_opts opts = { .sort = "cpu", .rows = 20 };
	struct traces traces = { 0 };
	struct weft_err err = { 0 };
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	rc = take_options(&traces, &opts);
	if (rc)
		return rc;
	rc = run(&traces, &opts, file, &err);
	traces_release(&traces);
	return rc ? cli_fail(&err) : cli_finish();
}

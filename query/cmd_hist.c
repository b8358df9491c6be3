/* SPDX-License-Identifier: MIT */
/* weft hist: distributions, as a terminal can draw them. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/figure.h"
#include "query/histogram.h"
#include "query/traces.h"

enum {
	BUCKETS = 66, /* of powers of two: see histogram.h */
	BAR_MOST = 40,
	REST = 33 /* what stands beside a bar */
};

struct hist_opts {
	struct cli_common common;
	const char *of;
	uint64_t rows;
	int64_t pid;
};

static const struct cli_option options[] = {
	{ "of", 0, "WHAT", "time (default), duration, cpu or length", CLI_TEXT,
	  offsetof(struct hist_opts, of) },
	{ "pid", 0, "PID", "only this process: of time and length", CLI_PID,
	  offsetof(struct hist_opts, pid) },
	{ "rows", 'n', "N", "of time: at most so many rows (default 30)",
	  CLI_NUMBER, offsetof(struct hist_opts, rows) },
};

static const struct cli_command command = {
	.name = "hist",
	.operands = "[FILE]",
	.about = "How something is distributed, drawn in the terminal.\n\n"
		 "  time      samples over time, exact; intervals are joined "
		 "until they fit\n"
		 "  duration  how long requests took: their root spans, else "
		 "from first to last\n            sample\n"
		 "  cpu       the CPU time of each request, an estimate: a "
		 "sample or a few more or\n            less move it\n"
		 "  length    how long single samples are, as of --event "
		 "off-cpu: an estimate, each\n            counts for what it "
		 "stands for\n\n"
		 "But of time, in powers of two; percentiles are told as the "
		 "bucket they are in.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

/* A stretch of time: one interval, or several. */
struct slice {
	int64_t start_ns, end_ns; /* boot */
	uint64_t count;
	double value;
};

struct slices {
	struct slice *rows; /* owned */
	size_t n;
};

static int add_slice(struct slices *s, const struct slice *one)
{
	struct slice *grown = s->rows;

	if ((s->n & (s->n - 1)) == 0)
		grown = reallocarray(grown, s->n ? 2 * s->n : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->rows = grown;
	grown[s->n++] = *one;
	return 0;
}

static int load_slices(struct slices *s, const struct report *r, int64_t pid,
		       struct weft_err *err)
{
	struct slice one;
	sqlite3_stmt *stmt;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < r->range.n_parts; i++) {
		rc = report_query(r, i, pid, QUERY_SQL_HIST_INTERVALS, &stmt,
				  err);
		while (!rc && (rc = db_step(r->db, stmt, err)) > 0) {
			one = (struct slice){
				.start_ns = db_time(stmt, 0),
				.end_ns = db_time(stmt, 1),
				.count =
					(uint64_t)sqlite3_column_int64(stmt, 2),
				.value = sqlite3_column_double(stmt, 3),
			};
			rc = add_slice(s, &one)
				     ? weft_fail(err, -ENOMEM, "out of memory")
				     : 0;
		}
	}
	return rc;
}

/* Join neighbours, the same number everywhere, until at most rows are left. */
static void join(struct slices *s, size_t rows)
{
	size_t each = rows ? (s->n + rows - 1) / rows : 1, i, kept = 0;
	struct slice *to;

	for (i = 0; each > 1 && i < s->n; i++) {
		if (i % each == 0) {
			s->rows[kept++] = s->rows[i];
			continue;
		}
		to = &s->rows[kept - 1];
		to->end_ns = s->rows[i].end_ns;
		to->count += s->rows[i].count;
		to->value += s->rows[i].value;
	}
	if (each > 1)
		s->n = kept;
}

/* Per second, for the last slice may be shorter. */
static double rate(const struct slice *s)
{
	int64_t length = s->end_ns - s->start_ns;

	return length > 0 ? (double)s->count * 1e9 / (double)length : 0;
}

static void print_slices(const struct slices *s, const struct report *r)
{
	bool is_ns = !strcmp(r->range.unit, "ns");
	int longest = histogram_bar(table_width(), REST, BAR_MOST);
	double most = 0, busy;
	size_t i;

	for (i = 0; i < s->n; i++)
		most = fmax(most, rate(&s->rows[i]));
	report_print_heading(r);
	printf("samples over time, exact; bars by samples per second\n\n"
	       "%9s %12s %7s\n",
	       "AT", "SAMPLES", is_ns ? "CPUS" : "");
	for (i = 0; i < s->n; i++) {
		const struct slice *one = &s->rows[i];
		int bar = most > 0 ? (int)(rate(one) / most * longest) : 0;

		busy = one->end_ns > one->start_ns
			       ? one->value /
					 (double)(one->end_ns - one->start_ns)
			       : 0;
		printf("%7.1f s %12s ",
		       (double)(one->start_ns - s->rows[0].start_ns) / 1e9,
		       FIGURE(figure_count, (double)one->count));
		if (is_ns)
			printf("%7.2f ", busy);
		else
			printf("%7s ", "");
		printf("|%.*s%*s|\n", bar,
		       "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@",
		       longest - bar, "");
	}
}

static void json_slices(const struct slices *s, const struct report *r)
{
	struct json j = { .to = stdout };
	size_t i;

	report_json(r, &j, "hist");
	json_text(&j, "of", "time");
	json_array(&j, "slices");
	for (i = 0; i < s->n; i++) {
		json_object(&j, NULL);
		json_int(&j, "start_ns",
			 s->rows[i].start_ns - s->rows[0].start_ns);
		json_int(&j, "length_ns",
			 s->rows[i].end_ns - s->rows[i].start_ns);
		json_int(&j, "count", (int64_t)s->rows[i].count);
		json_real(&j, "value", s->rows[i].value);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

static int run_time(const struct hist_opts *opts, const char *file,
		    struct weft_err *err)
{
	struct slices slices = { 0 };
	struct report r;
	int rc = report_open(&r, &opts->common, file, err);

	if (!rc)
		rc = load_slices(&slices, &r, opts->pid, err);
	if (!rc) {
		db_release(r.db);
		join(&slices, opts->rows);
		if (opts->common.json)
			json_slices(&slices, &r);
		else
			print_slices(&slices, &r);
	}
	free(slices.rows);
	report_close(&r);
	return rc;
}

/* Counts of buckets; those of estimates need not be whole. */
struct counts {
	double of[BUCKETS];
	size_t n;       /* values */
	size_t unknown; /* requests of which it is not known */
};

static void add_value(struct counts *c, double value, double weight)
{
	int bucket = 0;

	if (value >= 0x1p63)
		bucket = BUCKETS - 1;
	else if (value >= 1)
		bucket = 2 + ilogb(value);
	else if (value >= 0)
		bucket = 1;
	c->of[bucket] += weight;
	c->n++;
}

/* More of anything is damage; sums of it stay exact. */
static const double MOST = 1e15;

static int to_histogram(const struct counts *c, struct histogram *h,
			struct weft_err *err)
{
	uint32_t i;

	for (i = 0; i < BUCKETS; i++)
		if (c->of[i] >= 0.5 &&
		    histogram_add(h, i, (uint64_t)fmin(round(c->of[i]), MOST)))
			return weft_fail(err, -ENOMEM, "out of memory");
	if (!h->total)
		return weft_fail(err, -ENODATA, "there is nothing to draw");
	return 0;
}

static const struct {
	const char *name;
	double q;
} percentiles[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 } };

static void print_buckets(const struct report *r, const struct histogram *h,
			  const char *about)
{
	static const struct bucket_edges powers = { 0 };
	char label[64];
	size_t i;

	report_print_heading(r);
	printf("%s (%s)\n\n", about, r->range.unit);
	histogram_print(h, &powers, r->range.unit, 1, table_width(), stdout);
	putchar('\n');
	for (i = 0; i < ARRAY_LEN(percentiles); i++)
		printf("%s%s in %s", i ? ", " : "", percentiles[i].name,
		       bucket_label(label, &powers,
				    histogram_quantile(h, percentiles[i].q)));
	putchar('\n');
}

static void json_bound(struct json *j, const char *key, int64_t bound)
{
	if (bound == INT64_MIN || bound == INT64_MAX)
		json_null(j, key);
	else
		json_int(j, key, bound);
}

static void json_buckets(const struct report *r, const struct histogram *h,
			 const char *of, bool is_estimate)
{
	static const struct bucket_edges powers = { 0 };
	struct json j = { .to = stdout };
	struct bucket_bounds b;
	size_t i;

	report_json(r, &j, "hist");
	json_text(&j, "of", of);
	json_bool(&j, "estimated", is_estimate);
	json_array(&j, "buckets");
	for (i = 0; i < h->n; i++) {
		b = bucket_bounds(&powers, h->counts[i].bucket);
		json_object(&j, NULL);
		json_bound(&j, "lo", b.lo);
		json_bound(&j, "hi", b.hi);
		json_int(&j, "count", (int64_t)h->counts[i].count);
		json_end_object(&j);
	}
	json_end_array(&j);
	for (i = 0; i < ARRAY_LEN(percentiles); i++) {
		b = bucket_bounds(&powers,
				  histogram_quantile(h, percentiles[i].q));
		json_object(&j, percentiles[i].name);
		json_bound(&j, "lo", b.lo);
		json_bound(&j, "hi", b.hi);
		json_end_object(&j);
	}
	json_end_object(&j);
}

static int draw(const struct report *r, const struct counts *c,
		const struct hist_opts *opts, const char *about,
		struct weft_err *err)
{
	bool is_estimate = strcmp(opts->of, "duration") != 0;
	struct histogram h = { 0 };
	int rc = to_histogram(c, &h, err);

	if (!rc && opts->common.json)
		json_buckets(r, &h, opts->of, is_estimate);
	else if (!rc)
		print_buckets(r, &h, about);
	histogram_release(&h);
	return rc;
}

/* How long a request took, or ran; -1: not known. */
static double length_of(const struct traces *t, const struct traces_row *row,
			bool of_cpu)
{
	if (of_cpu)
		return row->sum->tally.count ? row->sum->tally.estimate : -1;
	return t->has_spans ? (double)row->root->duration_ns
			    : (double)traces_extent_ns(row);
}

static void count_requests(struct counts *c, const struct traces *t,
			   bool of_cpu)
{
	double ns;
	size_t i;

	for (i = 0; i < t->n_rows; i++) {
		ns = length_of(t, &t->rows[i], of_cpu);
		if (ns >= 0)
			add_value(c, ns, 1);
		else
			c->unknown++;
	}
}

static int run_requests(const struct hist_opts *opts, const char *file,
			struct weft_err *err)
{
	/* those that have spans and no sample count, too */
	struct traces t = { .sort = TRACES_BY_DURATION };
	bool of_cpu = !strcmp(opts->of, "cpu");
	struct counts counts = { 0 };
	char about[256];
	int rc = traces_load(&t, &opts->common, file, err);

	if (!rc) {
		db_release(t.report.db);
		count_requests(&counts, &t, of_cpu);
		if (of_cpu)
			snprintf(about, sizeof(about),
				 "CPU time of %zu requests, estimated; a "
				 "sample stands for %s, and %zu more have none",
				 counts.n,
				 FIGURE(figure_ns, report_ns_each(&t.report)),
				 counts.unknown);
		else
			snprintf(about, sizeof(about),
				 "duration of %zu requests, %s; of %zu it is "
				 "not known",
				 counts.n,
				 t.has_spans ? "by their root spans"
					     : "from first to last sample",
				 counts.unknown);
		rc = draw(&t.report, &counts, opts, about, err);
	}
	traces_release(&t);
	return rc;
}

static int run_length(const struct hist_opts *opts, const char *file,
		      struct weft_err *err)
{
	struct counts counts = { 0 };
	sqlite3_stmt *stmt;
	struct report r;
	char about[256];
	size_t i;
	int rc = report_open(&r, &opts->common, file, err);

	for (i = 0; !rc && i < r.range.n_parts; i++) {
		rc = report_query(&r, i, opts->pid, QUERY_SQL_HIST_LENGTHS,
				  &stmt, err);
		while (!rc && (rc = db_step(r.db, stmt, err)) > 0) {
			add_value(&counts, sqlite3_column_double(stmt, 2),
				  db_weight(stmt, 1) *
					  ledger_factor(&r.ledger,
							sqlite3_column_int64(
								stmt, 0)));
			rc = 0;
		}
	}
	if (!rc) {
		db_release(r.db);
		snprintf(about, sizeof(about),
			 "length of samples, estimated from %zu of detail",
			 counts.n);
		rc = draw(&r, &counts, opts, about, err);
	}
	report_close(&r);
	return rc;
}

int cmd_hist(int argc, char **argv)
{
	struct hist_opts opts = { .of = "time", .rows = 30 };
	struct weft_err err = { 0 };
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	if (!strcmp(opts.of, "time"))
		rc = run_time(&opts, file, &err);
	else if (!strcmp(opts.of, "length"))
		rc = run_length(&opts, file, &err);
	else if (strcmp(opts.of, "cpu") != 0 &&
		 strcmp(opts.of, "duration") != 0)
		return cli_usage(&command,
				 "--of takes time, duration, cpu or length, "
				 "not '%s'",
				 opts.of);
	else if (opts.pid)
		return cli_usage(&command, "requests are not of one process: "
					   "--pid is of time and length");
	else
		rc = run_requests(&opts, file, &err);
	return rc ? cli_fail(&err) : cli_finish();
}

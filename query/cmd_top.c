/* SPDX-License-Identifier: MIT */
/* weft top: where the time went, by function, stack, process and so on. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/figure.h"
#include "query/follow.h"
#include "query/pool.h"
#include "query/top.h"

static const char *const by_words[TOP_BY_COUNT + 1] = {
	"function", "stack", "process", "thread", "binary", "attribute", NULL,
};

struct top_opts {
	struct cli_common common;
	const char *by, *trace, *where, *value, *follow;
	uint64_t rows;
	int64_t pid;
};

static const struct cli_option options[] = {
	{ "by", 0, "WHAT",
	  "function (default), stack, process, thread, binary or attribute",
	  CLI_TEXT, offsetof(struct top_opts, by) },
	{ "trace", 0, "ID", "only this request (estimated from detail)",
	  CLI_TEXT, offsetof(struct top_opts, trace) },
	{ "where", 0, "KEY=VALUE",
	  "pool the requests that have this attribute (also !=, ~)", CLI_TEXT,
	  offsetof(struct top_opts, where) },
	{ "value", 0, "VALUE",
	  "only what had this value of weft record --shape-by (exact)",
	  CLI_TEXT, offsetof(struct top_opts, value) },
	{ "pid", 0, "PID", "only this process", CLI_PID,
	  offsetof(struct top_opts, pid) },
	{ "follow", 0, "[=SECONDS]",
	  "print anew as it is recorded, every SECONDS (default 1) if it changed",
	  CLI_TEXT, offsetof(struct top_opts, follow) },
	{ "rows", 'n', "N", "rows to print (default 20; 0: all)", CLI_NUMBER,
	  offsetof(struct top_opts, rows) },
};

static const struct cli_command command = {
	.name = "top",
	.operands = "[FILE]",
	.about =
		"Where the time of this recording went. By function, stack, "
		"process and binary\nthe counts are exact; by thread or "
		"trace they are estimated from the detail\nsamples, and the "
		"report says so. SELF: it was the innermost; TOTAL: it was "
		"on\nthe stack. Intervals are 95 %, of this recording; they "
		"do not say what another\nrecording would show. NAMED: of "
		"samples whose innermost function has a name, by what\nnamed "
		"it. Of few samples no share is printed but its upper limit, "
		"<= 1.53, or -.\nWhether stacks are whole, and why not: see "
		"`weft loss`.\n\n--where pools many requests: a single one of 5 "
		"ms rarely has a sample. KEY is\nservice.name, name, kind or "
		"status of a span, or an attribute of a span or of a\nsample; = "
		"and != take a value, ~ a GLOB pattern ('http.route ~ /cart*'). "
		"Intervals\nare then for requests like these: each is a cluster "
		"of samples that are alike.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

/* The interval of an estimated value of which there is a sample. */
static struct stats_interval value_interval(const struct tally *t)
{
	double k = (double)t->count;
	struct stats_interval in = stats_shape_count(k, t->weight / k);
	double each = t->weight > 0 ? t->estimate / t->weight : 0;

	in.lo *= each;
	in.hi *= each;
	return in;
}

static const char *dashed(char *to, size_t size, int64_t number)
{
	if (number)
		snprintf(to, size, "%lld", (long long)number);
	else
		snprintf(to, size, "-");
	return to;
}

static void fill_ends(const struct ends *ends, struct table *t)
{
	double share;
	const char *reason = ends_reason(ends, &share);

	table_text(t, FIGURE(ends_percent, ends, ENDS_COMPLETE));
	table_text(t, FIGURE(ends_percent, ends, ENDS_TRUNCATED));
	table_text(t, FIGURE(ends_percent, ends, ENDS_BROKEN));
	table_text(t, reason ? reason : "-");
}

static struct stats_interval
share_interval(const struct top *top, const struct top_row *row, bool is_total)
{
	if (top->pool)
		return is_total ? row->total_in : row->self_in;
	return tally_share_interval(is_total ? &row->total : &row->self,
				    &top->all);
}

static void fill_share(const struct top *top, const struct top_row *row,
		       bool is_total, struct table *t)
{
	const struct tally *tally = is_total ? &row->total : &row->self;
	struct stats_interval in = share_interval(top, row, is_total);

	table_text(t, FIGURE(figure_share_in, tally, &top->all, in));
	table_text(t, FIGURE(figure_limits, tally, &top->all, in));
}

static void fill_row(const struct top *top, const struct top_row *row,
		     struct table *t)
{
	const char *unit = top->report.range.unit;
	char number[24];

	fill_share(top, row, false, t);
	if (top->by == TOP_BY_FUNCTION || top->by == TOP_BY_BINARY)
		fill_share(top, row, true, t);
	table_text(t, FIGURE(figure_value, row->self.estimate, unit));
	if (top->is_estimated)
		table_text(t,
			   row->self.count == 0
				   ? "-"
				   : FIGURE(figure_value_interval,
					    value_interval(&row->self), unit));
	if (top->by == TOP_BY_PROCESS || top->by == TOP_BY_THREAD)
		table_text(t, dashed(number, sizeof(number), row->pid));
	if (top->by == TOP_BY_THREAD)
		table_text(t, dashed(number, sizeof(number), row->tid));
	table_text(t, row->name);
	if (top->by == TOP_BY_FUNCTION)
		table_text(t, weft_base_name(row->more));
	if (top->by == TOP_BY_ATTRIBUTE)
		table_text(t, row->more);
	if (top->by == TOP_BY_PROCESS || top->by == TOP_BY_THREAD)
		table_text(t, row->service ? row->service : row->more);
	if (row->ends)
		fill_ends(row->ends, t);
}

static size_t choose_columns(const struct top *top, struct table_column *to)
{
	static const char *const names[TOP_BY_COUNT] = { "FUNCTION", "STACK",
							 "COMM",     "COMM",
							 "BINARY",   "VALUE" };
	bool has_total = top->by == TOP_BY_FUNCTION || top->by == TOP_BY_BINARY;
	bool is_task = top->by == TOP_BY_PROCESS || top->by == TOP_BY_THREAD;
	size_t n = 0;

	to[n++] = (struct table_column){ has_total ? "SELF %" : "SHARE %",
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	if (has_total) {
		to[n++] = (struct table_column){ "TOTAL %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	}
	to[n++] = (struct table_column){ strcmp(top->report.range.unit, "ns")
						 ? "COUNT"
						 : "TIME",
					 TABLE_RIGHT };
	if (top->is_estimated)
		to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	if (is_task)
		to[n++] = (struct table_column){ "PID", TABLE_RIGHT };
	if (top->by == TOP_BY_THREAD)
		to[n++] = (struct table_column){ "TID", TABLE_RIGHT };
	to[n++] = (struct table_column){ names[top->by],
					 top->by == TOP_BY_STACK
						 ? TABLE_CUT_START
						 : TABLE_CUT_END };
	if (top->by == TOP_BY_FUNCTION || top->by == TOP_BY_ATTRIBUTE)
		to[n++] = (struct table_column){ top->by == TOP_BY_FUNCTION
							 ? "BINARY"
							 : "ATTRIBUTE",
						 TABLE_CUT_END };
	if (is_task)
		to[n++] = (struct table_column){ "SERVICE OR PROGRAM",
						 TABLE_CUT_END };
	if (top->by == TOP_BY_PROCESS && !top->pool) {
		to[n++] = (struct table_column){ "COMPLETE %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "TRUNCATED %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "BROKEN %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "MOST BROKEN BY", TABLE_LEFT };
	}
	return n;
}

static void print_quality(const struct top *top)
{
	const struct stacks_quality *q;
	char line[256];

	if (top->stacks) {
		q = stacks_quality(top->stacks);
		named_print(&q->named, &q->all, stdout);
	}
	if (top->by == TOP_BY_THREAD || top->by == TOP_BY_ATTRIBUTE)
		return;
	ends_describe(&top->ends, line, sizeof(line));
	printf("stacks: %s%s\n", line,
	       top->by == TOP_BY_PROCESS && !top->pool
		       ? "; in a row, of its own"
		       : "");
}

/* What can be said of a function that is not in the list. */
static void print_absent(const struct top *top)
{
	double n = (double)top->all.count;
	double lost = (double)top->report.ledger.shape_lost;

	printf("a function not found here has under %.2g %% (95 %%)",
	       100 * stats_absent(n));
	if (lost > 0)
		printf("; under %.2g %% even if every lost sample was it",
		       100 * stats_absent_with_loss(n, lost));
	putchar('\n');
}

/* Which requests, and what one of them uses. */
static void print_pool(const struct top *top, const char *where)
{
	const struct pool *pool = top->pool;
	const char *unit = top->report.range.unit;

	printf("%s requests where %s, %s of them without a sample (a single "
	       "one of 5 ms rarely has one)\n",
	       FIGURE(figure_count, pool->requests), where,
	       FIGURE(figure_count, pool->requests - pool->sampled));
	printf("a request uses %s (95 %%, of requests like these: %s)%s\n",
	       FIGURE(figure_value, pool->mean, unit),
	       FIGURE(figure_value_interval, pool->mean_in, unit),
	       pool->is_few ? ": few requests" : "");
	if (pool->by_time)
		printf("samples of processes that tell no trace IDs are joined "
		       "by time (view samples_by_time)\n");
}

static void print_value(const char *value)
{
	char safe[1024];

	weft_sanitize(safe, sizeof(safe), value, strlen(value));
	printf("value %s, ", safe);
}

static int print(const struct top *top, size_t n, const char *where,
		 struct weft_err *err)
{
	struct table_column columns[16];
	struct table *t = table_new(columns, choose_columns(top, columns));
	char loss[512];
	size_t i;
	int rc;

	if (!t)
		return weft_fail(err, -ENOMEM,
				 "out of memory for the rows of top");
	report_print_heading(&top->report);
	if (top->pool)
		print_pool(top, where);
	if (top->trace)
		printf("trace %s, ", top->hex);
	if (top->value)
		print_value(top->value);
	if (top->pid)
		printf("pid %lld, ", (long long)top->pid);
	printf("%s; shares are of %s%s samples, of %s\n",
	       top->is_estimated ? "estimated from detail" : "exact counts",
	       top->is_by_value ? "the time of " : "",
	       FIGURE(figure_count, (double)top->all.count),
	       top->pool ? "requests like these" : "this recording");
	print_quality(top);
	putchar('\n');
	for (i = 0; i < n; i++)
		fill_row(top, &top->rows[i], t);
	rc = report_print_table(t, err);
	table_free(t);
	if (rc)
		return rc;
	putchar('\n');
	if (n < top->n_rows)
		report_print_more(top->n_rows - n);
	if (top->by == TOP_BY_FUNCTION && !top->is_estimated)
		print_absent(top);
	if (ledger_describe_loss(&top->report.ledger, loss, sizeof(loss)))
		printf("%s\n", loss);
	return 0;
}

static void json_tally(const struct top *top, struct json *j, const char *what,
		       const struct top_row *row, bool is_total)
{
	const struct tally *t = is_total ? &row->total : &row->self;
	char key[64];

	snprintf(key, sizeof(key), "%s_samples", what);
	json_int(j, key, (int64_t)t->count);
	snprintf(key, sizeof(key), "%s_share", what);
	json_real(j, key, tally_share(t, &top->all));
	json_interval(j, key, share_interval(top, row, is_total));
	snprintf(key, sizeof(key), "%s_%s", what, top->report.range.unit);
	json_real(j, key, t->estimate);
	if (top->is_estimated && t->count)
		json_interval(j, key, value_interval(t));
}

static void json_ends(struct json *j, const struct ends *ends)
{
	json_object(j, "stacks");
	ends_json(ends, j);
	json_end_object(j);
}

static void json_row(const struct top *top, struct json *j,
		     const struct top_row *row)
{
	json_object(j, NULL);
	json_text(j, by_words[top->by], row->name);
	if (top->by == TOP_BY_FUNCTION)
		json_text(j, "binary", row->more);
	if (top->by == TOP_BY_ATTRIBUTE)
		json_text(j, "key", row->more);
	if (top->by == TOP_BY_STACK)
		json_int(j, "stack_id", row->id);
	if (top->by == TOP_BY_PROCESS || top->by == TOP_BY_THREAD) {
		json_int(j, "pid", row->pid);
		if (top->by == TOP_BY_THREAD)
			json_int(j, "tid", row->tid);
		json_text(j, "exe", row->more);
		json_text(j, "service", row->service);
	}
	if (row->ends)
		json_ends(j, row->ends);
	json_tally(top, j, "self", row, false);
	if (top->by == TOP_BY_FUNCTION || top->by == TOP_BY_BINARY)
		json_tally(top, j, "total", row, true);
	json_end_object(j);
}

static void json_pool(const struct top *top, struct json *j, const char *where)
{
	char key[64];

	json_text(j, "where", where);
	json_int(j, "requests", (int64_t)top->pool->requests);
	json_int(j, "requests_sampled", (int64_t)top->pool->sampled);
	json_bool(j, "few_requests", top->pool->is_few);
	json_bool(j, "joined_by_time", top->pool->by_time > 0);
	snprintf(key, sizeof(key), "request_%s", top->report.range.unit);
	json_real(j, key, top->pool->mean);
	json_interval(j, key, top->pool->mean_in);
}

static void print_json(const struct top *top, size_t n, const char *where)
{
	struct json j = { .to = stdout };
	const struct stacks_quality *q;
	double lost = (double)top->report.ledger.shape_lost;
	double all = (double)top->all.count;
	size_t i;

	report_json(&top->report, &j, "top");
	json_text(&j, "by", by_words[top->by]);
	json_text(&j, "trace_id", top->trace ? top->hex : NULL);
	json_bool(&j, "estimated", top->is_estimated);
	json_text(&j, "shares_are_about",
		  top->pool ? "requests like these" : "this recording");
	if (top->pool)
		json_pool(top, &j, where);
	json_int(&j, "samples", (int64_t)top->all.count);
	if (top->stacks) {
		q = stacks_quality(top->stacks);
		named_json(&q->named, &q->all, &j);
		json_real(&j, "complete_share",
			  tally_share(&q->complete, &q->all));
	}
	if (top->by != TOP_BY_THREAD && top->by != TOP_BY_ATTRIBUTE)
		json_ends(&j, &top->ends);
	if (!top->is_estimated) {
		json_real(&j, "absent_share_hi", stats_absent(all));
		json_real(&j, "absent_share_hi_with_losses",
			  stats_absent_with_loss(all, lost));
	}
	json_array(&j, "rows");
	for (i = 0; i < n; i++)
		json_row(top, &j, &top->rows[i]);
	json_end_array(&j);
	json_int(&j, "rows_left_out", (int64_t)(top->n_rows - n));
	json_end_object(&j);
}

/* Returns TOP_BY_COUNT for a word that is none. */
static enum top_by parse_by(const char *word)
{
	enum top_by by = 0;

	while (by < TOP_BY_COUNT && strcmp(word, by_words[by]) != 0)
		by++;
	return by;
}

static int run(struct top *top, const struct top_opts *opts, const char *file,
	       bool is_first, struct weft_err *err)
{
	struct spans_filter filter = { 0 };
	size_t n;
	int rc;

	if (opts->where) {
		rc = spans_parse_where(&filter.where, opts->where, err);
		if (!rc)
			rc = pool_load(top, &opts->common, file, &filter, err);
	} else {
		rc = top_load(top, &opts->common, file, opts->trace, err);
	}
	if (rc)
		return rc;
	db_release(top->report.db);
	if (opts->follow)
		follow_begin_block(is_first);
	n = opts->rows && opts->rows < top->n_rows ? opts->rows : top->n_rows;
	if (!opts->common.json)
		return print(top, n, opts->where, err);
	print_json(top, n, opts->where);
	return 0;
}

/* Run again whenever the file has changed, until the recording has ended. top
 * has the inputs. */
static int follow(const struct top *inputs, const struct top_opts *opts,
		  const char *file, uint64_t every_ns, struct weft_err *err)
{
	struct follow f = { .every_ns = every_ns };
	bool is_open, is_first = true;
	struct top top;
	int rc;

	f.path = db_choose(file ? file : opts->common.input);
	do {
		follow_look(&f);
		top = *inputs;
		rc = run(&top, opts, file, is_first, err);
		is_open = top.report.range.is_open;
		if (!rc)
			is_first = false;
		/* It may be too young to have what is asked for. */
		if (rc == -ENODATA && follow_is_written(f.path)) {
			*err = (struct weft_err){ 0 };
			is_open = true;
			rc = 0;
		}
		top_release(&top);
		if (rc || fflush(stdout))
			break;
	} while (is_open && follow_wait(&f));
	return rc;
}

int cmd_top(int argc, char **argv)
{
	struct top_opts opts = { .by = "function", .rows = 20 };
	struct weft_err err = { 0 };
	struct top top = { 0 };
	const char *file, *near;
	uint64_t every_ns = 1000000000;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	top.by = parse_by(opts.by);
	if (top.by == TOP_BY_COUNT) {
		near = weft_nearest(opts.by, by_words);
		return cli_usage(&command, "--by cannot be '%s'%s%s%s", opts.by,
				 near ? "; did you mean '"
				      : "; `weft top --help` has the words",
				 near ? near : "", near ? "'?" : "");
	}
	if (opts.where && opts.trace)
		return cli_usage(&command, "--trace is one request, --where "
					   "many: give one of them");
	if ((opts.value || top.by == TOP_BY_ATTRIBUTE) &&
	    (opts.where || opts.trace))
		return cli_usage(&command, "values of --shape-by are of all "
					   "requests: without --trace and "
					   "--where");
	if (opts.value && top.by != TOP_BY_FUNCTION && top.by != TOP_BY_STACK &&
	    top.by != TOP_BY_BINARY)
		return cli_usage(&command, "--value goes with --by function, "
					   "stack or binary");
	if (opts.follow && *opts.follow &&
	    weft_parse_seconds(opts.follow, 100000000, INT64_MAX, &every_ns))
		return cli_usage(&command,
				 "--follow takes seconds, at least 0.1, not "
				 "'%s'",
				 opts.follow);
	top.value = opts.value;
	top.pid = opts.pid;
	if (opts.follow) {
		rc = follow(&top, &opts, file, every_ns, &err);
	} else {
		rc = run(&top, &opts, file, true, &err);
		top_release(&top);
	}
	return rc ? cli_fail(&err) : cli_finish();
}

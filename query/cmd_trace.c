/* SPDX-License-Identifier: MIT */
/* weft trace: one request, its stacks against everyone's, its samples. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/cmd.h"
#include "query/context.h"
#include "query/figure.h"
#include "query/trace.h"

/* Below this many samples of a stack there is no ratio worth printing; of a
 * request, requests like it are offered. */
enum {
	FEW_SAMPLES = 5
};

struct trace_opts {
	struct cli_common common;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "rows", 'n', "N", "rows of each table (default 20; 0: all)",
	  CLI_NUMBER, offsetof(struct trace_opts, rows) },
};

static const struct cli_command command = {
	.name = "trace",
	.operands = "ID [FILE]",
	.about =
		"One request: what it used, its stacks with their share of it "
		"(estimated from\nits detail samples) beside their share of "
		"everyone's samples (exact), and its\nsamples in the order of "
		"time; its spans, if the file has them, with the\nsamples in "
		"each. ID: 32 hexadecimal digits, or a prefix of at\nleast 8 "
		"that no other trace has.\n\nSamples of processes that tell no "
		"trace IDs are joined by process and time, where\nthat is "
		"certain; the report says how many.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 2,
};

/* Few samples say little: offer those of requests like it. */
static void print_pool(const struct trace *t, const char *file)
{
	if (t->here.count >= FEW_SAMPLES || !*t->like)
		return;
	printf("a single request of 5 ms rarely has a sample; all like it "
	       "together:\n  weft top --where '%s'%s%s\n",
	       t->like, file ? " " : "", file ? file : "");
}

static void print_by_time(const struct trace *t)
{
	if (t->by_time)
		printf("%s of them by process and time, as the process tells "
		       "no trace IDs\n",
		       FIGURE(figure_count, (double)t->by_time));
}

static void print_summary(const struct trace *t, const char *file)
{
	const char *unit = t->report.range.unit;
	size_t i, shown = t->n_processes;
	char name[256];
	int64_t threads = 0;

	if (!t->here.count && *t->elsewhere.text) {
		printf("trace %s: no sample of that%s\n\n", t->hex,
		       t->elsewhere.text);
		return;
	}
	if (!t->here.count && !context_is_any(&t->report.ledger)) {
		printf("trace %s: no sample of this report has a trace ID: "
		       "what it used nobody can say\n\n",
		       t->hex);
		return;
	}
	if (!t->here.count) {
		printf("trace %s: no sample: it may have used up to %s "
		       "(95 %%)\n",
		       t->hex, FIGURE(figure_value, trace_used(t).hi, unit));
		print_pool(t, file);
		putchar('\n');
		return;
	}
	printf("trace %s: %s samples, estimated %s (95 %%: %s), %s from first "
	       "to last\n",
	       t->hex, FIGURE(figure_count, (double)t->here.count),
	       FIGURE(figure_value, t->here.estimate, unit),
	       FIGURE(figure_value_interval, trace_used(t), unit),
	       FIGURE(figure_ns, (double)(t->last_ns - t->first_ns)));
	if (shown > ARRAY_LEN(t->processes))
		shown = ARRAY_LEN(t->processes);
	for (i = 0; i < shown; i++) {
		const struct trace_process *p = &t->processes[i];
		const char *word = *p->service ? p->service : p->comm;

		weft_sanitize(name, sizeof(name), word, strlen(word));
		threads = p->threads;
		printf("  %s (pid %lld): %s samples on %lld %s\n", name,
		       (long long)p->pid,
		       FIGURE(figure_count, (double)p->samples),
		       (long long)threads, threads == 1 ? "thread" : "threads");
	}
	if (shown < t->n_processes)
		printf("  and %zu more processes\n", t->n_processes - shown);
	print_by_time(t);
	print_pool(t, file);
	putchar('\n');
}

/* How much larger the share is here; NULL: too few samples, or new here. */
static const char *ratio(struct figure *to, const struct trace *t,
			 const struct trace_row *row)
{
	double everyone = tally_share(&row->everyone, &t->everyone);

	if (row->here.count < FEW_SAMPLES || everyone <= 0)
		return NULL;
	snprintf(to->text, sizeof(to->text), "%.3g",
		 tally_share(&row->here, &t->here) / everyone);
	return to->text;
}

static int print_stacks(const struct trace *t, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "SAMPLES", TABLE_RIGHT }, { "HERE %", TABLE_RIGHT },
		{ "95 %", TABLE_RIGHT },    { "EVERYONE %", TABLE_RIGHT },
		{ "RATIO", TABLE_RIGHT },   { "STACK", TABLE_CUT_START },
	};
	struct table *table = table_new(columns, ARRAY_LEN(columns));
	struct figure text;
	const char *times;
	size_t i;
	int rc;

	if (!table)
		return weft_fail(err, -ENOMEM, "out of memory for the trace");
	for (i = 0; i < t->n_told; i++) {
		const struct trace_row *row = &t->rows[i];

		times = ratio(&text, t, row);
		table_text(table,
			   FIGURE(figure_count, (double)row->here.count));
		table_text(table, FIGURE(figure_share, &row->here, &t->here));
		table_text(table,
			   FIGURE(figure_share_interval, &row->here, &t->here));
		table_text(table,
			   FIGURE(figure_share, &row->everyone, &t->everyone));
		table_text(table, times ? times : "-");
		table_text(table, row->folded);
	}
	rc = report_print_table(table, err);
	table_free(table);
	if (!rc && t->n_told < t->n_rows)
		report_print_more(t->n_rows - t->n_told);
	putchar('\n');
	return rc;
}

/* file: borrowed; NULL: the default. */
static int print(const struct trace *t, const char *file, struct weft_err *err)
{
	char loss[512];
	int rc;

	report_print_heading(&t->report);
	print_summary(t, file);
	wall_print(&t->wall);
	rc = span_tree_print(&t->spans, &t->report, t->stacks, err);
	if (!rc && !t->here.count)
		return 0;
	if (!rc)
		rc = print_stacks(t, err);
	if (!rc)
		rc = sequence_print(&t->sequence, t->first_ns, false, err);
	if (rc)
		return rc;
	if (ledger_describe_loss(&t->report.ledger, loss, sizeof(loss)))
		printf("\n%s\n", loss);
	return 0;
}

static void json_stacks(const struct trace *t, struct json *j)
{
	const struct trace_row *row;
	struct figure text;
	size_t i;

	json_array(j, "stacks");
	for (i = 0; i < t->n_told; i++) {
		row = &t->rows[i];
		json_object(j, NULL);
		json_int(j, "stack_id", row->stack_id);
		json_int(j, "samples", (int64_t)row->here.count);
		json_real(j, "share_here", tally_share(&row->here, &t->here));
		json_interval(j, "share_here",
			      tally_share_interval(&row->here, &t->here));
		json_real(j, "share_everyone",
			  tally_share(&row->everyone, &t->everyone));
		if (ratio(&text, t, row))
			json_real(j, "ratio",
				  tally_share(&row->here, &t->here) /
					  tally_share(&row->everyone,
						      &t->everyone));
		else
			json_null(j, "ratio");
		json_text(j, "folded", row->folded);
		json_end_object(j);
	}
	json_end_array(j);
	json_int(j, "stacks_left_out", (int64_t)(t->n_rows - t->n_told));
}

static void print_json(const struct trace *t)
{
	struct json j = { .to = stdout };
	char key[32];
	size_t i;

	report_json(&t->report, &j, "trace");
	json_text(&j, "trace_id", t->hex);
	json_bool(&j, "estimated", true);
	json_int(&j, "samples", (int64_t)t->here.count);
	json_int(&j, "samples_by_time", t->by_time);
	json_text(&j, "pool",
		  t->here.count < FEW_SAMPLES && *t->like ? t->like : NULL);
	snprintf(key, sizeof(key), "estimate_%s", t->report.range.unit);
	json_real(&j, key, t->here.estimate);
	json_interval(&j, key, trace_used(t));
	json_int(&j, "extent_ns", t->last_ns - t->first_ns);
	json_array(&j, "processes");
	for (i = 0; i < t->n_processes && i < ARRAY_LEN(t->processes); i++) {
		json_object(&j, NULL);
		json_int(&j, "pid", t->processes[i].pid);
		json_text(&j, "comm", t->processes[i].comm);
		json_text(&j, "service",
			  *t->processes[i].service ? t->processes[i].service
						   : NULL);
		json_int(&j, "samples", t->processes[i].samples);
		json_int(&j, "threads", t->processes[i].threads);
		json_end_object(&j);
	}
	json_end_array(&j);
	wall_json(&t->wall, &j);
	span_tree_json(&t->spans, &t->report, &j);
	json_stacks(t, &j);
	sequence_json(&t->sequence, &j, t->first_ns);
	json_end_object(&j);
}

static int run(struct trace *t, const struct trace_opts *opts, const char *id,
	       const char *file, struct weft_err *err)
{
	int rc = trace_load(t, &opts->common, file, id, err);

	if (rc)
		return rc;
	if (!opts->common.json)
		return print(t, file ? file : opts->common.input, err);
	print_json(t);
	return 0;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_opts opts = { .rows = 20 };
	struct weft_err err = { 0 };
	struct trace trace = { 0 };
	const char *operands[2];
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, operands);
	if (rc >= 0)
		return rc;
	if (!operands[0])
		return cli_usage(&command, "no trace ID");
	trace.max_rows = opts.rows;
	/* Before the file: a file in the ID's place would be sought in vain. */
	rc = report_check_trace(operands[0], &err);
	if (!rc)
		rc = run(&trace, &opts, operands[0], operands[1], &err);
	trace_release(&trace);
	return rc ? cli_fail(&err) : cli_finish();
}

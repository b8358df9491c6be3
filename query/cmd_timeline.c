/* SPDX-License-Identifier: MIT */
/* weft timeline: the detail samples in the order of time. */
#include <errno.h>
#include <stdio.h>

#include "query/cmd.h"
#include "query/figure.h"
#include "query/gaps.h"
#include "query/lanes.h"
#include "query/report.h"
#include "query/sequence.h"

struct timeline_opts {
	struct cli_common common;
	const char *trace;
	uint64_t rows;
	int64_t tid;
};

static const struct cli_option options[] = {
	{ "trace", 0, "ID", "only this request", CLI_TEXT,
	  offsetof(struct timeline_opts, trace) },
	{ "tid", 0, "TID", "only this thread", CLI_TID,
	  offsetof(struct timeline_opts, tid) },
	{ "rows", 'n', "N", "rows to print (default 100; 0: all)", CLI_NUMBER,
	  offsetof(struct timeline_opts, rows) },
};

static const struct cli_command command = {
	.name = "timeline",
	.operands = "[FILE]",
	.about = "The detail samples in the order of time; samples of a thread "
		 "that follow each\nother on the same stack are one row. AT "
		 "counts from the start of the range. Above\nthe rows they "
		 "stand as a picture: a line for each thread, and below it "
		 "which request\nit worked for.\n\nMarks: `gap`, so long that "
		 "the thread was hardly on a CPU in between, and what it\nwas "
		 "then: `off-CPU` or `runnable` for that part of it (where the "
		 "recording has\nblocks and waits: -e wall), `other request` "
		 "(with --trace), else `not sampled`.\n`other trace`: the "
		 "thread went on to another request, or to none.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

static int print(const struct report *r, const struct sequence *s,
		 bool with_trace, struct weft_err *err)
{
	int64_t detail_n = r->range.parts[r->range.n_parts - 1].detail_n;
	int rc;

	report_print_heading(r);
	if (detail_n == 1)
		printf("detail samples in the order of time; every sample was "
		       "chosen\n\n");
	else
		printf("detail samples in the order of time, one in %lld of "
		       "all; estimated\n\n",
		       (long long)detail_n);
	rc = lanes_print(s, r->range.parts[0].start_ns, report_ns_each(r),
			 with_trace, table_width(), err);
	if (rc)
		return rc;
	return sequence_print(s, r->range.parts[0].start_ns, with_trace, err);
}

static void print_json(const struct report *r, const struct sequence *s)
{
	struct json j = { .to = stdout };

	report_json(r, &j, "timeline");
	json_bool(&j, "estimated", true);
	sequence_json(s, &j, r->range.parts[0].start_ns);
	json_end_object(&j);
}

static int run(struct report *r, struct sequence *s,
	       const struct timeline_opts *opts, const char *file,
	       struct weft_err *err)
{
	struct stacks *stacks = NULL;
	int64_t trace = 0;
	char hex[33];
	int rc = report_open(r, &opts->common, file, err);

	if (!rc && opts->trace)
		rc = report_find_trace(r, opts->trace, &trace, hex, err);
	if (!rc)
		rc = stacks_load_few(&stacks, r->db, err);
	if (!rc)
		rc = sequence_load(s, r, stacks, trace, opts->tid, opts->rows,
				   err);
	stacks_free(stacks);
	if (!rc)
		rc = gaps_explain(s, r, trace, opts->tid, err);
	if (!rc && s->n == 0 && trace)
		return report_no_sample(r, trace, hex, err);
	if (rc)
		return rc;
	db_release(r->db);
	if (s->n == 0)
		return report_nothing(r, true, opts->tid ? "thread" : NULL,
				      opts->tid, err);
	if (!opts->common.json)
		return print(r, s, !trace, err);
	print_json(r, s);
	return 0;
}

int cmd_timeline(int argc, char **argv)
{
	struct timeline_opts opts = { .rows = 100 };
	struct sequence sequence = { 0 };
	struct weft_err err = { 0 };
	struct report report;
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	rc = run(&report, &sequence, &opts, file, &err);
	sequence_release(&sequence);
	report_close(&report);
	return rc ? cli_fail(&err) : cli_finish();
}

/* SPDX-License-Identifier: MIT */
/* weft diff: what changed, and how sure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/diff/print.h"

struct diff_opts {
	struct cli_common common;
	const char *before, *after, *trace, *where, *slow, *by;
	uint64_t rows;
	int64_t pid;
};

static const struct cli_option options[] = {
	{ "before", 0, "TIME", "what was before TIME against what came after",
	  CLI_TEXT, offsetof(struct diff_opts, before) },
	{ "after", 0, "TIME", "what came after TIME against what was before",
	  CLI_TEXT, offsetof(struct diff_opts, after) },
	{ "slow", 0, "PERCENT", "the slowest requests (99: the slowest 1 %)",
	  CLI_TEXT, offsetof(struct diff_opts, slow) },
	{ "where", 0, "KEY=VALUE",
	  "the requests that have this attribute (also !=, ~)", CLI_TEXT,
	  offsetof(struct diff_opts, where) },
	{ "trace", 0, "ID", "one request, among those of its route", CLI_TEXT,
	  offsetof(struct diff_opts, trace) },
	{ "by", 0, "WHAT", "function (default) or stack", CLI_TEXT,
	  offsetof(struct diff_opts, by) },
	{ "pid", 0, "PID", "only this process", CLI_PID,
	  offsetof(struct diff_opts, pid) },
	{ "rows", 'n', "N", "rows of a table to print (default 20; 0: all)",
	  CLI_NUMBER, offsetof(struct diff_opts, rows) },
};

static const struct cli_command command = {
	.name = "diff",
	.operands = "A B | [FILE] --before|--after TIME | [FILE] "
		    "--slow|--where|--trace ...",
	.about =
		"What differs between two recordings, between two stretches "
		"of time of one, or\nbetween requests; how much; and whether "
		"chance alone would do as well.\n\n"
		"Samples of a program come in runs that are alike, so a "
		"thousand of them may tell\nno more than ten would. That is "
		"measured: how much blocks of time (20 on each\nside, of whole "
		"intervals), or requests, differ among themselves. The report "
		"says\nhow many independent samples they are worth (design "
		"effect), and which change\nwould have been found. P is of "
		"the function alone; Q is corrected for all that\nwere tested: "
		"of those with Q < 0.05 at most 1 in 20 is chance. What "
		"surely differs\nmost comes first. Where nothing can be said, "
		"the report says by which rule.\n\n"
		"% are shares of all samples: what the time went into. They "
		"add up to 100, so one\nfalls because another grew. RATE and "
		"USE are how much it was: seconds of CPU time\na second (or "
		"events a second), or of a request. Functions of two files are "
		"the\nsame if their names and their binaries' file names "
		"are.\n\n"
		"--before and --after cut a recording; both leave out what is "
		"between. --slow\ntakes the duration of root spans, or where "
		"there are none the time from a\nrequest's first sample to "
		"its last. A single request (--trace) cannot be tested\n"
		"against others: its own share is told, and how many others "
		"have as large a one.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 2,
};

/* The one mode that was asked for. Returns 0, or the status after a usage
 * error. */
static int take_mode(struct diff *d, const struct diff_opts *opts,
		     const char *const *files)
{
	bool cut = opts->before || opts->after;
	int asked = cut + (opts->slow != NULL) + (opts->where != NULL) +
		    (opts->trace != NULL) + (files[1] != NULL);

	if (asked == 0)
		return cli_usage(&command,
				 "what is to be compared? Give two files, or "
				 "one of --before, --after, --slow, --where, "
				 "--trace");
	if (asked > 1)
		return cli_usage(&command,
				 "two files, a time (--before, --after), "
				 "--slow, --where and --trace are different "
				 "questions: give one of them");
	if (files[1] && opts->common.input)
		return cli_usage(&command, "-i names a third file");
	d->mode = files[1]      ? DIFF_TWO_FILES
		  : cut         ? DIFF_CUT
		  : opts->slow  ? DIFF_SLOW
		  : opts->where ? DIFF_WHERE
				: DIFF_TRACE;
	d->files[0] = files[0];
	d->files[1] = files[1];
	d->before = opts->before;
	d->after = opts->after;
	d->trace = opts->trace;
	return 0;
}

static int take_options(struct diff *d, const struct diff_opts *opts)
{
	struct weft_err err = { 0 };

	d->by_stack = !strcmp(opts->by, "stack");
	if (!d->by_stack && strcmp(opts->by, "function") != 0)
		return cli_usage(&command,
				 "--by is function or stack, not '%s'",
				 opts->by);
	d->pid = opts->pid;
	if (opts->where && spans_parse_where(&d->where, opts->where, &err))
		return cli_usage(&command, "%s", err.msg);
	if (opts->trace && report_check_trace(opts->trace, &err))
		return cli_usage(&command, "%s", err.msg);
	if (!opts->slow)
		return 0;
	if (!cli_percentage(opts->slow, &d->slow) ||
	    !(d->slow > 0 && d->slow < 100))
		return cli_usage(&command,
				 "--slow takes a percentage above 0 and below "
				 "100, as 99 for the slowest 1 %%; not '%s'",
				 opts->slow);
	return 0;
}

static int run(struct diff *d, const struct diff_opts *opts,
	       struct weft_err *err)
{
	int rc = diff_load(d, &opts->common, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < d->n_reports; i++)
		db_release(d->reports[i].db);
	return opts->common.json ? diff_print_json(d, opts->rows, err)
				 : diff_print(d, opts->rows, err);
}

int cmd_diff(int argc, char **argv)
{
	struct diff_opts opts = { .by = "function", .rows = 20 };
	struct weft_err err = { 0 };
	const char *files[2];
	struct diff d = { 0 };
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, files);
	if (rc >= 0)
		return rc;
	rc = take_mode(&d, &opts, files);
	if (!rc)
		rc = take_options(&d, &opts);
	if (rc)
		return rc;
	rc = run(&d, &opts, &err);
	diff_release(&d);
	return rc ? cli_fail(&err) : cli_finish();
}

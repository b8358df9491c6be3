/* SPDX-License-Identifier: MIT */
/* weft loss: what was counted and what was not, and whether it adds up. */
#include <math.h>
#include <stdlib.h>

#include "query/cmd.h"
#include "query/loss/loss.h"

struct loss_opts {
	struct cli_common common;
	const char *fail_above;
	uint64_t rows;
	bool prometheus;
};

static const struct cli_option options[] = {
	{ "fail-above", 0, "PERCENT",
	  "exit with 1 if more than that was lost or does not add up", CLI_TEXT,
	  offsetof(struct loss_opts, fail_above) },
	{ "prometheus", 0, NULL,
	  "print the ledger of all events as Prometheus reads it", CLI_FLAG,
	  offsetof(struct loss_opts, prometheus) },
	{ "rows", 'n', "N", "names of processes to print (default 10; 0: all)",
	  CLI_NUMBER, offsetof(struct loss_opts, rows) },
};

static const struct cli_command command = {
	.name = "loss",
	.operands = "[FILE]",
	.about = "The ledger: where every firing and every choice of a detail "
		 "sample ended, and\nwhether the sums agree, over all and in "
		 "the worst interval. \"not measured\" is\nnot 0.\n\n"
		 "Then, by process name, how many samples have a whole stack. "
		 "Complete: the walk\nover user frames reached the first "
		 "function. Truncated: there are more frames\nthan are "
		 "recorded. Broken: a caller was not found; why is one word, "
		 "explained\nbelow the table. Lost: the stack found no room. "
		 "Samples without a user stack\n(kernel threads, programs "
		 "being replaced) are left out.\n\n"
		 "Last, by process, how many detail samples have a trace ID, "
		 "from which source,\nand why the others have none.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

static int run(const struct loss_opts *opts, const char *file, double *worst,
	       struct weft_err *err)
{
	struct loss loss = { 0 };
	int rc;

	if (opts->prometheus)
		return loss_prometheus(&opts->common, file, worst, err);
	rc = loss_load(&loss, &opts->common, file, err);
	*worst = rc ? 0 : loss_worst_percent(&loss);
	if (!rc && opts->common.json)
		loss_json(&loss);
	else if (!rc)
		rc = loss_print(&loss, opts->rows, err);
	loss_release(&loss);
	return rc;
}

int cmd_loss(int argc, char **argv)
{
	struct loss_opts opts = { .rows = 10 };
	struct weft_err err = { 0 };
	double limit = INFINITY, worst;
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	if (opts.fail_above && !cli_percentage(opts.fail_above, &limit))
		return cli_usage(&command,
				 "--fail-above takes a percentage, not '%s'",
				 opts.fail_above);
	if (opts.prometheus && (opts.common.json || opts.common.event))
		return cli_usage(&command, "--prometheus is of all events, and "
					   "has a format of its own");
	rc = run(&opts, file, &worst, &err);
	if (rc)
		return cli_fail(&err);
	rc = cli_finish();
	if (worst > limit) {
		weft_log(WEFT_ERROR,
			 "%.4g %% was lost or does not add up; the "
			 "limit is %.4g %%",
			 worst, limit);
		return WEFT_EXIT_FAILED;
	}
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* weft flame: a flame graph as a page of its own. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "query/cmd.h"
#include "query/flame/page.h"
#include "query/output.h"

struct flame_opts {
	struct cli_common common;
	const char *output, *against, *trace, *where;
	uint64_t traces, frames;
	int64_t pid;
};

static const struct cli_option options[] = {
	{ "output", 'o', "OUT",
	  "write the page to OUT (default standard output)", CLI_TEXT,
	  offsetof(struct flame_opts, output) },
	{ "against", 0, "OTHER",
	  "show where this file differs from the file OTHER", CLI_TEXT,
	  offsetof(struct flame_opts, against) },
	{ "trace", 0, "ID", "begin with this request against all samples",
	  CLI_TEXT, offsetof(struct flame_opts, trace) },
	{ "where", 0, "KEY=VALUE",
	  "draw the requests of this attribute (also !=, ~) as one request",
	  CLI_TEXT, offsetof(struct flame_opts, where) },
	{ "pid", 0, "PID", "only this process", CLI_PID,
	  offsetof(struct flame_opts, pid) },
	{ "traces", 0, "N",
	  "requests to pick from (default 300; 0: none): those with most CPU "
	  "time",
	  CLI_NUMBER, offsetof(struct flame_opts, traces) },
	{ "frames", 0, "N",
	  "frames to draw at most (default 200000; smaller ones are folded)",
	  CLI_NUMBER, offsetof(struct flame_opts, frames) },
};

enum {
	TRACES_MAX = 10000,
	FRAMES_MAX = 2000000
};

static const struct cli_command command = {
	.name = "flame",
	.operands = "[FILE]",
	.about = "A flame graph as one HTML page that needs nothing else: no "
		 "network, no server.\nThe width of a frame is its exact share "
		 "of all samples; pointing at it tells the\n95 % interval, of "
		 "this recording. Click to zoom, / to search, ? for the keys.\n"
		 "Pick a request below the graph, and it shows that request's "
		 "samples (estimated\nfrom detail), coloured by how much more "
		 "or less of each frame it has than all.\n\n--json prints the "
		 "page's data instead.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

static int write_to(const struct flame_load *l, bool as_json, FILE *to,
		    struct weft_err *err)
{
	if (as_json ? flame_page_json(l, to) : flame_page_write(l, to))
		return weft_fail(err, -ENOMEM,
				 "out of memory for the flame graph");
	return 0;
}

static int write_file(const struct flame_load *l, bool as_json,
		      const char *path, struct weft_err *err)
{
	FILE *to;
	int rc = output_open(&to, path, err);

	if (rc)
		return rc;
	return output_close(to, path, write_to(l, as_json, to, err), err);
}

static int run(struct flame_load *l, const struct flame_opts *opts,
	       const char *file, struct weft_err *err)
{
	bool is_stdout = !opts->output || !strcmp(opts->output, "-");
	int rc = flame_load(l, &opts->common, file, err);

	if (rc)
		return rc;
	db_release(l->traces.report.db);
	return is_stdout ? write_to(l, opts->common.json, stdout, err)
			 : write_file(l, opts->common.json, opts->output, err);
}

int cmd_flame(int argc, char **argv)
{
	struct flame_opts opts = { .traces = 300, .frames = 200000 };
	struct flame_load load = { 0 };
	struct weft_err err = { 0 };
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	if (opts.against && opts.pid)
		return cli_usage(&command, "--pid is of one file: a process of "
					   "OTHER has another number");
	if (opts.where && opts.trace)
		return cli_usage(&command, "--trace is one request, --where "
					   "many: give one of them");
	if (opts.traces > TRACES_MAX)
		return cli_usage(&command, "--traces takes at most %d",
				 TRACES_MAX);
	if (opts.frames < 100 || opts.frames > FRAMES_MAX)
		return cli_usage(&command, "--frames takes 100 to %d",
				 FRAMES_MAX);
	if (!opts.output && !opts.common.json && isatty(STDOUT_FILENO))
		return cli_usage(&command, "a page is not for a terminal: name "
					   "a file with -o OUT.html");
	load.pid = opts.pid;
	load.against = opts.against;
	load.trace = opts.trace;
	load.where = opts.where;
	load.max_traces = opts.trace && !opts.traces ? 1 : opts.traces;
	load.max_nodes = opts.frames;
	rc = run(&load, &opts, file, &err);
	flame_load_release(&load);
	return rc ? cli_fail(&err) : cli_finish();
}

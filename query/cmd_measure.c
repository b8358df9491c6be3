/* SPDX-License-Identifier: MIT */
/* weft measure: what the kernel counted, added up and sorted into buckets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "query/cmd.h"
#include "query/measure/examples.h"
#include "query/measure/print.h"
#include "query/measure/run.h"
#include "query/report.h"
#include "query/spans.h"

enum {
	OPERANDS_MAX = 16,
	BUCKET_EXAMPLES = 3 /* by default */
};

struct measure_opts {
	struct cli_common common;
	uint64_t rows;
	const char *div, *unit, *every;
	const char *pid, *tid, *cgroup, *duration, *output, *max_keys;
	uint64_t examples;
	const char *bucket;
	struct measure_wanted wanted; /* by these two */
	bool all, clear;
	/* Of --every */
	uint64_t every_ns;
	int64_t printed; /* the last interval that was, with clear */
	bool is_open;    /* the recording that was printed had no end */
};

#define OPTION(field) offsetof(struct measure_opts, field)

static const struct cli_option options[] = {
	{ "rows", 'n', "N",
	  "keys to print, the greatest first (default 20; 0: all)", CLI_NUMBER,
	  OPTION(rows) },
	{ "div", 0, "N", "divide counts, sums and values by N", CLI_TEXT,
	  OPTION(div) },
	{ "unit", 0, "ns|bytes|none", "what values are of", CLI_TEXT,
	  OPTION(unit) },
	{ "all", 'a', NULL, "measure the whole machine (the default)", CLI_FLAG,
	  OPTION(all) },
	{ "pid", 'p', "PID[,PID]", "measure these processes", CLI_TEXT,
	  OPTION(pid) },
	{ "tid", 't', "TID[,TID]", "measure these threads", CLI_TEXT,
	  OPTION(tid) },
	{ "cgroup", 0, "PATH", "measure this cgroup", CLI_TEXT,
	  OPTION(cgroup) },
	{ "duration", 'd', "SECONDS",
	  "measure so long (default: until ^C, or CMD ends)", CLI_TEXT,
	  OPTION(duration) },
	{ "every", 0, "SECONDS", "print so often meanwhile", CLI_TEXT,
	  OPTION(every) },
	{ "clear", 0, NULL, "then each time begin anew", CLI_FLAG,
	  OPTION(clear) },
	{ "max-keys", 0, "N", "keys of each in an interval (default 4096)",
	  CLI_TEXT, OPTION(max_keys) },
	{ "examples", 0, "N",
	  "with N events of each bucket: request, thread, time, stack (default 0)",
	  CLI_NUMBER, OPTION(examples) },
	{ "bucket", 0, "VALUE",
	  "only those of the bucket that holds it, as 100ms or 64K (3 of them)",
	  CLI_TEXT, OPTION(bucket) },
	{ "output", 'o', "FILE", "keep the recording in FILE", CLI_TEXT,
	  OPTION(output) },
};

static const struct cli_command command = {
	.name = "measure",
	.operands = "TEXT... [-- CMD [ARG...]] | [NAME]",
	.about =
		"Have the kernel count, add up, or sort into buckets, and print that at the end;\n"
		"or print what a recording has (made by weft record --measure TEXT), by NAME.\n"
		"\n"
		"  TEXT  [NAME =] AGG [by KEY[, KEY...]] @ PROBE [if TERM OP NUMBER [and ...]]\n"
		"  AGG   count(), sum(V), avg(V), min(V), max(V), stats(V), hist(V),\n"
		"        lhist(V, MIN, MAX, STEP)\n"
		"  V     args.FIELD  of a tracepoint or a system call, as its format names it\n"
		"        arg0..arg5, retval  of a function or a system call; (int)retval\n"
		"        elapsed     ns from entry to return: at sys_exit_NAME, at a uretprobe\n"
		"  KEY   comm, pid, tid, cpu, cgroup (its path), stack, attr.KEY (an attribute of the\n"
		"        request, as http.route; one in a recording), or a V\n"
		"  PROBE tracepoint:CATEGORY:NAME, uprobe:PATH:SYMBOL[+OFFSET],\n"
		"        uretprobe:PATH:SYMBOL, usdt:PATH:PROVIDER:NAME\n"
		"  OP    == != < <= > >=; numbers take ns, us, ms, s, k, M, G; comm == \"NAME\"\n"
		"\n"
		"  weft measure 'count() by comm @ tracepoint:raw_syscalls:sys_enter' -d 5\n"
		"  weft measure 'hist(args.count) @ tracepoint:syscalls:sys_enter_read' -- CMD\n"
		"  weft measure --examples 3 'hist(elapsed) @ uretprobe:/bin/x:f' -p 12\n"
		"  weft measure 'sum(args.ret) by comm @ tracepoint:syscalls:sys_exit_read\n"
		"                if args.ret > 0'",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = OPERANDS_MAX,
};

static int parse_look(const struct measure_opts *o, struct measure_look *out)
{
	*out = (struct measure_look){ .rows = o->rows, .div = 1 };
	if (o->div && weft_parse_u64(o->div, 1, INT64_MAX, &out->div))
		return cli_usage(&command,
				 "--div takes a number from 1, not '%s'",
				 o->div);
	if (!o->unit)
		return -1;
	out->unit = !strcmp(o->unit, "none") ? "" : o->unit;
	if (*out->unit && strcmp(o->unit, "ns") && strcmp(o->unit, "bytes"))
		return cli_usage(&command,
				 "--unit takes ns, bytes or none, not '%s'",
				 o->unit);
	return -1;
}

static int print_all(const struct report *r, const struct measures *m,
		     const struct measure_opts *o, struct weft_err *err)
{
	struct measure_look look;
	struct json j = { .to = stdout };
	int rc = 0;

	(void)parse_look(o, &look); /* checked before */
	look.is_open = r->range.is_open;
	if (!o->common.json) {
		for (size_t i = 0; i < m->n && !rc; i++)
			rc = measure_print(&m->list[i], &look, err);
		return rc;
	}
	report_json(r, &j, "measure");
	json_array(&j, "measures");
	for (size_t i = 0; i < m->n; i++)
		measure_json(&m->list[i], &j);
	json_end_array(&j);
	json_end_object(&j);
	return 0;
}

/* Print from a file; only intervals after o->printed. */
static int print_file(struct measure_opts *o, const char *name,
		      struct weft_err *err)
{
	struct measures m = { 0 };
	struct report r;
	struct range_part *part;
	int rc = report_open(&r, &o->common, NULL, err);

	if (!rc) {
		part = &r.range.parts[r.range.n_parts - 1];
		if (o->clear && o->printed >= part->first_interval)
			part->first_interval = o->printed + 1;
		o->printed = part->last_interval;
		o->is_open = r.range.is_open;
		rc = measures_load(&m, r.db, &r.range, name, err);
	}
	if (!rc && o->wanted.n)
		rc = measure_examples_load(&m, r.db, &r.range, &o->wanted, err);
	if (!rc) {
		db_release(r.db);
		rc = print_all(&r, &m, o, err);
	}
	measures_release(&m);
	report_close(&r);
	return rc;
}

static int print_run(void *ctx, const char *path, bool is_last,
		     struct weft_err *err)
{
	struct measure_opts *o = ctx;
	int rc;

	o->common.input = path;
	rc = print_file(o, NULL, err);
	if (!is_last)
		fflush(stdout);
	else if (!rc && o->is_open)
		weft_log(
			WEFT_WARN,
			"recording did not come to its end: what was counted since the last interval that is stored is missing above");
	return rc;
}

static int run(struct measure_opts *o, const char *const *texts,
	       char *const *cmd)
{
	struct measure_run run = {
		.text = texts,
		.pid = o->pid,
		.tid = o->tid,
		.cgroup = o->cgroup,
		.duration = o->duration,
		.max_keys = o->max_keys,
		.examples = o->wanted.n,
		.output = o->output,
		.command = cmd,
		.every_ns = o->every_ns,
		.print = print_run,
		.ctx = o,
	};

	while (run.n_text < OPERANDS_MAX && texts[run.n_text])
		run.n_text++;
	return measure_run(&run);
}

/* A measure's text, not the name of one: that has no such characters. Whether
 * it is a whole one, weft-record says. */
static bool is_text(const char *operand)
{
	return operand && strpbrk(operand, "@(");
}

static int parse_wanted(struct measure_opts *o)
{
	struct measure_wanted *w = &o->wanted;
	uint64_t n;

	w->n = o->examples;
	if (!o->bucket)
		return -1;
	w->of_bucket = true;
	if (!w->n)
		w->n = BUCKET_EXAMPLES;
	if (!weft_parse_size(o->bucket, 0, INT64_MAX, &n))
		w->value = (int64_t)n;
	else if (spans_parse_duration(o->bucket, &w->value))
		return cli_usage(
			&command,
			"--bucket takes a value in the bucket, as 100ms or 64K, not '%s'",
			o->bucket);
	return -1;
}

/* What was given must make sense together; -1: it does. */
static int check(struct measure_opts *o, const char *const *operands,
		 char *const *cmd)
{
	bool records = is_text(operands[0]);
	struct measure_look look;
	int rc = parse_look(o, &look);

	if (rc < 0)
		rc = parse_wanted(o);
	if (rc >= 0)
		return rc;
	if (o->every && weft_parse_seconds(o->every, 100000000, INT64_MAX / 2,
					   &o->every_ns))
		return cli_usage(&command,
				 "--every takes seconds from 0.1, not '%s'",
				 o->every);
	if (o->clear && !o->every)
		return cli_usage(&command, "--clear goes with --every");
	if (records && o->common.input)
		return cli_usage(
			&command,
			"-i is for reading; -o FILE keeps what is measured");
	for (size_t i = 1; i < OPERANDS_MAX && operands[i]; i++)
		if (!records || !is_text(operands[i]))
			return cli_usage(&command, "unexpected '%s'",
					 operands[i]);
	if (!records && (cmd || o->every || o->pid || o->tid || o->cgroup ||
			 o->duration || o->output || o->max_keys))
		return cli_usage(
			&command,
			"nothing to measure: TEXT is missing, as in 'count() by comm @ tracepoint:raw_syscalls:sys_enter'");
	return -1;
}

int cmd_measure(int argc, char **argv)
{
	struct measure_opts opts = { .rows = 20 };
	const char *operands[OPERANDS_MAX];
	struct weft_err err = { 0 };
	char **cmd = NULL;
	int rc;

	for (int i = 1; i < argc && !cmd; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		cmd = argv + i + 1;
		argv[i] = NULL;
		argc = i;
	}
	rc = cli_parse(&command, argc, argv, &opts, operands);
	if (rc < 0)
		rc = check(&opts, operands, cmd);
	if (rc >= 0)
		return rc;
	if (is_text(operands[0]))
		return run(&opts, operands, cmd);
	rc = print_file(&opts, operands[0], &err);
	return rc ? cli_fail(&err) : cli_finish();
}

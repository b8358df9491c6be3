/* SPDX-License-Identifier: MIT */
/* weft export: a recording's stacks in formats that others read. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/cmd.h"
#include "query/export/export.h"
#include "query/output.h"

struct export_opts {
	struct cli_common common;
	const char *format, *output, *only, *trace;
	int64_t pid;
	uint64_t max_stacks;
};

static const struct cli_option options[] = {
	{ "format", 'f', "FORMAT",
	  "one of these (default: as OUT is called, else folded)", CLI_TEXT,
	  offsetof(struct export_opts, format) },
	{ "output", 'o', "OUT", "write to OUT (default standard output)",
	  CLI_TEXT, offsetof(struct export_opts, output) },
	{ "only", 0, "shape|detail",
	  "the exact counts, or the samples (default shape; otlp: both)",
	  CLI_TEXT, offsetof(struct export_opts, only) },
	{ "trace", 0, "ID", "only this request; its samples are of detail",
	  CLI_TEXT, offsetof(struct export_opts, trace) },
	{ "pid", 0, "PID", "only this process", CLI_PID,
	  offsetof(struct export_opts, pid) },
	{ "max-stacks", 0, "N",
	  "of folded, the N most frequent; the rest as [other] (0: all)",
	  CLI_NUMBER, offsetof(struct export_opts, max_stacks) },
};

static const struct cli_command command = {
	.name = "export",
	.operands = "[FILE]",
	.about =
		"The stacks of a recording, for other tools. Shape: exact "
		"counts of all stacks.\nDetail: the samples that were sent one "
		"by one, each with its weight, so that sums\nestimate the "
		"same; they have threads, times and trace IDs.\n\n"
		"  folded      .folded           lines `process;frame;frame "
		"COUNT`, root first\n"
		"  pprof       .pb.gz            go tool pprof, Perfetto and "
		"others\n"
		"  speedscope  .speedscope.json  speedscope.app\n"
		"  otlp        .otlp             OTLP profiles, as sent to "
		"/v1development/profiles\n"
		"  csv, json   .csv, .json       a row for each count or "
		"sample\n\n"
		"One event per export (--event). All text is valid UTF-8. In "
		"names of functions,\nprocesses and files control characters "
		"and what is not UTF-8 read \\xNN. In "
		"stacks\nas text (folded; csv and json have them without the "
		"process) there are no\nescapes: `;` reads `:`, control "
		"characters `?`, what is not UTF-8 U+FFFD. Kernel\nframes end "
		"in _[k], but in pprof and otlp, which mark them otherwise.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

static const struct format {
	const char *name, *suffix;
	export_fn *write;
	bool is_binary;
	bool has_both; /* room for shape and detail */
} formats[] = {
	{ "folded", ".folded", export_folded, false, false },
	{ "pprof", ".pb.gz", export_pprof, true, false },
	{ "speedscope", ".speedscope.json", export_speedscope, false, false },
	{ "otlp", ".otlp", export_otlp, true, true },
	{ "csv", ".csv", export_csv, false, false },
	{ "json", ".json", export_json, false, false },
};

int export_walk(const struct export *x, enum profile_order order,
		profile_fn *fn, void *ctx, struct weft_err *err)
{
	return profile_walk(x->report, x->frames, &x->choice,
			    x->detail ? PROFILE_DETAIL : PROFILE_SHAPE, order,
			    fn, ctx, err);
}

double export_count(const struct profile_sample *s)
{
	return (double)s->count * s->weight;
}

double export_value(const struct profile_sample *s)
{
	return (double)s->value * s->weight;
}

int64_t export_whole(double exact, double *carry)
{
	double rounded = round(exact + *carry);

	/* More than a number of 64 bits is damage, and owes nothing. */
	if (!(fabs(rounded) < 0x1p63))
		return INT64_MAX;
	*carry += exact - rounded;
	return (int64_t)rounded;
}

void export_event_type(const struct export *x, char out[64])
{
	const char *name = x->report->range.event;

	if (!strcmp(name, "cpu-clock"))
		name = "cpu";
	weft_sanitize(out, 64, name, strlen(name));
	for (; *out; out++)
		if (*out == '-')
			*out = '_';
}

const char *export_event_unit(const struct export *x)
{
	return !strcmp(x->report->range.unit, "ns") ? "nanoseconds" : "count";
}

const char *export_mapping_name(const struct frames_binary *b)
{
	return b->kind == FRAMES_KERNEL ? "[kernel.kallsyms]" : b->path;
}

void export_ledger_text(const struct ledger_entry *e, char out[64])
{
	if (e->is_measured)
		snprintf(out, 64, "%s=%" PRIu64, e->name, e->count);
	else
		snprintf(out, 64, "%s: not measured", e->name);
}

int export_no_memory(const struct export *x, struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the export of '%s'",
			 db_path(x->report->db));
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t size = strlen(text), n = strlen(suffix);

	return size > n && !strcmp(text + size - n, suffix);
}

/* The format that is asked for; NULL: there is none of that name. */
static const struct format *find_format(const struct export_opts *opts)
{
	size_t i;

	for (i = 0; opts->format && i < ARRAY_LEN(formats); i++)
		if (!strcmp(opts->format, formats[i].name))
			return &formats[i];
	for (i = 0; !opts->format && opts->output && i < ARRAY_LEN(formats);
	     i++)
		if (ends_with(opts->output, formats[i].suffix))
			return &formats[i];
	return opts->format ? NULL : &formats[0];
}

static int usage_of_format(const char *word)
{
	const char *names[ARRAY_LEN(formats) + 1] = { NULL };
	const char *near;
	char list[128] = "";
	size_t i, n = 0;

	for (i = 0; i < ARRAY_LEN(formats); i++) {
		names[i] = formats[i].name;
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
				      i ? ", " : "", names[i]);
	}
	near = weft_nearest(word, names);
	return cli_usage(&command, "no format '%s'%s%s%s; there are %s", word,
			 near ? "; did you mean '" : "", near ? near : "",
			 near ? "'?" : "", list);
}

/* Is there anything to write? Asked first, so that an empty export leaves OUT
 * as it was. */
static int check_any(const struct export *x, struct weft_err *err)
{
	int any = 0;

	if (x->shape)
		any = profile_any(x->report, &x->choice, PROFILE_SHAPE, err);
	if (!any && x->detail)
		any = profile_any(x->report, &x->choice, PROFILE_DETAIL, err);
	if (any)
		return any < 0 ? any : 0;
	if (x->choice.trace)
		return report_no_sample(x->report, x->choice.trace,
					x->trace_hex, err);
	return weft_fail(err, -ENODATA, "'%s' has no sample to export%s",
			 db_path(x->report->db),
			 x->shape ? "" : "; detail may have been off");
}

static int write_file(struct export *x, const struct format *format,
		      const char *path, struct weft_err *err)
{
	int rc = output_open(&x->to, path, err);

	if (rc)
		return rc;
	return output_close(x->to, path, format->write(x, err), err);
}

/* Into a file without a name first: a failure gives no half export, and a slow
 * pipe holds up no writer of the recording. */
static int write_stdout(struct export *x, const struct format *format,
			struct weft_err *err)
{
	char part[65536];
	size_t n;
	int rc;

	x->to = tmpfile();
	if (!x->to) {
		rc = -errno;
		return weft_fail(err, rc,
				 "cannot make a temporary file: %s; name one "
				 "to write to with -o",
				 strerror(-rc));
	}
	rc = format->write(x, err);
	if (!rc && (fflush(x->to) || ferror(x->to)))
		rc = weft_fail(err, -EIO,
			       "cannot write a temporary file; name one to "
			       "write to with -o");
	if (!rc) {
		db_release(x->report->db);
		rewind(x->to);
		while ((n = fread(part, 1, sizeof(part), x->to)) > 0)
			if (fwrite(part, 1, n, stdout) != n)
				break; /* cli_finish() says so */
	}
	fclose(x->to);
	return rc;
}

static int run(struct export *x, const struct format *format,
	       const struct export_opts *opts, const char *file,
	       struct weft_err *err)
{
	int rc = report_open(x->report, &opts->common, file, err);

	if (!rc && opts->trace)
		rc = report_find_trace(x->report, opts->trace, &x->choice.trace,
				       x->trace_hex, err);
	if (!rc)
		rc = check_any(x, err);
	if (rc)
		return rc;
	db_sort_on_disk(x->report->db);
	rc = frames_load(&x->frames, x->report->db, err);
	if (!rc && opts->output && strcmp(opts->output, "-") != 0)
		return write_file(x, format, opts->output, err);
	return rc ? rc : write_stdout(x, format, err);
}

/* Which forms; -1, or the status of a usage error. */
static int choose_forms(struct export *x, const struct format *format,
			const struct export_opts *opts)
{
	if (opts->only && strcmp(opts->only, "shape") != 0 &&
	    strcmp(opts->only, "detail") != 0)
		return cli_usage(&command,
				 "--only takes 'shape' or 'detail', not '%s'",
				 opts->only);
	if (opts->trace && opts->only && !strcmp(opts->only, "shape"))
		return cli_usage(&command, "shape knows no traces: --trace "
					   "exports detail");
	x->detail = opts->trace || (opts->only ? !strcmp(opts->only, "detail")
					       : format->has_both);
	x->shape = !opts->trace && (opts->only ? !x->detail : true);
	return -1;
}

int cmd_export(int argc, char **argv)
{
	struct report report = { 0 };
	struct export x = { .report = &report };
	struct export_opts opts = { 0 };
	struct weft_err err = { 0 };
	const struct format *format;
	const char *file;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	format = find_format(&opts);
	if (!format)
		return usage_of_format(opts.format);
	if (opts.common.json)
		return cli_usage(&command, "an export is not a report: it has "
					   "no --json; --format json has rows");
	rc = choose_forms(&x, format, &opts);
	if (rc >= 0)
		return rc;
	if (format->is_binary && !opts.output && isatty(STDOUT_FILENO))
		return cli_usage(&command,
				 "%s is not for a terminal: name a file with "
				 "-o",
				 format->name);
	if (opts.max_stacks && format->write != export_folded)
		return cli_usage(&command,
				 "--max-stacks is for folded: %s has each "
				 "stack once anyway",
				 format->name);
	x.choice.pid = opts.pid;
	x.max_stacks = opts.max_stacks;
	rc = run(&x, format, &opts, file, &err);
	frames_free(x.frames);
	report_close(&report);
	return rc ? cli_fail(&err) : cli_finish();
}

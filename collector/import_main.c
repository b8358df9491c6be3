/* SPDX-License-Identifier: MIT */
/* weft-import: spans for a recording, from files of OpenTelemetry's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/option_table.h"
#include "collector/otlp/file.h"

enum {
	OPT_JSON = OPTION_NO_LETTER,
	OPT_PROTO,
	OPT_VERSION
};

static const struct option_row rows[] = {
	{ 'i', "input", "FILE",
	  "the recording (default $WEFT_DB, else weft.db)" },
	{ OPT_JSON, "json", NULL,
	  "SPANS are JSON (default: by their first bytes)" },
	{ OPT_PROTO, "proto", NULL, "SPANS are protobuf" },
	{ 'q', "quiet", NULL, "say nothing but errors" },
	{ 'h', "help", NULL, "this text" },
	{ OPT_VERSION, "version", NULL, "the version" },
};

struct import {
	const char *file;
	char **paths; /* SPANS, NULL at the end; borrowed */
	enum otlp_form form;
	enum weft_level log_level;
};

static void print_help(void)
{
	printf("usage: weft import-spans [options] SPANS...\n"
	       "\n"
	       "Add spans to a recording, so that requests have names, durations and a place\n"
	       "for each sample. SPANS are files of OTLP traces, or - for standard input: JSON,\n"
	       "one document or one on each line (as the OpenTelemetry Collector's file exporter\n"
	       "writes them), or protobuf, one message or each after its length; gzipped or not.\n"
	       "All of them are added, or on an error none. Spans that are there already stay as\n"
	       "they are, so a file may be imported again.\n"
	       "\n"
	       "options:\n");
	option_table_print(rows, ARRAY_LEN(rows), 18);
	printf("\nexit status: 0 done, 1 failed, 2 usage, 3 no permission, 4 no span in them\n");
}

/* Returns -1 to go on, or the exit status. */
static int parse(int argc, char **argv, struct import *to)
{
	const char *env = getenv("WEFT_DB");
	struct option_walk walk;
	int id;

	to->file = env && *env ? env : "weft.db";
	option_walk_begin(&walk, rows, ARRAY_LEN(rows), argc, argv, false);
	while ((id = option_walk_next(&walk)) != -1) {
		switch (id) {
		case 'i':
			to->file = optarg;
			break;
		case OPT_JSON:
			to->form = OTLP_JSON;
			break;
		case OPT_PROTO:
			to->form = OTLP_PROTO;
			break;
		case 'q':
			to->log_level = WEFT_ERROR;
			break;
		case 'h':
			print_help();
			return WEFT_EXIT_OK;
		case OPT_VERSION:
			printf("weft %s\n", WEFT_VERSION);
			return WEFT_EXIT_OK;
		default: /* OPTION_WRONG */
			weft_log(WEFT_ERROR, "%s", walk.wrong);
			return WEFT_EXIT_USAGE;
		}
	}
	to->paths = argv + optind;
	if (*to->paths)
		return -1;
	weft_log(WEFT_ERROR,
		 "no file of spans; usage: weft import-spans [-i FILE] "
		 "SPANS... (--help says more)");
	return WEFT_EXIT_USAGE;
}

static int read_all(const struct import *from, struct otlp_spans *spans,
		    struct weft_err *err)
{
	for (char **path = from->paths; *path; path++) {
		bool is_cut;
		int rc = otlp_read_file(spans, *path, from->form, &is_cut, err);

		if (rc)
			return rc;
		if (is_cut)
			weft_log(WEFT_WARN,
				 "'%s' is cut short: what is incomplete at its "
				 "end was left out; import it again when it is "
				 "whole",
				 *path);
	}
	return 0;
}

static int store(const char *file, const struct otlp_spans *spans,
		 size_t *added, struct weft_err *err)
{
	struct store *st;
	int rc = store_open_to_amend(&st, file, err), rc_close;

	if (rc)
		return rc;
	rc = store_write_spans(st, spans->spans, spans->n, spans->text,
			       spans->text_size, added, err);
	rc_close = store_close(st, 0, rc ? NULL : err);
	return rc ? rc : rc_close;
}

static void tell(const struct import *from, const struct otlp_spans *spans,
		 size_t added)
{
	weft_log(WEFT_INFO, "%zu spans added to '%s'; %zu were there already",
		 added, from->file, spans->n - added);
	if (spans->rejected)
		weft_log(WEFT_WARN,
			 "%llu spans were left out: of the first (%s), %s",
			 (unsigned long long)spans->rejected, spans->where,
			 spans->why);
	if (spans->others)
		weft_log(WEFT_INFO,
			 "%llu batches of metrics or logs were passed over",
			 (unsigned long long)spans->others);
}

static int import(const struct import *from)
{
	struct otlp_spans spans = { 0 };
	struct weft_err err = { 0 };
	size_t added = 0;
	int rc = read_all(from, &spans, &err);

	if (!rc && spans.n)
		rc = store(from->file, &spans, &added, &err);
	if (rc) {
		weft_log(WEFT_ERROR, "%s", err.msg);
		rc = weft_exit_for(err.code);
	} else {
		tell(from, &spans, added);
	}
	if (!rc && !spans.n) {
		weft_log(WEFT_ERROR, "there is no span to add");
		rc = WEFT_EXIT_NOTHING_MATCHED;
	}
	otlp_release(&spans);
	return rc;
}

int main(int argc, char **argv)
{
	struct import from = { .log_level = WEFT_INFO };
	int status;

	weft_log_init("weft import-spans", WEFT_INFO);
	status = parse(argc, argv, &from);
	if (status >= 0)
		return status;
	weft_log_init("weft import-spans", from.log_level);
	return import(&from);
}

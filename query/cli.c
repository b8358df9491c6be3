/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/cli.h"

enum {
	MAX_OPTIONS = 32,
	FIRST_LONG = 256
};

#define COMMON(field) offsetof(struct cli_common, field)

static const struct cli_option common_options[] = {
	{ "input", 'i', "FILE", "read FILE (default $WEFT_DB, then weft.db)",
	  CLI_TEXT, COMMON(input) },
	{ "json", 0, NULL, "print one JSON object", CLI_FLAG, COMMON(json) },
	{ "help", 'h', NULL, "print this help", CLI_FLAG, COMMON(help) },
};

static const struct cli_option range_options[] = {
	{ "recording", 0, "N|all",
	  "of several recordings in the file (default the last)", CLI_TEXT,
	  COMMON(recording) },
	{ "event", 0, "NAME", "what was sampled (default the timer)", CLI_TEXT,
	  COMMON(event) },
	{ "since", 0, "TIME",
	  "from TIME on: +S or -S (after its start, before its end), RFC 3339",
	  CLI_TEXT, COMMON(since) },
	{ "until", 0, "TIME", "up to TIME; both take whole intervals", CLI_TEXT,
	  COMMON(until) },
};

/* Option i of a command: its own, then those it shares; NULL at the end. */
static const struct cli_option *option_at(const struct cli_command *cmd,
					  size_t i)
{
	if (i < cmd->n_options)
		return &cmd->options[i];
	i -= cmd->n_options;
	if (!cmd->has_no_range) {
		if (i < ARRAY_LEN(range_options))
			return &range_options[i];
		i -= ARRAY_LEN(range_options);
	}
	return i < ARRAY_LEN(common_options) ? &common_options[i] : NULL;
}

/* May its value be left out? */
static bool is_optional(const struct cli_option *o)
{
	return o->arg && *o->arg == '[';
}

static void print_usage(const struct cli_command *cmd, FILE *to)
{
	fprintf(to, "usage: weft %s [options]%s%s\n", cmd->name,
		*cmd->operands ? " " : "", cmd->operands);
}

static void print_help(const struct cli_command *cmd)
{
	const struct cli_option *o;
	char left[64];
	size_t i;

	print_usage(cmd, stdout);
	printf("\n%s\n\noptions:\n", cmd->about);
	for (i = 0; (o = option_at(cmd, i)); i++) {
		snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
			 o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
			 o->letter ? ", " : "  ", o->name,
			 o->arg && !is_optional(o) ? " " : "",
			 o->arg ? o->arg : "");
		printf("  %-24s %s\n", left, o->help);
	}
}

bool cli_percentage(const char *text, double *out)
{
	size_t size = strspn(text, "0123456789.");
	char *end;

	*out = strtod(text, &end);
	return size && !text[size] && !*end && *out <= 100;
}

int cli_usage(const struct cli_command *cmd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	weft_vlog(WEFT_ERROR, fmt, ap);
	va_end(ap);
	print_usage(cmd, stderr);
	return WEFT_EXIT_USAGE;
}

static int store_value(const struct cli_command *cmd,
		       const struct cli_option *o, const char *text,
		       void *options)
{
	void *field = (char *)options + o->offset;

	switch (o->kind) {
	case CLI_FLAG:
		*(bool *)field = true;
		return -1;
	case CLI_TEXT:
		*(const char **)field = text ? text : "";
		return -1;
	case CLI_NUMBER:
		if (!weft_parse_u64(text, 0, UINT32_MAX, (uint64_t *)field))
			return -1;
		return cli_usage(cmd, "--%s takes a whole number, not '%s'",
				 o->name, text);
	case CLI_PID:
	case CLI_TID:
		if (!weft_parse_u64(text, 1, INT32_MAX, (uint64_t *)field))
			return -1;
		return cli_usage(cmd, "--%s takes a %s ID, not '%s'", o->name,
				 o->kind == CLI_PID ? "process" : "thread",
				 text);
	}
	return WEFT_EXIT_FAILED;
}

/* Say what was wrong with an option that getopt_long() did not know. */
static int refuse(const struct cli_command *cmd, char **argv, bool needs_value)
{
	const char *names[MAX_OPTIONS + 1] = { NULL };
	const char *given = optind > 1 ? argv[optind - 1] : "";
	const char *near = NULL;
	size_t i;

	if (needs_value)
		return cli_usage(cmd, "option '%s' needs a value", given);
	if (strncmp(given, "--", 2) != 0)
		return cli_usage(cmd, "unknown option '-%c'",
				 optopt ? optopt : '?');
	for (i = 0; option_at(cmd, i); i++)
		names[i] = option_at(cmd, i)->name;
	near = weft_nearest(given + 2, names);
	return cli_usage(cmd, "unknown option '%s'%s%s%s", given,
			 near ? "; did you mean '--" : "", near ? near : "",
			 near ? "'?" : "");
}

/* The same table in getopt_long()'s terms. */
static void make_getopt(const struct cli_command *cmd, struct option *longs,
			char *letters)
{
	const struct cli_option *o;
	size_t i;

	*letters++ = ':';
	for (i = 0; i < MAX_OPTIONS && (o = option_at(cmd, i)); i++) {
		longs[i] = (struct option){
			.name = o->name,
			.has_arg = is_optional(o) ? optional_argument
				   : o->arg       ? required_argument
						  : no_argument,
			.val = FIRST_LONG + (int)i,
		};
		if (!o->letter)
			continue;
		*letters++ = o->letter;
		if (o->arg)
			*letters++ = ':';
	}
	longs[i] = (struct option){ 0 };
	*letters = '\0';
}

static const struct cli_option *option_of(const struct cli_command *cmd,
					  int got)
{
	size_t i;

	if (got >= FIRST_LONG)
		return option_at(cmd, (size_t)(got - FIRST_LONG));
	for (i = 0; option_at(cmd, i); i++)
		if (option_at(cmd, i)->letter == got)
			return option_at(cmd, i);
	return NULL;
}

int cli_parse(const struct cli_command *cmd, int argc, char **argv,
	      void *options, const char **operands)
{
	struct option longs[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 2];
	const struct cli_common *common = options;
	size_t n = 0;
	int got, status;

	make_getopt(cmd, longs, letters);
	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (got == '?' || got == ':')
			return refuse(cmd, argv, got == ':');
		status = store_value(cmd, option_of(cmd, got), optarg, options);
		if (status >= 0)
			return status;
		if (common->help) {
			print_help(cmd);
			return cli_finish();
		}
	}
	while (optind < argc && n < cmd->max_operands)
		operands[n++] = argv[optind++];
	if (optind < argc)
		return cli_usage(cmd, "unexpected '%s'", argv[optind]);
	while (n < cmd->max_operands)
		operands[n++] = NULL;
	return -1;
}

int cli_fail(const struct weft_err *err)
{
	weft_log(WEFT_ERROR, "%s", err->msg);
	switch (err->code) {
	case -ENODATA:
		return WEFT_EXIT_NOTHING_MATCHED;
	case -E2BIG:
		return WEFT_EXIT_USAGE;
	default:
		return weft_exit_for(err->code);
	}
}

/* Did the reader of stdout go away? errno of the write that failed may be
 * long gone: stdio fails early and is asked late. */
static bool is_pipe_broken(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&out, 1, 0) > 0 && (out.revents & (POLLERR | POLLHUP));
}

int cli_finish(void)
{
	int code;

	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return WEFT_EXIT_OK;
	code = errno;
	if (code == EPIPE || is_pipe_broken())
		return WEFT_EXIT_OK;
	weft_log(WEFT_ERROR, "cannot write the output: %s",
		 code ? strerror(code) : "output error");
	return WEFT_EXIT_FAILED;
}

int cli_exec(const char *program, char **argv)
{
	int code;

	argv[0] = (char *)(uintptr_t)program;
	signal(SIGPIPE, SIG_DFL); /* an ignored signal would be inherited */
	weft_exec_beside(program, argv);
	code = errno;
	weft_log(WEFT_ERROR,
		 "cannot run %s: %s; it belongs beside "
		 "weft, or into $PATH",
		 program, strerror(code));
	return code == EACCES ? WEFT_EXIT_NO_PERMISSION : WEFT_EXIT_FAILED;
}

/* SPDX-License-Identifier: MIT */
/* weft: reads recordings; those who write, as `weft record`, are programs of
 * their own beside it. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cli.h"
#include "query/cmd.h"

static int cmd_record(int argc, char **argv);
static int cmd_symbolize(int argc, char **argv);
static int cmd_import_spans(int argc, char **argv);
static int cmd_doctor(int argc, char **argv);
static int cmd_list(int argc, char **argv);

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "record", cmd_record, "sample this machine into a file" },
	{ "list", cmd_list, "what can be recorded: events, functions" },
	{ "top", cmd_top, "where the time went: functions, stacks, threads" },
	{ "traces", cmd_traces, "the requests that used most CPU time" },
	{ "trace", cmd_trace, "one request: its stacks against everyone's" },
	{ "timeline", cmd_timeline, "samples in the order of time" },
	{ "measure", cmd_measure, "what the kernel counted, by key" },
	{ "sql", cmd_sql, "ask the file in SQL, or by a query's name" },
	{ "loss", cmd_loss, "the ledger: what was counted, and what was not" },
	{ "symbolize", cmd_symbolize, "name what has no name yet" },
	{ "import-spans", cmd_import_spans, "add the spans of requests" },
	{ "export", cmd_export, "stacks for other tools" },
	{ "doctor", cmd_doctor, "what stands in the way, and what to do" },
};

static void print_help(void)
{
	size_t i;

	printf("usage: weft COMMAND [options]\n\n"
	       "A profiler that knows which request each sample belongs to.\n\n"
	       "commands:\n");
	for (i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-12s %s\n", commands[i].name, commands[i].help);
	printf("\nA recording is read from -i FILE, else from $WEFT_DB, else "
	       "from weft.db.\n`weft COMMAND --help` says more.\n\n"
	       "exit status: 0 done, 1 failed, 2 usage, 3 no permission, 4 "
	       "nothing matched\n");
}

static int exec_program(char *name, char **argv)
{
	int code;

	argv[0] = name;
	signal(SIGPIPE, SIG_DFL); /* an ignored signal would be inherited */
	weft_exec_beside(name, argv);
	code = errno;
	weft_log(WEFT_ERROR,
		 "cannot run %s: %s; it belongs beside "
		 "weft, or into $PATH",
		 name, strerror(code));
	return code == EACCES ? WEFT_EXIT_NO_PERMISSION : WEFT_EXIT_FAILED;
}

static int cmd_record(int argc, char **argv)
{
	static char name[] = "weft-record";

	(void)argc;
	return exec_program(name, argv);
}

static int cmd_symbolize(int argc, char **argv)
{
	static char name[] = "weft-symbolize";

	(void)argc;
	return exec_program(name, argv);
}

static int cmd_import_spans(int argc, char **argv)
{
	static char name[] = "weft-import";

	(void)argc;
	return exec_program(name, argv);
}

static int cmd_doctor(int argc, char **argv)
{
	static char name[] = "weft-doctor";

	(void)argc;
	return exec_program(name, argv);
}

static int cmd_list(int argc, char **argv)
{
	static char name[] = "weft-list";

	(void)argc;
	return exec_program(name, argv);
}

static const struct command *find(const char *word)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(word, commands[i].name))
			return &commands[i];
	return NULL;
}

static int unknown(const char *word)
{
	const char *names[ARRAY_LEN(commands) + 1] = { NULL };
	const char *near;
	size_t i;

	for (i = 0; i < ARRAY_LEN(commands); i++)
		names[i] = commands[i].name;
	near = weft_nearest(word, names);
	if (near)
		weft_log(WEFT_ERROR, "no command '%s'; did you mean '%s'?",
			 word, near);
	else
		weft_log(WEFT_ERROR,
			 "no command '%s'; `weft --help` lists them", word);
	return WEFT_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	static char help[] = "--help";
	const struct command *command;

	weft_log_init("weft", WEFT_INFO);
	signal(SIGPIPE, SIG_IGN); /* a write then fails with EPIPE */
	if (!word) {
		weft_log(WEFT_ERROR, "no command; `weft --help` lists them");
		return WEFT_EXIT_USAGE;
	}
	if (!strcmp(word, "help") && argc > 2) {
		/* `weft help top` is `weft top --help`. */
		word = argv[1] = argv[2];
		argv[2] = help;
		argc = 3;
	}
	if (!strcmp(word, "-h") || !strcmp(word, "--help") ||
	    !strcmp(word, "help")) {
		print_help();
		return cli_finish();
	}
	if (!strcmp(word, "--version")) {
		printf("weft %s\n", WEFT_VERSION);
		return cli_finish();
	}
	command = find(word);
	return command ? command->run(argc - 1, argv + 1) : unknown(word);
}

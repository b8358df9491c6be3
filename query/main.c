/* SPDX-License-Identifier: MIT */
/* weft: reads recordings; those who write, as `weft record`, are programs of
 * their own beside it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cli.h"
#include "query/cmd.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *program; /* in place of run: one beside us */
	const char *help;
} commands[] = {
	{ "record", NULL, "weft-record", "sample this machine into a file" },
	{ "list", NULL, "weft-list", "what can be recorded: events, functions" },
	{ "top", cmd_top, NULL, "where the time went: functions, stacks, threads" },
	{ "traces", cmd_traces, NULL, "the requests that used most CPU time" },
	{ "trace", cmd_trace, NULL, "one request: its stacks against everyone's" },
	{ "timeline", cmd_timeline, NULL, "samples in the order of time" },
	{ "measure", cmd_measure, NULL, "what the kernel counted, by key" },
	{ "sql", cmd_sql, NULL, "ask the file in SQL, or by a query's name" },
	{ "loss", cmd_loss, NULL, "the ledger: what was counted, and what was not" },
	{ "symbolize", NULL, "weft-symbolize", "name what has no name yet" },
	{ "import-spans", NULL, "weft-import", "add the spans of requests" },
	{ "export", cmd_export, NULL, "stacks for other tools" },
	{ "doctor", NULL, "weft-doctor", "what stands in the way, and what to do" },
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
	if (!command)
		return unknown(word);
	return command->run ? command->run(argc - 1, argv + 1)
			    : cli_exec(command->program, argv + 1);
}

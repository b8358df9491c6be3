/* SPDX-License-Identifier: MIT */
/* weft: reads recordings; those who write, as `weft record`, are programs of
 * their own beside it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cli.h"
#include "query/cmd.h"
#include "query/overview.h"

static const struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
	const char *program; /* in place of run: one beside us */
} commands[] = {
	{ "record", "sample this machine into a file", NULL, "weft-record" },
	{ "list", "what can be recorded: events, functions", NULL,
	  "weft-list" },
	{ "top", "where the time went: functions, stacks, threads", cmd_top,
	  NULL },
	{ "traces", "the requests that used most CPU time", cmd_traces, NULL },
	{ "trace", "one request: its stacks against everyone's", cmd_trace,
	  NULL },
	{ "diff", "what changed: two files, times, sets of requests", cmd_diff,
	  NULL },
	{ "timeline", "samples in the order of time", cmd_timeline, NULL },
	{ "flame", "a flame graph, as a page of its own", cmd_flame, NULL },
	{ "hist", "distributions: over time, of requests", cmd_hist, NULL },
	{ "measure", "what the kernel counted, by key", cmd_measure, NULL },
	{ "sql", "ask the file in SQL, or by a query's name", cmd_sql, NULL },
	{ "loss", "the ledger: what was counted, and what was not", cmd_loss,
	  NULL },
	{ "symbolize", "name what has no name yet", NULL, "weft-symbolize" },
	{ "import-spans", "add the spans of requests", NULL, "weft-import" },
	{ "gc", "let go what is old, keep what is pinned", NULL, "weft-gc" },
	{ "export", "stacks for other tools", cmd_export, NULL },
	{ "doctor", "what stands in the way, and what to do", NULL,
	  "weft-doctor" },
};

static void print_help(void)
{
	size_t i;

	printf("usage: weft [COMMAND [options]]\n\n"
	       "A profiler that knows which request each sample belongs to. "
	       "Without COMMAND:\nwhat is in the recording at hand, and what "
	       "to ask next.\n\n"
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
	if (*word == '-')
		weft_log(WEFT_ERROR,
			 "'%s' needs a command before it; weft alone reads "
			 "$WEFT_DB, else weft.db",
			 word);
	else if (near)
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
	if (!word)
		return overview();
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

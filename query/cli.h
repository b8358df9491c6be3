/* SPDX-License-Identifier: MIT */
/*
 * The command line of one command: a table of options from which both the
 * parser and --help are made, so that they cannot differ; and how a command
 * ends.
 */
#ifndef WEFT_CLI_H
#define WEFT_CLI_H

#include <stddef.h>

#include "store/weft.h"

enum cli_kind {
	CLI_FLAG,   /* bool */
	CLI_TEXT,   /* const char * */
	CLI_NUMBER, /* uint64_t */
	CLI_PID,    /* int64_t, of a process; 0: none given */
	CLI_TID     /* the same of a thread */
};

struct cli_option {
	const char *name;
	char letter;     /* 0: none */
	const char *arg; /* what stands for its value in help; NULL: a flag;
			    "[=WORD]": of a CLI_TEXT that may be left out, and
			    is "" then */
	const char *help;
	enum cli_kind kind;
	size_t offset; /* where in the command's options it goes */
};

/* What every report understands; the first member of its options. */
struct cli_common {
	const char *input;     /* NULL: the default file */
	const char *recording; /* NULL: the last */
	const char *event;     /* NULL: the timer */
	const char *since, *until;
	bool json, help;
};

struct cli_command {
	const char *name;
	const char *operands;             /* for the usage line, or "" */
	const char *about;                /* sentences for --help */
	const struct cli_option *options; /* its own, beside the common ones */
	size_t n_options;
	size_t max_operands;
	bool has_no_range; /* --recording, --event, --since, --until: not here
			    */
};

/*
 * Parse argv (argv[0] is the command) into options, which starts with a
 * struct cli_common and holds the defaults. operands gets at most
 * max_operands pointers, NULL for those not given.
 *
 * Returns -1 to go on, or the exit status after help or a usage error, which
 * it has printed.
 */
int cli_parse(const struct cli_command *cmd, int argc, char **argv,
	      void *options, const char **operands) MUST_CHECK;

/* A percentage: a decimal number from 0 to 100 and nothing else. false: it is
 * none. */
bool cli_percentage(const char *text, double *out);

/* Say what is wrong and how the command is used; returns WEFT_EXIT_USAGE. */
int cli_usage(const struct cli_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Print err and return its exit status: -ENODATA nothing matched, -EACCES and
 * -EPERM no permission, -E2BIG usage, else failed. */
int cli_fail(const struct weft_err *err);

/* Flush stdout. A reader that went away (EPIPE) is no failure. */
int cli_finish(void);

/* Become the program that lies beside this one; argv[0] is set to its name.
 * Returns only if that failed: the exit status, and says why. */
int cli_exec(const char *program, char **argv) MUST_CHECK;

#endif

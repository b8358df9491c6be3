/* SPDX-License-Identifier: MIT */
/*
 * The program after `--`: started through a stub of ourselves that drops
 * privilege and waits, so that its first instructions are sampled.
 */
#ifndef WEFT_COMMAND_H
#define WEFT_COMMAND_H

#include "store/weft.h"

#include <sys/types.h>

struct command {
	pid_t pid;   /* of the stub, then of the program */
	int go_fd;   /* -1 after command_go() */
	int fail_fd; /* the stub's word that it could not exec; -1: none */
};

/*
 * Fork the stub; call while single-threaded. argv[0] is looked up in PATH
 * first: one that is not there, or may not be executed, is refused now with
 * -ENOENT or -EACCES, before anything is recorded.
 */
int command_fork(struct command *c, char *const *argv,
		 struct weft_err *err) MUST_CHECK;

/* Let the stub become the program. Returns 0, or why exec failed. */
int command_go(struct command *c, char *const *argv,
	       struct weft_err *err) MUST_CHECK;

/* End a stub that was never let go. */
void command_cancel(struct command *c);

/* The exit status that a wait status means: its own, or 128 + signal. */
int command_status(int wait_status);

/* The exit status for an exec that failed with this code: 127 or 126. */
int command_exec_status(int code);

/* Does ^C at our terminal reach the program by itself? */
bool command_shares_terminal(void);

#endif

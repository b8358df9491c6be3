/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/command.h"
#include "collector/privilege.h"

int command_exec_status(int code)
{
	return code == -ENOENT ? 127 : 126;
}

/* Is there a program of that name where execvp() would look? */
static int find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *copy, *at, *dir, full[4096];
	int rc = -ENOENT;

	if (strchr(name, '/'))
		return access(name, X_OK) ? -errno : 0;
	copy = at = strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	if (!copy)
		return -ENOMEM;
	while (rc && (dir = strsep(&at, ":"))) {
		snprintf(full, sizeof(full), "%s/%s", dir[0] ? dir : ".", name);
		if (!access(full, X_OK))
			rc = 0;
		else if (errno == EACCES)
			rc = -EACCES;
	}
	free(copy);
	return rc;
}

/* The stub: wait for the word, become the user, become the program. */
static void run_stub(int go_fd, int fail_fd, char *const *argv)
{
	struct weft_err err = { 0 };
	int code;
	char go;

	/* The parent ended without the word: so do we. */
	if (read(go_fd, &go, 1) != 1)
		_exit(126);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	/* The service is us; what it says of itself is not of that. */
	unsetenv("NOTIFY_SOCKET");
	code = privilege_become_user(&err);
	/* Without what was given to weft alone (ambient, by its file). Root
	 * has what it has by being root. */
	if (!code && geteuid() != 0)
		code = privilege_keep(NULL, 0);
	if (!code) {
		execvp(argv[0], argv);
		code = -errno;
	}
	(void)!write(fail_fd, &code, sizeof(code));
	_exit(command_exec_status(code));
}

int command_fork(struct command *c, char *const *argv, struct weft_err *err)
{
	int go[2] = { -1, -1 }, fail[2] = { -1, -1 };
	int rc = find_program(argv[0]);

	*c = (struct command){ .pid = -1, .go_fd = -1, .fail_fd = -1 };
	if (rc)
		return weft_fail(err, rc, "cannot run '%s': %s", argv[0],
				 rc == -ENOENT ? "no such command"
					       : strerror(-rc));
	if (pipe2(go, O_CLOEXEC) || pipe2(fail, O_CLOEXEC)) {
		rc = -errno;
		goto fail;
	}
	c->pid = fork();
	if (c->pid < 0) {
		rc = -errno;
		goto fail;
	}
	if (c->pid == 0) {
		close(go[1]);
		close(fail[0]);
		run_stub(go[0], fail[1], argv);
	}
	close(go[0]);
	close(fail[1]);
	c->go_fd = go[1];
	c->fail_fd = fail[0];
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (fail[i] >= 0)
			close(fail[i]);
	}
	return weft_fail(err, rc, "cannot start '%s': %s", argv[0],
			 strerror(-rc));
}

int command_go(struct command *c, char *const *argv, struct weft_err *err)
{
	int code = 0;
	ssize_t n;

	(void)!write(c->go_fd, "", 1);
	close(c->go_fd);
	c->go_fd = -1;
	/* Closed by a successful exec, or it says why there was none. */
	do
		n = read(c->fail_fd, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	close(c->fail_fd);
	c->fail_fd = -1;
	if (n == sizeof(code) && code < 0)
		return weft_fail(err, code, "cannot run '%s': %s", argv[0],
				 strerror(-code));
	return 0;
}

void command_cancel(struct command *c)
{
	if (c->go_fd >= 0)
		close(c->go_fd);
	if (c->fail_fd >= 0)
		close(c->fail_fd);
	if (c->pid > 0)
		waitpid(c->pid, NULL, 0);
	*c = (struct command){ .pid = -1, .go_fd = -1, .fail_fd = -1 };
}

int command_status(int wait_status)
{
	if (WIFSIGNALED(wait_status))
		return 128 + WTERMSIG(wait_status);
	return WEXITSTATUS(wait_status);
}

bool command_shares_terminal(void)
{
	int tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool shares = tty >= 0 && tcgetpgrp(tty) == getpgrp();

	if (tty >= 0)
		close(tty);
	return shares;
}

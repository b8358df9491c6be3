/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/symbolize/after.h"

static _Noreturn void run_child(const char *file)
{
	const struct passwd *user = getuid() ? getpwuid(getuid()) : NULL;
	char name[] = "weft-symbolize", fetch[] = "--debuginfod";
	char input[] = "-i", *copy = strdup(file);
	char *argv[] = { name, fetch, input, copy, NULL };

	/* sudo may leave root's, in which there is no cache for us. */
	if (user && getenv("SUDO_UID"))
		(void)setenv("HOME", user->pw_dir, 1);
	/* Our stdout is that of the program after `--`. */
	if (dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
		weft_exec_beside(name, argv);
	_exit(127);
}

int symbolize_after(const char *file, struct weft_err *err)
{
	int status = 0, rc;
	pid_t pid = fork();

	if (!pid)
		run_child(file);
	rc = pid < 0 ? -errno : 0;
	while (!rc && waitpid(pid, &status, 0) < 0)
		rc = errno == EINTR ? 0 : -errno;
	if (rc)
		return weft_fail(err, rc, "cannot run weft-symbolize: %s",
				 strerror(-rc));
	if (WIFEXITED(status) &&
	    (WEXITSTATUS(status) == WEFT_EXIT_OK ||
	     WEXITSTATUS(status) == WEFT_EXIT_NOTHING_MATCHED))
		return 0;
	return weft_fail(err, -EIO,
			 "the recording is whole, but names could not be "
			 "fetched; see above, or try `weft symbolize "
			 "--debuginfod -i %s`",
			 file);
}

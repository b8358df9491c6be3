/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/confined.h"
#include "collector/privilege.h"
#include "collector/syscall_filter.h"

static const rlim_t memory_bytes = 1ULL << 30;

static _Noreturn void run_child(const struct confined *c, int to, pid_t parent)
{
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	privilege_limit(RLIMIT_CORE, 0);
	privilege_limit_memory(memory_bytes);
	/* One that goes on prints, perhaps to a file. */
	if (!c->goes_on)
		privilege_limit(RLIMIT_FSIZE, 0);
	privilege_bound(NULL, 0);
	privilege_read_as_nobody();
	/* Forgotten when the user changes, so set after that. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (syscall_filter_apply())
		_exit(1);
	c->run(c->question, to);
	_exit(0);
}

static int read_answer(const struct confined *c, int fd, char *out)
{
	uint64_t end_ns = clock_boot_ns() + (uint64_t)c->deadline_ms * 1000000;
	size_t have = 0;

	while (have < c->answer_bytes) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		uint64_t now_ns = clock_boot_ns();
		ssize_t n;

		if (now_ns >= end_ns)
			return -ETIMEDOUT;
		if (poll(&poll_fd, 1, (int)((end_ns - now_ns) / 1000000) + 1) <=
		    0)
			continue;
		n = read(fd, out + have, c->answer_bytes - have);
		if (n <= 0)
			return -EPROTO;
		have += (size_t)n;
	}
	return 0;
}

int confined_ask(const struct confined *c, void *answer)
{
	pid_t pid, parent = getpid();
	int fd[2], rc;

	fflush(stdout);
	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0)
		run_child(c, fd[1], parent);
	rc = pid < 0 ? -errno : 0;
	close(fd[1]);
	if (!rc)
		rc = read_answer(c, fd[0], answer);
	close(fd[0]);
	if (pid > 0) {
		if (rc || !c->goes_on)
			kill(pid, SIGKILL);
		/* One that the kernel holds (a file that hangs) stays. */
		waitpid(pid, NULL, rc == -ETIMEDOUT ? WNOHANG : 0);
	}
	return rc;
}

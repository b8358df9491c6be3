/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/survey.h"

enum {
	AT_ONCE = 256
};

/* In the child. */
static void copy(int from, int to)
{
	struct weft_mapped some[AT_ONCE];
	ssize_t size;

	while ((size = read(from, some, sizeof(some))) > 0 ||
	       (size < 0 && errno == EAGAIN)) {
		const char *at = (const char *)some;

		while (size > 0) {
			ssize_t done = write(to, at, (size_t)size);

			if (done <= 0)
				return;
			at += done;
			size -= done;
		}
	}
}

/* Returns how long may still be waited, in ms. */
static int left_ms(uint64_t end_ns)
{
	uint64_t now_ns = clock_boot_ns();

	return now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000) + 1 : 0;
}

/* Hand out records until the end, or the deadline. */
static bool hand_out(int fd, uint64_t end_ns, survey_fn *fn, void *ctx)
{
	struct weft_mapped some[AT_ONCE];
	size_t have = 0;

	for (;;) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		size_t whole;
		ssize_t size;

		int n = poll(&ready, 1, left_ms(end_ns));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		size = read(fd, (char *)some + have, sizeof(some) - have);
		if (size <= 0)
			return size == 0;
		have += (size_t)size;
		whole = have / sizeof(some[0]);
		for (size_t i = 0; i < whole; i++)
			fn(ctx, &some[i]);
		have %= sizeof(some[0]);
		memmove(some, &some[whole], have);
	}
}

bool survey(int mapped_fd, uint64_t deadline_ms, survey_fn *fn, void *ctx)
{
	uint64_t end_ns = clock_boot_ns() + deadline_ms * 1000000;
	int pipe_fd[2];
	bool is_whole;
	pid_t child;

	if (pipe(pipe_fd))
		return false;
	child = fork();
	if (child == 0) {
		close(pipe_fd[0]);
		copy(mapped_fd, pipe_fd[1]);
		_exit(0);
	}
	close(pipe_fd[1]);
	is_whole = child > 0 && hand_out(pipe_fd[0], end_ns, fn, ctx);
	close(pipe_fd[0]);
	if (child > 0) {
		/* Where it is stuck in the kernel, it stays until that ends. */
		kill(child, SIGKILL);
		(void)waitpid(child, NULL, is_whole ? 0 : WNOHANG);
	}
	return is_whole;
}

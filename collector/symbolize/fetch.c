/* SPDX-License-Identifier: MIT */
/*
 * Each binary's files are fetched by a process of their own: it speaks TLS
 * and HTTP with servers that we know nothing of, so it has no privilege, no
 * file of ours, and a limit of time. What it tells, two paths, is checked as
 * any place is: by the build ID of what lies there.
 */
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/privilege.h"
#include "collector/symbolize/fetch.h"

enum {
	LIMIT_MS = 300000, /* for a binary's files */
	RESULT_FD = 3
};

/* What the child tells; a path that is "" was not found. */
struct result {
	char debug[PATH_MAX], program[PATH_MAX];
	int error; /* of errno: not all servers could be asked; else 0 */
};

/* ---- the child */

/* Returns an errno where the servers did not say whether they have it. */
static int find(debuginfod_client *client, const char *id,
		int (*look)(debuginfod_client *, const unsigned char *, int,
			    char **),
		char out[PATH_MAX])
{
	char *path = NULL;
	int fd = look(client, (const unsigned char *)id, 0, &path);

	if (fd < 0)
		return fd == -ENOENT ? 0 : -fd;
	close(fd);
	if (path && strlen(path) < PATH_MAX)
		memcpy(out, path, strlen(path) + 1);
	free(path);
	return 0;
}

static _Noreturn void run_child(int fd, pid_t parent,
				const struct symbolize_binary *b)
{
	static struct result result;
	debuginfod_client *client;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(fd, RESULT_FD) < 0 ||
	    close_range(RESULT_FD + 1, ~0U, 0))
		_exit(1);
	(void)prctl(PR_SET_NAME, "weft-fetch");
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (privilege_keep(NULL, 0))
		_exit(1);
	client = debuginfod_begin();
	if (!client)
		_exit(1);
	result.error = find(client, b->build_id, debuginfod_find_debuginfo,
			    result.debug);
	if (b->state < STATE_VOUCHED && !result.error)
		result.error = find(client, b->build_id,
				    debuginfod_find_executable, result.program);
	debuginfod_end(client);
	_exit(write(RESULT_FD, &result, sizeof(result)) == sizeof(result) ? 0
									  : 1);
}

/* ---- the parent */

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read the child's result until it ends, is late, or we are stopped. */
static bool receive(int fd, struct result *out, const volatile int *stop)
{
	int64_t end = now_ms() + LIMIT_MS;
	size_t have = 0;

	while (have < sizeof(*out) && !*stop && now_ms() < end) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 1000) <= 0)
			continue;
		n = read(fd, (char *)out + have, sizeof(*out) - have);
		if (n <= 0)
			return false;
		have += (size_t)n;
	}
	out->debug[PATH_MAX - 1] = '\0';
	out->program[PATH_MAX - 1] = '\0';
	return have == sizeof(*out);
}

static char *take_path(const char *path)
{
	return path[0] == '/' ? strdup(path) : NULL;
}

/* *trouble: an errno where not all servers could be asked; else 0. */
static int fetch(struct symbolize_binary *b, const volatile int *stop,
		 int *trouble, struct weft_err *err)
{
	static struct result result;
	pid_t self = getpid(), child;
	int ends[2], rc;

	memset(&result, 0, sizeof(result));
	if (pipe2(ends, O_CLOEXEC))
		return weft_fail(err, -errno, "cannot make a pipe: %s",
				 strerror(errno));
	/* As in inspect/server.c: not fork(). */
	child = _Fork();
	rc = -errno;
	if (!child)
		run_child(ends[1], self, b);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return weft_fail(err, rc,
				 "cannot start a process to fetch files: %s",
				 strerror(-rc));
	}
	if (receive(ends[0], &result, stop)) {
		b->fetched_debug = take_path(result.debug);
		b->fetched = take_path(result.program);
		*trouble = result.error;
	} else {
		*trouble = *stop ? 0 : ETIMEDOUT;
	}
	close(ends[0]);
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	b->was_fetched = true;
	return 0;
}

static bool is_wanted(const struct symbolize_binary *b)
{
	/* Only hex goes into the servers' URLs. */
	return b->build_id && symbolize_lacks_names(b) &&
	       strspn(b->build_id, "0123456789abcdef") == strlen(b->build_id);
}

static void warn(size_t n, const char *path, int trouble)
{
	weft_log(WEFT_WARN,
		 "debuginfod could not be asked for %zu files, of which the "
		 "first is '%s': %s; are the servers in $DEBUGINFOD_URLS "
		 "right, and up?",
		 n, path, strerror(trouble));
}

int symbolize_fetch(struct symbolize_list *list, const volatile int *stop,
		    struct weft_err *err)
{
	bool show = weft_is_terminal(STDERR_FILENO);
	size_t n = 0, done = 0, failed = 0, first = 0;
	int rc = 0, first_trouble = 0;

	for (size_t i = 0; i < list->n; i++)
		n += is_wanted(&list->binaries[i]);
	for (size_t i = 0; i < list->n && !rc && !*stop; i++) {
		int trouble = 0;

		if (!is_wanted(&list->binaries[i]))
			continue;
		if (show)
			fprintf(stderr, "\rfetching %zu of %zu\033[K", ++done,
				n);
		rc = fetch(&list->binaries[i], stop, &trouble, err);
		if (trouble && !failed++) {
			first = i;
			first_trouble = trouble;
		}
	}
	if (show && done)
		fprintf(stderr, "\r\033[K");
	if (failed)
		warn(failed, list->binaries[first].path, first_trouble);
	return rc;
}

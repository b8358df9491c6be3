/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "collector/event_opener.h"
#include "collector/fd_message.h"
#include "collector/privilege.h"

enum {
	CONTROL_FD = 3,
	/* Opening takes some ms, on a CPU that has just come up longer. */
	ANSWER_SECONDS = 2,
};

struct event_opener {
	int fd;
	pid_t pid;
	uint32_t serial;
};

struct request {
	uint32_t serial, event, cpu;
};

/* With a descriptor if rc is 0, else a negative errno. */
struct answer {
	uint32_t serial; /* of the request */
	int32_t rc;
};

/* ---- the process that opens ---- */

static int open_one(const struct perf_event_attr *attr, uint32_t n,
		    const struct request *q)
{
	struct perf_event_attr copy;
	int fd;

	if (q->event >= n || q->cpu >= WEFT_MAX_CPUS)
		return -EINVAL;
	copy = attr[q->event];
	fd = syscall(SYS_perf_event_open, &copy, -1, (int)q->cpu, -1,
		     PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int answer(uint32_t serial, int fd)
{
	struct answer a = { serial, fd < 0 ? fd : 0 };

	return fd_message_send(CONTROL_FD, &a, sizeof(a), fd);
}

static _Noreturn void run_opener(int control,
				 const struct perf_event_attr *attr, uint32_t n)
{
	static const cap_value_t kept[] = { CAP_PERFMON };
	struct request q;

	(void)prctl(PR_SET_NAME, "weft-cpus");
	/* The recorder ends it, by going: then there is nobody to ask. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (privilege_confine(control, CONTROL_FD, kept, ARRAY_LEN(kept)))
		_exit(1);
	while (recv(CONTROL_FD, &q, sizeof(q), 0) == sizeof(q)) {
		if (answer(q.serial, open_one(attr, n, &q)))
			break;
	}
	_exit(0);
}

/* ---- the recorder's side ---- */

int event_opener_start(struct event_opener **out,
		       const struct perf_event_attr *attr, uint32_t n,
		       struct weft_err *err)
{
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	struct event_opener *o = calloc(1, sizeof(*o));
	int pair[2], rc;

	*out = NULL;
	if (!o)
		return weft_fail(err, -ENOMEM, "cannot watch CPUs: no memory");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		rc = -errno;
		free(o);
		return weft_fail(err, rc, "cannot watch CPUs: %s",
				 strerror(-rc));
	}
	/* As in inspect/server.c: not fork(). */
	o->pid = _Fork();
	rc = -errno;
	if (!o->pid)
		run_opener(pair[1], attr, n);
	close(pair[1]);
	if (o->pid < 0) {
		close(pair[0]);
		free(o);
		return weft_fail(err, rc, "cannot watch CPUs: no process: %s",
				 strerror(-rc));
	}
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	o->fd = pair[0];
	*out = o;
	return 0;
}

/* The next answer, and its descriptor, or -1. */
static int receive(const struct event_opener *o, struct answer *a, int *fd)
{
	ssize_t n;

	do
		n = fd_message_receive(o->fd, a, sizeof(*a), 0, fd);
	while (n == -EINTR);
	if (n < 0)
		return n == -EAGAIN ? -ETIMEDOUT : (int)n;
	return n == sizeof(*a) ? 0 : -EPIPE;
}

int event_opener_ask(struct event_opener *o, uint32_t event, uint32_t cpu)
{
	struct request q = { ++o->serial, event, cpu };
	struct answer a;
	int rc, fd = -1;

	if (send(o->fd, &q, sizeof(q), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	do {
		/* Of an earlier request, for which nobody waits any more. */
		if (fd >= 0)
			close(fd);
		rc = receive(o, &a, &fd);
	} while (!rc && a.serial != q.serial);
	if (!rc)
		rc = a.rc;
	if (!rc)
		return fd >= 0 ? fd : -EPROTO;
	if (fd >= 0)
		close(fd);
	return rc < 0 ? rc : -EPROTO;
}

void event_opener_close(struct event_opener *o)
{
	if (!o)
		return;
	close(o->fd);
	waitpid(o->pid, NULL, 0);
	free(o);
}

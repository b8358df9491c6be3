/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/hotplug.h"
#include "collector/privilege.h"

enum {
	CONTROL_FD = 3,
	/* One of the side-band, one for each group of perf events. */
	EVENTS_MAX = WEFT_MAX_EVENTS + 1,
	/* Opening takes some ms, on a CPU that has just come up longer. */
	ANSWER_SECONDS = 2,
	MS_NS = 1000000,
};

struct hotplug {
	struct hooks *hooks;
	struct sideband *sideband;
	struct cpu_list cpus;
	bool all;
	/* By the place in cpus: offline; given up; and when it was last seen to
	 * be as it should, in boot time. */
	bool is_off[WEFT_MAX_CPUS], is_lost[WEFT_MAX_CPUS];
	uint64_t last_ns[WEFT_MAX_CPUS];
	bool told_of_new;
	int fd;    /* of the process that opens; -1 */
	pid_t pid; /* its number; 0 */
};

struct request {
	uint32_t event, cpu;
};

union fd_message {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
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

static int answer(int fd)
{
	int rc = fd < 0 ? fd : 0;
	union fd_message control = { 0 };
	struct iovec iov = { &rc, sizeof(rc) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	}
	n = sendmsg(CONTROL_FD, &msg, MSG_NOSIGNAL);
	if (fd >= 0)
		close(fd);
	return n < 0 ? -errno : 0;
}

static _Noreturn void run_opener(int control,
				 const struct perf_event_attr *attr, uint32_t n)
{
	static const cap_value_t kept[] = { CAP_PERFMON };
	struct request q;
	int null;

	(void)prctl(PR_SET_NAME, "weft-cpus");
	/* The recorder ends it, by going: then there is nobody to ask. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (control != CONTROL_FD && dup2(control, CONTROL_FD) < 0)
		_exit(1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = 0; i < CONTROL_FD; i++) {
		if (dup2(null, i) < 0)
			_exit(1);
	}
	close_range(CONTROL_FD + 1, ~0U, 0);
	privilege_limit(RLIMIT_FSIZE, 0);
	privilege_limit(RLIMIT_CORE, 0);
	privilege_bound(NULL, 0);
	privilege_read_as_nobody();
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (privilege_keep(kept, ARRAY_LEN(kept)))
		_exit(1);
	while (recv(CONTROL_FD, &q, sizeof(q), 0) == sizeof(q)) {
		if (answer(open_one(attr, n, &q)))
			break;
	}
	_exit(0);
}

/* ---- the recorder's side ---- */

/* An event of a CPU: its descriptor, or a negative errno. */
static int ask(struct hotplug *h, uint32_t event, uint32_t cpu)
{
	struct request q = { event, cpu };
	union fd_message control = { 0 };
	int rc, fd;
	struct iovec iov = { &rc, sizeof(rc) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *cmsg;

	if (send(h->fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
		return -errno;
	if (recvmsg(h->fd, &msg, MSG_CMSG_CLOEXEC) != sizeof(rc))
		return -EPIPE;
	if (rc)
		return rc < 0 ? rc : -EPROTO;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS ||
	    cmsg->cmsg_len != CMSG_LEN(sizeof(int)))
		return -EPROTO;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

/* All events of a CPU anew. -ENODEV: it is not there again yet. */
static int reopen(struct hotplug *h, uint32_t cpu, struct weft_err *err)
{
	uint32_t n = hooks_n_timers(h->hooks);
	int rc = 0;

	for (uint32_t e = 0; e <= n && !rc; e++) {
		int fd = ask(h, e, cpu);

		if (fd < 0)
			rc = weft_fail(err, fd, "%s", strerror(-fd));
		else if (e < n)
			rc = timers_replace(hooks_timers(h->hooks, e), cpu, fd,
					    err);
		else
			rc = sideband_replace(h->sideband, cpu, fd, err);
	}
	return rc;
}

static bool is_in(const struct cpu_list *list, uint32_t cpu)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->cpu[i] == cpu)
			return true;
	}
	return false;
}

/* It was off and on again since the last look: its timer tells. */
static bool has_stopped(const struct hotplug *h, uint32_t cpu)
{
	for (uint32_t g = 0; g < hooks_n_timers(h->hooks); g++) {
		if (timers_stood_still(hooks_timers(h->hooks, g), cpu))
			return true;
	}
	return false;
}

static void set_off(struct hotplug *h, uint32_t i, bool is_off)
{
	h->is_off[i] = is_off;
	for (uint32_t g = 0; g < hooks_n_timers(h->hooks); g++)
		timers_set_off(hooks_timers(h->hooks, g), h->cpus.cpu[i],
			       is_off);
}

static void on_back(struct hotplug *h, uint32_t i, uint64_t now_ns)
{
	struct weft_err err = { 0 };
	uint32_t cpu = h->cpus.cpu[i];
	int rc = reopen(h, cpu, &err);

	if (rc == -ENODEV)
		return;
	if (rc) {
		h->is_lost[i] = true;
		weft_log(
			WEFT_WARN,
			"CPU %u is back, but cannot be sampled again: %s; begin a new recording",
			cpu, err.msg);
		return;
	}
	weft_log(
		WEFT_WARN,
		"CPU %u is back, and is sampled again; what ran on it before that is not recorded, %llu ms at most",
		cpu, (unsigned long long)((now_ns - h->last_ns[i]) / MS_NS));
	set_off(h, i, false);
}

static void watch_cpu(struct hotplug *h, uint32_t i, bool is_online,
		      uint64_t now_ns)
{
	if (h->is_lost[i])
		return;
	if (!is_online && !h->is_off[i]) {
		weft_log(
			WEFT_WARN,
			"CPU %u went offline: it is sampled again when it is back",
			h->cpus.cpu[i]);
		set_off(h, i, true);
	} else if (is_online &&
		   (h->is_off[i] || has_stopped(h, h->cpus.cpu[i]))) {
		on_back(h, i, now_ns);
	}
	/* Whether it was online until now, or off: from here on the next gap
	 * counts. */
	h->last_ns[i] = now_ns;
}

void hotplug_watch(struct hotplug *h)
{
	struct weft_err err = { 0 };
	struct cpu_list online;
	uint64_t now_ns = clock_boot_ns();

	if (cpu_list_online(&online, &err))
		return;
	for (uint32_t i = 0; i < h->cpus.n; i++)
		watch_cpu(h, i, is_in(&online, h->cpus.cpu[i]), now_ns);
	for (uint32_t i = 0; i < online.n && h->all && !h->told_of_new; i++) {
		if (is_in(&h->cpus, online.cpu[i]))
			continue;
		weft_log(
			WEFT_WARN,
			"CPU %u came online: what runs on it is not recorded; begin a new recording once CPUs stay",
			online.cpu[i]);
		h->told_of_new = true;
	}
}

static int start_opener(struct hotplug *h, struct weft_err *err)
{
	struct perf_event_attr attr[EVENTS_MAX];
	struct timeval limit = { .tv_sec = ANSWER_SECONDS };
	uint32_t n = hooks_n_timers(h->hooks);
	int pair[2], rc;

	for (uint32_t g = 0; g < n; g++)
		attr[g] = *timers_attr(hooks_timers(h->hooks, g));
	attr[n] = *sideband_attr(h->sideband);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		rc = -errno;
		return weft_fail(err, rc, "cannot watch CPUs: %s",
				 strerror(-rc));
	}
	/* As in inspect/server.c: not fork(). */
	h->pid = _Fork();
	rc = -errno;
	if (!h->pid)
		run_opener(pair[1], attr, n + 1);
	close(pair[1]);
	if (h->pid < 0) {
		close(pair[0]);
		return weft_fail(err, rc, "cannot watch CPUs: no process: %s",
				 strerror(-rc));
	}
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	h->fd = pair[0];
	return 0;
}

int hotplug_open(struct hotplug **out, const struct hotplug_opts *opts,
		 struct weft_err *err)
{
	struct hotplug *h = calloc(1, sizeof(*h));
	uint64_t now_ns = clock_boot_ns();
	int rc;

	*out = NULL;
	if (!h)
		return weft_fail(err, -ENOMEM, "cannot watch CPUs: no memory");
	h->hooks = opts->hooks;
	h->sideband = opts->sideband;
	h->cpus = *opts->cpus;
	h->all = opts->all;
	h->fd = -1;
	for (uint32_t i = 0; i < h->cpus.n; i++)
		h->last_ns[i] = now_ns;
	rc = start_opener(h, err);
	if (rc) {
		hotplug_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void hotplug_close(struct hotplug *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		close(h->fd);
	if (h->pid > 0)
		waitpid(h->pid, NULL, 0);
	free(h);
}

/* SPDX-License-Identifier: MIT */
/*
 * The fork server. It makes inspectors before and after anything has gone
 * wrong, so it must not go wrong itself: it has one thread, parses nothing
 * but our own fixed-size commands, and never waits for a child. Being the
 * parent, it can kill by pid: a child's pid is not reused before it is reaped.
 *
 * A child that was killed may stay for as long as the kernel waits in it (a
 * FUSE request that its server has read but never answers). Up to
 * WIRE_STUCK_MAX of these are left behind and replaced; beyond that requests
 * for more are refused with -EBUSY until one is gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/fd_message.h"
#include "collector/inspect/server.h"
#include "collector/inspect/wire.h"
#include "collector/privilege.h"
#include "collector/syscall_filter.h"

/* A crafted file may make a parser ask for any amount of memory. */
static const rlim_t memory_bytes = 1 << 30;

enum {
	CHILDREN_MAX = WIRE_WORKERS_MAX + WIRE_STUCK_MAX,
	CONTROL_FD = 3,
	INSPECTOR_NICE = -10
};

struct child {
	pid_t pid; /* 0: free */
	uint32_t serial;
	bool is_killed;
};

struct server {
	int signals; /* signalfd of SIGCHLD */
	struct child child[CHILDREN_MAX];
};

/* Give up what the server does not need either. fd becomes CONTROL_FD. */
static int confine(int fd)
{
	/* To read another's maps and memory, files whatever their mode, and
	 * map_files. */
	static const cap_value_t wanted[] = { CAP_SYS_PTRACE,
					      CAP_DAC_READ_SEARCH,
					      CAP_CHECKPOINT_RESTORE };
	int rc = privilege_confine(fd, CONTROL_FD, wanted, ARRAY_LEN(wanted));

	privilege_limit(RLIMIT_NOFILE, 64);
	return rc;
}

static void set_signals(void)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void run_inspector(int fd, pid_t server)
{
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != server)
		_exit(0);
	(void)prctl(PR_SET_NAME, "weft-inspector");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(fd, CONTROL_FD) < 0 || close_range(CONTROL_FD + 1, ~0U, 0))
		_exit(1);
	privilege_limit_memory(memory_bytes);
	if (syscall_filter_apply())
		_exit(1);
	inspect_serve(CONTROL_FD);
}

static void reap(struct server *server)
{
	pid_t pid;

	do {
		pid = waitpid(-1, NULL, WNOHANG);
		for (int i = 0; pid > 0 && i < CHILDREN_MAX; i++) {
			if (server->child[i].pid == pid)
				server->child[i].pid = 0;
		}
	} while (pid > 0);
}

static struct child *find_room(struct server *server)
{
	struct child *room = NULL;
	int live = 0, stuck = 0;

	for (int i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &server->child[i];

		if (!child->pid)
			room = child;
		else if (child->is_killed)
			stuck++;
		else
			live++;
	}
	if (live >= WIRE_WORKERS_MAX || stuck >= WIRE_STUCK_MAX)
		return NULL;
	return room;
}

/* Returns the pid, or negative errno; *out is the loop's end of the pair. */
static int make_inspector(struct server *server, uint32_t serial, int *out)
{
	pid_t self = getpid();
	struct child *room = find_room(server);
	int pair[2];
	pid_t pid;

	*out = -1;
	if (!room)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	/* Not fork(): a library's handlers would close and open descriptors
	 * by numbers that are now others' (libuv's do). */
	pid = _Fork();
	if (!pid)
		run_inspector(pair[1], self);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -EAGAIN;
	}
	*room = (struct child){ .pid = pid, .serial = serial };
	*out = pair[0];
	return pid;
}

static void kill_inspector(struct server *server, uint32_t serial)
{
	for (int i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &server->child[i];

		if (!child->pid || child->serial != serial)
			continue;
		(void)kill(child->pid, SIGKILL);
		child->is_killed = true;
	}
}

/* Returns false when the loop is gone. */
static bool obey(struct server *server)
{
	struct wire_command command;
	ssize_t size = recv(CONTROL_FD, &command, sizeof(command), 0);
	struct wire_made made;
	int fd;

	if (size < 0)
		return errno == EINTR;
	if (size != sizeof(command))
		return false;
	reap(server);
	if (command.kind == WIRE_KILL) {
		kill_inspector(server, command.serial);
	} else if (command.kind == WIRE_MAKE) {
		made = (struct wire_made){ .serial = command.serial };
		made.pid = make_inspector(server, command.serial, &fd);
		/* Should the loop be gone, the next read of the socket says
		 * so. */
		(void)fd_message_send(CONTROL_FD, &made, sizeof(made), fd);
	}
	return true;
}

static _Noreturn void run_server(int control)
{
	struct server server = { .signals = -1 };
	struct signalfd_siginfo info;
	sigset_t chld;

	set_signals();
	/* Samples wait for unwind tables; on a busy machine the milliseconds
	 * that these take must not become seconds. */
	(void)setpriority(PRIO_PROCESS, 0, INSPECTOR_NICE);
	(void)prctl(PR_SET_NAME, "weft-inspectors");
	if (confine(control))
		_exit(1);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	server.signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (server.signals < 0)
		_exit(1);
	for (;;) {
		struct pollfd fds[] = {
			{ .fd = CONTROL_FD, .events = POLLIN },
			{ .fd = server.signals, .events = POLLIN },
		};

		if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
			break;
		while (read(server.signals, &info, sizeof(info)) > 0)
			;
		reap(&server);
		if (fds[0].revents && !obey(&server))
			break;
	}
	for (int i = 0; i < CHILDREN_MAX; i++) {
		if (server.child[i].pid)
			(void)kill(server.child[i].pid, SIGKILL);
	}
	_exit(0);
}

int inspect_fork(struct inspect_server *server, struct weft_err *err)
{
	int pair[2], rc;
	pid_t pid;

	*server = (struct inspect_server){ .fd = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return weft_fail(err, -errno,
				 "cannot make a socket for inspectors: %s",
				 strerror(errno));
	pid = _Fork();
	rc = -errno;
	if (!pid) {
		close(pair[0]);
		run_server(pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return weft_fail(err, rc,
				 "cannot start the server of inspectors: %s",
				 strerror(-rc));
	}
	*server = (struct inspect_server){ .fd = pair[0], .pid = pid };
	return 0;
}

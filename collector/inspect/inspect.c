/* SPDX-License-Identifier: MIT */
/*
 * The loop's side of the inspectors.
 *
 * A request is a job. Jobs wait in one queue; an idle worker (the loop's view
 * of one inspector) takes the first, or one further back for the file that
 * its inspector parsed last. What is decided without an inspector (barred,
 * deferred) waits in the list of settled jobs for the next turn of the loop,
 * so that no callback runs within the call that asked.
 *
 * Memory: a worker lives until both of its handles are closed, a struct
 * inspect until its own handles and all workers are.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cpu_time.h"
#include "collector/inspect/jobs.h"
#include "collector/inspect/owners.h"

enum {
	LOOK_AHEAD = 64,   /* jobs searched for one of the same file */
	PASSES_MAX = 16,   /* times that the first job may be passed over */
	PACKETS_MAX = 128, /* read from an inspector per turn of the loop */
	RETRY_MS = 1000,   /* until a refused or dead inspector is asked anew */
	KEPT_BYTES_MAX = 1 << 20, /* of a reply, for the next */
};

static const uint64_t ns_per_ms = 1000000;

struct worker {
	uv_poll_t poll;
	uv_timer_t deadline;
	struct inspect *in; /* borrowed */
	struct slot *slot;  /* borrowed; NULL once it was given up */
	struct job *job;    /* owned; NULL: idle */
	struct inspect_target last;
	uint8_t *reply; /* owned */
	size_t reply_size, reply_room, reply_want;
	uint64_t started_ns; /* job */
	int fd, pid;
	int open_handles;
};

/* A place for one worker. */
struct slot {
	struct worker *worker;
	uint32_t serial;
	bool is_making;
};

struct inspect {
	uv_loop_t *loop;
	uv_poll_t control;
	uv_idle_t settle;
	uv_timer_t retry;
	struct inspect_server server; /* owned; fd -1: gone */
	struct inspect_opts opts;
	struct slot slot[WIRE_WORKERS_MAX];
	struct jobs waiting, settled;
	struct jobs lines; /* waiting; taken when nothing else waits */
	struct inspect_owners owners; /* whose lines are next */
	struct inspect_bars bars;
	struct inspect_totals totals;
	uint64_t next_id;
	uint32_t next_serial;
	uint32_t passes; /* times that the first waiting job was passed over */
	bool is_closing;
	int open_handles; /* own and workers' */
};

static void maybe_free(struct inspect *in)
{
	if (!in->is_closing || in->open_handles)
		return;
	/* Most likely it has ended by now; if not, it stays a zombie until we
	 * end. */
	(void)waitpid(in->server.pid, NULL, WNOHANG);
	free(in);
}

/* The callback may close in, whose memory stays until handles are closed. */
static void call_back(struct inspect *in, struct job *job,
		      const struct inspect_answer *answer)
{
	in->totals.answers[answer->status]++;
	job_finish(job, answer);
}

static void call_back_without(struct inspect *in, struct job *job,
			      enum inspect_status status)
{
	struct inspect_answer answer = { .status = status };

	call_back(in, job, &answer);
}

static void on_settle(uv_idle_t *handle)
{
	struct inspect *in = handle->data;

	/* Those that callbacks add wait for the next turn. */
	for (size_t n = in->settled.n; n && !in->is_closing; n--) {
		struct job *job = jobs_take(&in->settled, &in->settled.first);

		call_back_without(in, job, job->status);
	}
	if (!in->is_closing && !in->settled.n)
		uv_idle_stop(&in->settle);
}

static void settle_later(struct inspect *in, struct job *job,
			 enum inspect_status status)
{
	job->status = status;
	jobs_append(&in->settled, job);
	uv_idle_start(&in->settle, on_settle);
}

static bool send_command(struct inspect *in, enum wire_command_kind kind,
			 uint32_t serial)
{
	struct wire_command command = { .kind = kind, .serial = serial };

	return send(in->server.fd, &command, sizeof(command),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(command);
}

static struct job *take_waiting(struct inspect *in, struct jobs *jobs,
				struct job **link)
{
	struct job *job = jobs_take(jobs, link);

	if (jobs == &in->lines)
		inspect_owners_leave(&in->owners, job->owner);
	return job;
}

static void settle_all(struct inspect *in, struct jobs *jobs,
		       enum inspect_status status)
{
	while (jobs->first)
		settle_later(in, take_waiting(in, jobs, &jobs->first), status);
}

/* With no inspector and none coming, do not let requests wait for ever. */
static void defer_if_alone(struct inspect *in)
{
	bool is_gone = in->server.fd < 0;

	for (uint32_t i = 0; i < in->opts.workers; i++) {
		if (in->slot[i].worker || in->slot[i].is_making)
			return;
	}
	settle_all(in, &in->waiting,
		   is_gone ? INSPECT_CRASHED : INSPECT_DEFERRED);
	settle_all(in, &in->lines,
		   is_gone ? INSPECT_CRASHED : INSPECT_DEFERRED);
}

static void lose_server(struct inspect *in)
{
	if (in->server.fd < 0)
		return;
	uv_poll_stop(&in->control);
	close(in->server.fd);
	in->server.fd = -1;
	for (uint32_t i = 0; i < in->opts.workers; i++)
		in->slot[i].is_making = false;
	defer_if_alone(in);
}

static void ask_for_worker(struct inspect *in, struct slot *slot)
{
	if (in->is_closing || in->server.fd < 0 || slot->worker ||
	    slot->is_making)
		return;
	slot->serial = ++in->next_serial;
	slot->is_making = true;
	if (!send_command(in, WIRE_MAKE, slot->serial))
		lose_server(in);
}

static void on_retry(uv_timer_t *timer)
{
	struct inspect *in = timer->data;

	for (uint32_t i = 0; i < in->opts.workers; i++)
		ask_for_worker(in, &in->slot[i]);
}

static void on_worker_closed(uv_handle_t *handle)
{
	struct worker *worker = handle->data;
	struct inspect *in = worker->in;

	if (!--worker->open_handles) {
		free(worker->reply);
		free(worker);
	}
	in->open_handles--;
	maybe_free(in);
}

/* Have nothing more to do with the inspector. Its job, if any, is the
 * caller's. */
static struct job *worker_abandon(struct worker *worker)
{
	struct inspect *in = worker->in;
	struct job *job = worker->job;

	worker->job = NULL;
	worker->slot->worker = NULL;
	/* Also where it closed its socket: it may still run. */
	if (in->server.fd >= 0 && !in->is_closing &&
	    !send_command(in, WIRE_KILL, worker->slot->serial))
		lose_server(in);
	worker->slot = NULL;
	uv_close((uv_handle_t *)&worker->poll, on_worker_closed);
	uv_close((uv_handle_t *)&worker->deadline, on_worker_closed);
	close(worker->fd);
	worker->fd = -1;
	return job;
}

static void charge(const struct worker *worker, const struct job *job)
{
	if (job->request->op == WIRE_LINES)
		inspect_owners_charge(&worker->in->owners, job->owner,
				      uv_hrtime() - worker->started_ns);
}

/* The inspector hung or died: replace it, bar its target, tell who asked. */
static void worker_fail(struct worker *worker, enum inspect_status status)
{
	struct inspect *in = worker->in;
	struct slot *slot = worker->slot;
	struct job *job = worker_abandon(worker);

	in->totals.replaced++;
	if (!job) {
		/* It died idle, so no target is to blame; it may again. */
		uv_timer_start(&in->retry, on_retry, RETRY_MS, 0);
		defer_if_alone(in);
		return;
	}
	charge(worker, job);
	ask_for_worker(in, slot);
	inspect_bars_add(&in->bars, &job->target,
			 uv_hrtime() + in->opts.bar_ns);
	call_back_without(in, job, status);
	if (!in->is_closing)
		defer_if_alone(in);
}

static struct job **choose_job(struct inspect *in, const struct worker *worker)
{
	struct job **link = &in->waiting.first;

	if (in->passes >= PASSES_MAX)
		return &in->waiting.first;
	for (int i = 0; *link && i < LOOK_AHEAD; i++) {
		if (inspect_target_is_same(&(*link)->target, &worker->last))
			return link;
		link = &(*link)->next;
	}
	return &in->waiting.first;
}

static void on_deadline(uv_timer_t *timer);

static uint64_t find_deadline(const struct inspect *in, const struct job *job)
{
	switch (job->request->op) {
	case WIRE_TABLE:
		return in->opts.table_deadline_ns;
	case WIRE_LINES:
		return in->opts.lines_deadline_ns;
	default:
		return in->opts.deadline_ns;
	}
}

static void worker_start(struct worker *worker, struct job *job)
{
	struct inspect *in = worker->in;

	worker->job = job;
	worker->started_ns = uv_hrtime();
	worker->last = job->target;
	worker->reply_size = 0;
	worker->reply_want = 0;
	job->request->id = ++in->next_id;
	uv_timer_start(&worker->deadline, on_deadline,
		       find_deadline(in, job) / ns_per_ms, 0);
	/* It waits for us, so the socket has room. Where it has died instead,
	 * the socket is readable and on_readable() finds out. */
	(void)send(worker->fd, job->request, job->size,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
}

static struct worker *find_idle(struct inspect *in,
				const struct inspect_target *target)
{
	struct worker *idle = NULL;

	for (uint32_t i = 0; i < in->opts.workers; i++) {
		struct worker *worker = in->slot[i].worker;

		if (!worker || worker->job)
			continue;
		if (inspect_target_is_same(&worker->last, target))
			return worker;
		idle = worker;
	}
	return idle;
}

/* Take a job; start it, unless it was barred since it was queued. */
static bool take_job(struct inspect *in, struct jobs *jobs, struct job **link,
		     struct worker *worker)
{
	struct job *job = take_waiting(in, jobs, link);

	if (inspect_bars_has(&in->bars, &job->target, uv_hrtime())) {
		settle_later(in, job, INSPECT_BARRED);
		return false;
	}
	worker_start(worker, job);
	return true;
}

static bool is_busy_with_lines(const struct inspect *in)
{
	for (uint32_t i = 0; i < in->opts.workers; i++) {
		const struct worker *worker = in->slot[i].worker;

		if (worker && worker->job &&
		    worker->job->request->op == WIRE_LINES)
			return true;
	}
	return false;
}

/* The first request of the owner whose turn it is. */
static struct job **choose_lines(struct inspect *in)
{
	size_t owner = inspect_owners_choose(&in->owners);
	struct job **link = &in->lines.first;

	while ((*link)->owner != owner)
		link = &(*link)->next;
	return link;
}

/* Call nobody back: runs within requests. */
static void dispatch(struct inspect *in)
{
	struct worker *worker;

	while (in->waiting.first && !in->is_closing) {
		struct job *job = in->waiting.first, **link;
		bool is_first;

		worker = find_idle(in, &job->target);
		if (!worker)
			return;
		link = choose_job(in, worker);
		is_first = *link == job;
		if (take_job(in, &in->waiting, link, worker))
			in->passes = is_first ? 0 : in->passes + 1;
	}
	while (in->lines.first && !in->is_closing && !is_busy_with_lines(in)) {
		struct job **link = choose_lines(in);

		worker = find_idle(in, &(*link)->target);
		if (!worker)
			return;
		(void)take_job(in, &in->lines, link, worker);
	}
}

/* Room for one more packet. Grows with what has come, not with what the
 * reply claims. */
static int reserve(struct worker *worker)
{
	size_t want = worker->reply_size + WIRE_PACKET_MAX;
	uint8_t *bigger;

	if (want <= worker->reply_room)
		return 0;
	want *= 2;
	bigger = realloc(worker->reply, want);
	if (!bigger)
		return -ENOMEM;
	worker->reply = bigger;
	worker->reply_room = want;
	return 0;
}

/* Take one packet. Returns 0, -EAGAIN for none, or why the inspector is no
 * longer to be trusted. */
static int receive(struct worker *worker)
{
	ssize_t size;
	int rc = reserve(worker);

	if (rc)
		return rc;
	size = recv(worker->fd, worker->reply + worker->reply_size,
		    WIRE_PACKET_MAX, MSG_DONTWAIT | MSG_TRUNC);
	if (size < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!size)
		return -ECONNRESET;
	if (!worker->job || size > WIRE_PACKET_MAX)
		return -EPROTO;
	worker->reply_size += (size_t)size;
	if (!worker->reply_want) {
		if (worker->reply_size < sizeof(struct wire_reply))
			return -EPROTO;
		worker->reply_want = inspect_reply_size(
			(const void *)worker->reply, worker->job->request);
		if (!worker->reply_want)
			return -EPROTO;
	}
	return worker->reply_size > worker->reply_want ? -EPROTO : 0;
}

static bool is_whole(const struct worker *worker)
{
	return worker->reply_want && worker->reply_size == worker->reply_want;
}

static void finish(struct worker *worker)
{
	struct inspect *in = worker->in;
	struct job *job = worker->job;
	struct inspect_answer answer;

	if (inspect_answer_decode(&answer, worker->reply, worker->reply_size,
				  job->request)) {
		worker_fail(worker, INSPECT_CRASHED);
		return;
	}
	worker->job = NULL;
	uv_timer_stop(&worker->deadline);
	charge(worker, job);
	if (job->request->op == WIRE_NAMES && answer.owner != WIRE_NO_OWNER)
		inspect_owners_learn(&in->owners, &job->target, answer.owner);
	call_back(in, job, &answer);
	inspect_answer_release(&answer);
	/* A table is large and comes once. */
	if (worker->reply_room > KEPT_BYTES_MAX) {
		free(worker->reply);
		worker->reply = NULL;
		worker->reply_room = 0;
	}
	if (!in->is_closing)
		dispatch(in);
}

/* Read what is there. Returns false if the worker is no more, or done. */
static bool drain(struct worker *worker)
{
	for (int i = 0; i < PACKETS_MAX; i++) {
		int rc = receive(worker);

		if (rc == -EAGAIN)
			return true;
		if (rc) {
			worker_fail(worker, INSPECT_CRASHED);
			return false;
		}
		if (is_whole(worker)) {
			finish(worker);
			return false;
		}
	}
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct worker *worker = poll->data;

	(void)status; /* an error shows when we read */
	(void)events;
	drain(worker);
}

static void on_deadline(uv_timer_t *timer)
{
	struct worker *worker = timer->data;

	/* The loop may have been late rather than the inspector. */
	if (drain(worker))
		worker_fail(worker, INSPECT_TIMEOUT);
}

static int worker_new(struct inspect *in, struct slot *slot, int fd, int pid)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	/* Only fails where fd is not to be polled; ours is a socket. */
	if (uv_poll_init(in->loop, &worker->poll, fd)) {
		free(worker);
		return -EINVAL;
	}
	worker->in = in;
	worker->slot = slot;
	worker->fd = fd;
	worker->pid = pid;
	worker->poll.data = worker;
	uv_timer_init(in->loop, &worker->deadline);
	worker->deadline.data = worker;
	worker->open_handles = 2;
	in->open_handles += 2;
	slot->worker = worker;
	uv_poll_start(&worker->poll, UV_READABLE, on_readable);
	return 0;
}

/* Returns bytes received, or negative errno; *fd is the caller's. */
static ssize_t receive_made(int control, struct wire_made *made, int *fd)
{
	struct iovec iov = { made, sizeof(*made) };
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} space = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = space.bytes,
			      .msg_controllen = sizeof(space.bytes) };
	ssize_t size = recvmsg(control, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *cmsg;

	*fd = -1;
	if (size < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET &&
	    cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(int));
	return size;
}

static void take_made(struct inspect *in, const struct wire_made *made, int fd)
{
	struct slot *slot = NULL;

	for (uint32_t i = 0; i < in->opts.workers; i++) {
		if (in->slot[i].is_making && in->slot[i].serial == made->serial)
			slot = &in->slot[i];
	}
	if (slot)
		slot->is_making = false;
	if (slot && fd >= 0 && !worker_new(in, slot, fd, made->pid)) {
		dispatch(in);
		return;
	}
	if (fd >= 0)
		close(fd);
	uv_timer_start(&in->retry, on_retry, RETRY_MS, 0);
	defer_if_alone(in);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct inspect *in = poll->data;
	struct wire_made made;
	ssize_t size;
	int fd;

	(void)status;
	(void)events;
	size = receive_made(in->server.fd, &made, &fd);
	if (size == -EAGAIN || size == -EINTR)
		return;
	if (size == sizeof(made)) {
		take_made(in, &made, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	lose_server(in);
}

static void on_own_closed(uv_handle_t *handle)
{
	struct inspect *in = handle->data;

	in->open_handles--;
	maybe_free(in);
}

static void set_defaults(struct inspect_opts *opts)
{
	if (!opts->workers)
		opts->workers = 2;
	if (opts->workers > WIRE_WORKERS_MAX)
		opts->workers = WIRE_WORKERS_MAX;
	if (!opts->queue)
		opts->queue = 4096;
	if (!opts->deadline_ns)
		opts->deadline_ns = 2000 * ns_per_ms;
	if (!opts->table_deadline_ns)
		opts->table_deadline_ns = 10000 * ns_per_ms;
	if (!opts->lines_deadline_ns)
		opts->lines_deadline_ns = 10000 * ns_per_ms;
	if (!opts->bar_ns)
		opts->bar_ns = 3600 * 1000 * ns_per_ms;
}

int inspect_open(struct inspect **out, uv_loop_t *loop,
		 struct inspect_server server, const struct inspect_opts *opts,
		 struct weft_err *err)
{
	struct inspect *in = calloc(1, sizeof(*in));
	int rc = -ENOMEM;

	*out = NULL;
	if (in)
		rc = uv_poll_init(loop, &in->control, server.fd);
	if (rc) {
		free(in);
		close(server.fd);
		return weft_fail(err, rc, "cannot watch the inspectors: %s",
				 strerror(-rc));
	}
	in->loop = loop;
	in->server = server;
	if (opts)
		in->opts = *opts;
	set_defaults(&in->opts);
	jobs_init(&in->waiting);
	jobs_init(&in->lines);
	jobs_init(&in->settled);
	uv_idle_init(loop, &in->settle);
	uv_timer_init(loop, &in->retry);
	in->control.data = in;
	in->settle.data = in;
	in->retry.data = in;
	in->open_handles = 3;
	uv_poll_start(&in->control, UV_READABLE, on_control);
	for (uint32_t i = 0; i < in->opts.workers; i++)
		ask_for_worker(in, &in->slot[i]);
	*out = in;
	return 0;
}

void inspect_close(struct inspect *in)
{
	if (!in)
		return;
	in->is_closing = true;
	for (uint32_t i = 0; i < in->opts.workers; i++) {
		if (in->slot[i].worker)
			job_free(worker_abandon(in->slot[i].worker));
	}
	jobs_drop(&in->waiting);
	jobs_drop(&in->lines);
	jobs_drop(&in->settled);
	uv_close((uv_handle_t *)&in->control, on_own_closed);
	uv_close((uv_handle_t *)&in->settle, on_own_closed);
	uv_close((uv_handle_t *)&in->retry, on_own_closed);
	/* The server kills the inspectors and ends. */
	if (in->server.fd >= 0)
		close(in->server.fd);
	in->server.fd = -1;
}

void inspect_read_totals(const struct inspect *in, struct inspect_totals *out)
{
	*out = in->totals;
}

uint64_t inspect_cpu_ns(const struct inspect *in)
{
	uint64_t total = cpu_time_ns(in->server.pid, getpid());

	for (uint32_t i = 0; i < in->opts.workers; i++) {
		if (in->slot[i].worker)
			total += cpu_time_ns(in->slot[i].worker->pid,
					     in->server.pid);
	}
	return total;
}

/* Whether there is room for one more of its owner's, so that there is some
 * for others; it then counts as waiting. */
static bool may_wait(struct inspect *in, struct job *job)
{
	job->owner = inspect_owners_find(&in->owners, &job->target);
	if (in->owners.owner[job->owner].waiting >= in->opts.queue / 2)
		return false;
	inspect_owners_wait(&in->owners, job->owner);
	return true;
}

int inspect_submit(struct inspect *in, const struct job_parts *parts,
		   union job_fn fn, void *ctx)
{
	struct job *job = job_new(parts, fn, ctx);
	struct jobs *jobs = parts->op == WIRE_LINES ? &in->lines : &in->waiting;

	if (!job)
		return -ENOMEM;
	if (inspect_bars_has(&in->bars, &job->target, uv_hrtime()))
		settle_later(in, job, INSPECT_BARRED);
	else if (jobs->n >= in->opts.queue ||
		 (jobs == &in->lines && !may_wait(in, job)))
		settle_later(in, job, INSPECT_DEFERRED);
	else
		jobs_append(jobs, job);
	dispatch(in);
	defer_if_alone(in);
	return 0;
}

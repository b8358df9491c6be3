/* SPDX-License-Identifier: MIT */
/*
 * A slot is a place for one inspector; a worker is the one that has it, if
 * there is one. A worker lives until both of its handles are closed, a crew
 * until its own handles and all workers are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cpu_time.h"
#include "collector/fd_message.h"
#include "collector/inspect/crew.h"

enum {
	PACKETS_MAX = 128, /* read from an inspector per turn of the loop */
	RETRY_MS = 1000,   /* until a refused or dead inspector is asked anew */
	KEPT_BYTES_MAX = 1 << 20, /* of a reply, for the next */
};

static const uint64_t ns_per_ms = 1000000;

struct worker {
	uv_poll_t poll;
	uv_timer_t deadline;
	struct crew *crew; /* borrowed */
	struct slot *slot; /* borrowed; NULL once it was given up */
	struct job *job;   /* owned; NULL: idle */
	struct inspect_target last;
	uint8_t *reply; /* owned */
	size_t reply_size, reply_room, reply_want;
	uint64_t started_ns; /* job */
	int fd, pid;
	int open_handles;
};

struct slot {
	struct worker *worker;
	uint32_t serial;
	bool is_making;
};

struct crew {
	uv_loop_t *loop;
	uv_poll_t control;
	uv_timer_t retry;
	struct inspect_server server; /* owned; fd -1: gone */
	struct slot slot[WIRE_WORKERS_MAX];
	uint32_t n;
	const struct crew_calls *calls; /* borrowed */
	void *ctx;                      /* borrowed */
	uint64_t next_id, replaced;
	uint32_t next_serial;
	bool is_closing;
	int open_handles; /* own and workers' */
};

static void maybe_free(struct crew *crew)
{
	const struct crew_calls *calls = crew->calls;
	void *ctx = crew->ctx;

	if (!crew->is_closing || crew->open_handles)
		return;
	/* Most likely it has ended by now; if not, it stays a zombie until we
	 * end. */
	(void)waitpid(crew->server.pid, NULL, WNOHANG);
	free(crew);
	calls->closed(ctx);
}

static bool send_command(struct crew *crew, enum wire_command_kind kind,
			 uint32_t serial)
{
	struct wire_command command = { .kind = kind, .serial = serial };

	return send(crew->server.fd, &command, sizeof(command),
		    MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(command);
}

static void lose_server(struct crew *crew)
{
	if (crew->server.fd < 0)
		return;
	uv_poll_stop(&crew->control);
	close(crew->server.fd);
	crew->server.fd = -1;
	for (uint32_t i = 0; i < crew->n; i++)
		crew->slot[i].is_making = false;
	crew->calls->changed(crew->ctx);
}

static void ask_for_worker(struct crew *crew, struct slot *slot)
{
	if (crew->is_closing || crew->server.fd < 0 || slot->worker ||
	    slot->is_making)
		return;
	slot->serial = ++crew->next_serial;
	slot->is_making = true;
	if (!send_command(crew, WIRE_MAKE, slot->serial))
		lose_server(crew);
}

static void on_retry(uv_timer_t *timer)
{
	struct crew *crew = timer->data;

	for (uint32_t i = 0; i < crew->n; i++)
		ask_for_worker(crew, &crew->slot[i]);
}

static void on_worker_closed(uv_handle_t *handle)
{
	struct worker *worker = handle->data;
	struct crew *crew = worker->crew;

	if (!--worker->open_handles) {
		free(worker->reply);
		free(worker);
	}
	crew->open_handles--;
	maybe_free(crew);
}

/* Have nothing more to do with the inspector. Its job, if any, is the
 * caller's. */
static struct job *worker_abandon(struct worker *worker)
{
	struct crew *crew = worker->crew;
	struct job *job = worker->job;

	worker->job = NULL;
	worker->slot->worker = NULL;
	/* Also where it closed its socket: it may still run. */
	if (crew->server.fd >= 0 && !crew->is_closing &&
	    !send_command(crew, WIRE_KILL, worker->slot->serial))
		lose_server(crew);
	worker->slot = NULL;
	uv_close((uv_handle_t *)&worker->poll, on_worker_closed);
	uv_close((uv_handle_t *)&worker->deadline, on_worker_closed);
	close(worker->fd);
	worker->fd = -1;
	return job;
}

/* The inspector hung or died: replace it, tell whose job it had. */
static void worker_fail(struct worker *worker, enum inspect_status status)
{
	struct crew *crew = worker->crew;
	struct slot *slot = worker->slot;
	struct inspect_answer answer = { .status = status };
	uint64_t started_ns = worker->started_ns;
	struct job *job = worker_abandon(worker);

	crew->replaced++;
	if (job) {
		ask_for_worker(crew, slot);
		crew->calls->over(crew->ctx, job, &answer,
				  uv_hrtime() - started_ns);
	} else {
		/* It died idle, so no target is to blame; it may again. */
		uv_timer_start(&crew->retry, on_retry, RETRY_MS, 0);
	}
	if (!crew->is_closing)
		crew->calls->changed(crew->ctx);
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
	struct crew *crew = worker->crew;
	struct job *job = worker->job;
	struct inspect_answer answer;

	if (inspect_answer_decode(&answer, worker->reply, worker->reply_size,
				  job->request)) {
		worker_fail(worker, INSPECT_CRASHED);
		return;
	}
	worker->job = NULL;
	uv_timer_stop(&worker->deadline);
	crew->calls->over(crew->ctx, job, &answer,
			  uv_hrtime() - worker->started_ns);
	inspect_answer_release(&answer);
	/* A table is large and comes once. */
	if (worker->reply_room > KEPT_BYTES_MAX) {
		free(worker->reply);
		worker->reply = NULL;
		worker->reply_room = 0;
	}
	if (!crew->is_closing)
		crew->calls->changed(crew->ctx);
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

void crew_give(struct worker *worker, struct job *job, uint64_t deadline_ns)
{
	worker->job = job;
	worker->started_ns = uv_hrtime();
	worker->last = job->target;
	worker->reply_size = 0;
	worker->reply_want = 0;
	job->request->id = ++worker->crew->next_id;
	uv_timer_start(&worker->deadline, on_deadline, deadline_ns / ns_per_ms,
		       0);
	/* It waits for us, so the socket has room. Where it has died instead,
	 * the socket is readable and on_readable() finds out. */
	(void)send(worker->fd, job->request, job->size,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
}

struct worker *crew_find_idle(struct crew *crew,
			      const struct inspect_target *target)
{
	struct worker *idle = NULL;

	for (uint32_t i = 0; i < crew->n; i++) {
		struct worker *worker = crew->slot[i].worker;

		if (!worker || worker->job)
			continue;
		if (inspect_target_is_same(&worker->last, target))
			return worker;
		idle = worker;
	}
	return idle;
}

const struct inspect_target *crew_last_of(const struct worker *worker)
{
	return &worker->last;
}

bool crew_is_busy_with(const struct crew *crew, enum wire_op op)
{
	for (uint32_t i = 0; i < crew->n; i++) {
		const struct worker *worker = crew->slot[i].worker;

		if (worker && worker->job && worker->job->request->op == op)
			return true;
	}
	return false;
}

bool crew_is_empty(const struct crew *crew)
{
	for (uint32_t i = 0; i < crew->n; i++) {
		if (crew->slot[i].worker || crew->slot[i].is_making)
			return false;
	}
	return true;
}

bool crew_is_lost(const struct crew *crew)
{
	return crew->server.fd < 0;
}

uint64_t crew_replaced(const struct crew *crew)
{
	return crew->replaced;
}

uint64_t crew_cpu_ns(const struct crew *crew)
{
	uint64_t total = cpu_time_ns(crew->server.pid, getpid());

	for (uint32_t i = 0; i < crew->n; i++) {
		if (crew->slot[i].worker)
			total += cpu_time_ns(crew->slot[i].worker->pid,
					     crew->server.pid);
	}
	return total;
}

static int worker_new(struct crew *crew, struct slot *slot, int fd, int pid)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	/* Only fails where fd is not to be polled; ours is a socket. */
	if (uv_poll_init(crew->loop, &worker->poll, fd)) {
		free(worker);
		return -EINVAL;
	}
	worker->crew = crew;
	worker->slot = slot;
	worker->fd = fd;
	worker->pid = pid;
	worker->poll.data = worker;
	uv_timer_init(crew->loop, &worker->deadline);
	worker->deadline.data = worker;
	worker->open_handles = 2;
	crew->open_handles += 2;
	slot->worker = worker;
	uv_poll_start(&worker->poll, UV_READABLE, on_readable);
	return 0;
}

static void take_made(struct crew *crew, const struct wire_made *made, int fd)
{
	struct slot *slot = NULL;

	for (uint32_t i = 0; i < crew->n; i++) {
		if (crew->slot[i].is_making &&
		    crew->slot[i].serial == made->serial)
			slot = &crew->slot[i];
	}
	if (slot)
		slot->is_making = false;
	if (!slot || fd < 0 || worker_new(crew, slot, fd, made->pid)) {
		if (fd >= 0)
			close(fd);
		uv_timer_start(&crew->retry, on_retry, RETRY_MS, 0);
	}
	crew->calls->changed(crew->ctx);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct crew *crew = poll->data;
	struct wire_made made;
	ssize_t size;
	int fd;

	(void)status;
	(void)events;
	size = fd_message_receive(crew->server.fd, &made, sizeof(made),
				  MSG_DONTWAIT, &fd);
	if (size == -EAGAIN || size == -EINTR)
		return;
	if (size == sizeof(made)) {
		take_made(crew, &made, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	lose_server(crew);
}

static void on_own_closed(uv_handle_t *handle)
{
	struct crew *crew = handle->data;

	crew->open_handles--;
	maybe_free(crew);
}

int crew_open(struct crew **out, uv_loop_t *loop, struct inspect_server server,
	      uint32_t n, const struct crew_calls *calls, void *ctx,
	      struct weft_err *err)
{
	struct crew *crew = calloc(1, sizeof(*crew));
	int rc = -ENOMEM;

	*out = NULL;
	if (crew)
		rc = uv_poll_init(loop, &crew->control, server.fd);
	if (rc) {
		free(crew);
		close(server.fd);
		return weft_fail(err, rc, "cannot watch the inspectors: %s",
				 strerror(-rc));
	}
	crew->loop = loop;
	crew->server = server;
	crew->n = n;
	crew->calls = calls;
	crew->ctx = ctx;
	uv_timer_init(loop, &crew->retry);
	crew->control.data = crew;
	crew->retry.data = crew;
	crew->open_handles = 2;
	uv_poll_start(&crew->control, UV_READABLE, on_control);
	*out = crew;
	for (uint32_t i = 0; i < n; i++)
		ask_for_worker(crew, &crew->slot[i]);
	return 0;
}

void crew_close(struct crew *crew)
{
	crew->is_closing = true;
	for (uint32_t i = 0; i < crew->n; i++) {
		if (crew->slot[i].worker)
			job_free(worker_abandon(crew->slot[i].worker));
	}
	uv_close((uv_handle_t *)&crew->control, on_own_closed);
	uv_close((uv_handle_t *)&crew->retry, on_own_closed);
	/* The server kills the inspectors and ends. */
	if (crew->server.fd >= 0)
		close(crew->server.fd);
	crew->server.fd = -1;
}

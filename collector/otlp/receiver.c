/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/otlp/receiver.h"

/* A message is read into place: head, rows, text. */
struct receiver {
	struct receiver_opts opts;
	uv_poll_t poll;
	bool is_reading, is_stopped, is_over;
	struct otlp_message head;
	struct span_list spans; /* owned; being read */
	size_t done;            /* bytes of the message that were read */
	bool is_dropped;        /* there is no memory for it: read it away */
	char away[1 << 16];
	struct receiver_totals totals;
};

static void end(struct receiver *r)
{
	if (r->is_over)
		return;
	r->is_over = true;
	uv_poll_stop(&r->poll);
	span_list_release(&r->spans);
	/* It ends when it is hung up on, or with us; not waited for. */
	(void)shutdown(r->opts.server.fd, SHUT_RDWR);
	(void)waitpid(r->opts.server.pid, NULL, WNOHANG);
	r->opts.on_end(r->opts.ctx);
}

static void fail(struct receiver *r, const char *why)
{
	r->totals.has_failed = true;
	weft_log(WEFT_WARN,
		 "the receiver of spans %s: no more spans are stored; "
		 "samples are not affected",
		 why);
	end(r);
}

/* The part of the message that comes next. Returns how many bytes it lacks. */
static size_t next_part(struct receiver *r, char **at)
{
	size_t rows = r->head.n * sizeof(*r->spans.rows);
	size_t done = r->done;

	if (done < sizeof(r->head)) {
		*at = (char *)&r->head + done;
		return sizeof(r->head) - done;
	}
	done -= sizeof(r->head);
	if (r->is_dropped) {
		size_t left = rows + r->head.text_size - done;

		*at = r->away;
		return left < sizeof(r->away) ? left : sizeof(r->away);
	}
	if (done < rows) {
		*at = (char *)r->spans.rows + done;
		return rows - done;
	}
	done -= rows;
	*at = r->spans.text + done;
	return r->head.text_size - done;
}

/* The head is there: make room for the rest. Returns false where it cannot be
 * a head of ours. */
static bool make_room(struct receiver *r)
{
	if (r->head.n > OTLP_SPANS_MAX || r->head.text_size > OTLP_TEXT_MAX)
		return false;
	r->spans.n = r->head.n;
	r->spans.text_size = r->head.text_size;
	r->spans.rows = calloc(r->head.n + 1, sizeof(*r->spans.rows));
	r->spans.text = malloc(r->head.text_size + 1);
	r->is_dropped = !r->spans.rows || !r->spans.text;
	return true;
}

/* The store checks what rows refer to. */
static void take_message(struct receiver *r)
{
	r->totals.spans += r->head.n;
	r->totals.rejected += r->head.rejected;
	if (r->head.times_full && !r->totals.times_full)
		weft_log(
			WEFT_WARN,
			"all %d connections for spans are taken, or their memory: for others the one is closed that sent nothing whole for longest",
			OTLP_CONNECTIONS_MAX);
	r->totals.times_full += r->head.times_full;
	if (r->head.n &&
	    (r->is_dropped || writer_spans(r->opts.writer, &r->spans)))
		r->totals.dropped += r->head.n;
	span_list_release(&r->spans);
	r->is_dropped = false;
	r->done = 0;
}

/* Read what is there. Returns false when there is no more, for now or ever. */
static bool read_some(struct receiver *r)
{
	char *at;
	size_t want = next_part(r, &at);
	ssize_t got = read(r->opts.server.fd, at, want);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) {
		if (r->is_stopped && !r->done)
			end(r);
		else
			fail(r, "has died");
		return false;
	}
	r->done += (size_t)got;
	if (r->done == sizeof(r->head) && !make_room(r)) {
		fail(r, "sent what makes no sense");
		return false;
	}
	if (r->done >= sizeof(r->head) && !next_part(r, &at))
		take_message(r);
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct receiver *r = poll->data;

	(void)status;
	(void)events;
	while (writer_span_bytes(r->opts.writer) < RECEIVER_QUEUE_MAX) {
		if (!read_some(r))
			return;
	}
	uv_poll_stop(&r->poll);
	r->is_reading = false;
}

void receiver_tick(struct receiver *r)
{
	if (r->is_reading || r->is_over)
		return;
	r->is_reading = true;
	uv_poll_start(&r->poll, UV_READABLE, on_readable);
}

int receiver_open(struct receiver **out, const struct receiver_opts *opts,
		  struct weft_err *err)
{
	struct receiver *r = calloc(1, sizeof(*r));
	int flags = fcntl(opts->server.fd, F_GETFL);

	*out = NULL;
	if (!r || flags < 0 ||
	    fcntl(opts->server.fd, F_SETFL, flags | O_NONBLOCK)) {
		close(opts->server.fd);
		free(r);
		return weft_fail(err, -ENOMEM,
				 "cannot receive spans: out of memory");
	}
	r->opts = *opts;
	uv_poll_init(opts->loop, &r->poll, opts->server.fd);
	r->poll.data = r;
	receiver_tick(r);
	*out = r;
	return 0;
}

void receiver_stop(struct receiver *r)
{
	if (r->is_stopped || r->is_over)
		return;
	r->is_stopped = true;
	(void)shutdown(r->opts.server.fd, SHUT_WR);
	receiver_tick(r);
}

void receiver_give_up(struct receiver *r)
{
	if (!r->is_over)
		fail(r, "did not end in time");
}

bool receiver_is_over(const struct receiver *r)
{
	return !r || r->is_over;
}

void receiver_read_totals(const struct receiver *r, struct receiver_totals *out)
{
	*out = r->totals;
}

static void on_closed(uv_handle_t *handle)
{
	struct receiver *r = handle->data;

	close(r->opts.server.fd);
	free(r);
}

void receiver_close(struct receiver *r)
{
	if (!r)
		return;
	end(r);
	uv_close((uv_handle_t *)&r->poll, on_closed);
}

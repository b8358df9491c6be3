/* SPDX-License-Identifier: MIT */
/* Spans that arrive while we record: from their process (server.h) to the
 * writer. */
#ifndef WEFT_RECEIVER_H
#define WEFT_RECEIVER_H

#include "collector/otlp/server.h"
#include "collector/writer.h"

#include <uv.h>

struct receiver;

enum {
	/* With so many bytes of spans before it, what comes waits in its
	 * process, which then tells senders to come again. A message is read
	 * whole, so that one may be above it. */
	RECEIVER_QUEUE_MAX = 64 << 20
};

struct receiver_opts {
	uv_loop_t *loop;
	struct otlp_server server; /* consumed, also on failure */
	struct writer *writer;     /* borrowed */
	/* All that was sent before receiver_stop() is with the writer. */
	void (*on_end)(void *ctx);
	void *ctx;
};

int receiver_open(struct receiver **out, const struct receiver_opts *opts,
		  struct weft_err *err) MUST_CHECK;

/* Call once per interval: read on, if the writer was behind. */
void receiver_tick(struct receiver *r);

/* Take no more requests; on_end comes when the last is read, from the loop. */
void receiver_stop(struct receiver *r);

/* Wait for no more: what was not read is dropped. */
void receiver_give_up(struct receiver *r);

/* Nothing more will come. NULL: true. */
bool receiver_is_over(const struct receiver *r);

struct receiver_totals {
	uint64_t spans, rejected;
	uint64_t dropped; /* of spans: for want of memory */
	bool has_failed;  /* its process died, or made no sense */
	/* That all connections were taken: others had to wait. */
	uint64_t times_full;
};
void receiver_read_totals(const struct receiver *r,
			  struct receiver_totals *out);

/* What was not read is dropped. Memory goes when the loop has closed the
 * handle. NULL is fine. */
void receiver_close(struct receiver *r);

#endif

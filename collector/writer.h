/* SPDX-License-Identifier: MIT */
/*
 * The one thread that touches the file: it takes batches and names in order,
 * one at a time, off the loop. The loop learns how each ended.
 */
#ifndef WEFT_WRITER_H
#define WEFT_WRITER_H

#include "collector/batch.h"
#include "collector/name_list.h"
#include "store/retention.h"

#include <uv.h>

struct writer;

/* A batch was stored; rows are borrowed (n of them, one per frame). */
typedef void writer_stored_fn(void *ctx, const struct batch *b,
			      const struct store_frame_row *rows, size_t n);

struct writer_opts {
	uv_loop_t *loop;
	struct store *store; /* consumed */
	writer_stored_fn *on_stored;
	/* The queue ran empty, or a write failed and is being retried. */
	void (*on_idle)(void *ctx);
	void *ctx;
	/* What the file keeps: what is old goes in small steps, after each
	 * batch, and while nothing else is to be written, as long as the log is
	 * short. */
	struct store_keep keep;
	uint64_t max_wal_bytes;
};

int writer_open(struct writer **out, const struct writer_opts *opts,
		struct weft_err *err) MUST_CHECK;

/* Queue a batch (consumed). A write that fails for want of room, for a lock,
 * or for I/O is tried again each second; see writer_error(). */
void writer_batch(struct writer *w, struct batch *b);

/* Queue names; the list is emptied. */
void writer_names(struct writer *w, struct name_list *names);

/* Spans: rows and the text that they refer to. */
struct span_list {
	struct store_span *rows; /* owned */
	size_t n;
	char *text; /* owned */
	size_t text_size;
};

void span_list_release(struct span_list *l);

/* Queue spans; the list is emptied. Returns 0, or -ENOMEM: they are dropped. */
int writer_spans(struct writer *w, struct span_list *spans) MUST_CHECK;

/* Bytes of memory that spans take which are queued or being written. */
size_t writer_span_bytes(const struct writer *w);

/* Bytes of memory that batches take which are queued or being written. */
size_t writer_batch_bytes(const struct writer *w);

/* Jobs queued or being written. */
size_t writer_queued(const struct writer *w);

/* A number that grows as jobs are done, well or not, and while one is, unless
 * the disk keeps it waiting. */
uint64_t writer_steps(const struct writer *w);

/* A job is being written right now. NULL is never busy. */
bool writer_is_busy(const struct writer *w);

/* Bytes in the file's write-ahead log after the last write. */
uint64_t writer_wal_bytes(const struct writer *w);

/* The file is larger than it may be (keep.max_bytes, and an eighth), and it is
 * not over with what may go: it should get no more meanwhile. */
bool writer_is_over_size(const struct writer *w);

/* Have the log checkpointed again, even if nothing is to be written. */
void writer_checkpoint(struct writer *w);

/* The failure that is being retried, NULL if none. Borrowed. A code of
 * -EPROTO or -EINVAL is not retried: the job was dropped. */
const struct weft_err *writer_error(const struct writer *w);

/* How that went. */
struct writer_tended {
	struct store_gone gone;
	uint64_t too_big;    /* passes after which the file was still larger
				than max_bytes */
	uint64_t postponed;  /* a reader kept the log from being emptied */
	struct weft_err err; /* the last failure; code 0: none. The next batch
				tries again, but not where it contradicts
				itself (-EPROTO) */
};

const struct writer_tended *writer_tended(const struct writer *w);

/* Let nothing go from now on: recording ends. */
void writer_stop_tending(struct writer *w);

/*
 * End the recording: call when it is not busy. Closes the store on the
 * calling thread. With abandon, the queue is dropped and the file left as a
 * crash would leave it: valid, without an end. Frees w. NULL is fine.
 */
int writer_close(struct writer *w, uint64_t ended_ns, bool abandon,
		 struct weft_err *err);

#endif

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/keep.h"
#include "collector/writer.h"

enum {
	RETRY_MS = 1000,
	/* A log of this size is worth moving into the file. */
	CHECKPOINT_BYTES = 4 * 1024 * 1024,
	/* What waits to be written waits no longer for what goes. */
	TEND_MS_MAX = 1000,
};

enum job_kind {
	JOB_BATCH,
	JOB_NAMES,
	JOB_SPANS,
	JOB_CHECKPOINT,
	JOB_TEND
};

struct job {
	struct job *next;
	enum job_kind kind;
	struct batch *batch; /* owned */
	size_t batch_bytes;
	struct store_frame_row *rows; /* owned */
	size_t n_rows;
	struct name_list names;
	struct span_list spans;
	bool more;  /* of what may go */
	bool waits; /* others are behind a JOB_TEND: it does as much as it may
		     */
	int rc;
	struct weft_err err;
};

struct writer {
	struct writer_opts opts;
	struct job *first, *last; /* owned; first is being done, if busy */
	size_t n_jobs;
	uint64_t n_done;
	size_t span_bytes, batch_bytes;
	bool busy;
	uv_work_t work;
	uv_timer_t *retry;     /* owned by the loop once closed */
	struct weft_err error; /* code 0: none */
	bool has_dropped;      /* data is gone: the error stays */
	uint64_t wal_bytes;
	bool is_to_tend, has_tend;   /* has_tend: one is queued */
	bool is_over_size;           /* and something is going */
	uint64_t batch_ns;           /* the worker's: what the last one took */
	uint64_t file_bytes;         /* the same: without what is free in it */
	struct store_gone gone;      /* the same */
	struct writer_tended tended; /* the loop's */
};

void span_list_release(struct span_list *l)
{
	free(l->rows);
	free(l->text);
	*l = (struct span_list){ 0 };
}

/* Rows, text, and what keeps them. */
static size_t list_bytes(const struct span_list *l)
{
	return sizeof(struct job) + l->n * sizeof(*l->rows) + l->text_size;
}

static void job_free(struct job *job)
{
	batch_free(job->batch);
	name_list_release(&job->names);
	span_list_release(&job->spans);
	free(job->rows);
	free(job);
}

int writer_open(struct writer **out, const struct writer_opts *opts,
		struct weft_err *err)
{
	struct writer *w = calloc(1, sizeof(*w));

	*out = NULL;
	if (w)
		w->retry = malloc(sizeof(*w->retry));
	if (!w || !w->retry) {
		free(w);
		store_abandon(opts->store);
		return weft_fail(err, -ENOMEM, "cannot write: out of memory");
	}
	w->opts = *opts;
	uv_timer_init(opts->loop, w->retry);
	w->retry->data = w;
	w->is_to_tend = keep_is_asked(&opts->keep);
	*out = w;
	return 0;
}

/* One step, unless a reader keeps the log from being emptied: it would only
 * grow. Then -EAGAIN, and more. */
static void tend_once(struct writer *w, struct job *job)
{
	uint64_t limit = w->opts.max_wal_bytes / 2;

	if (limit > CHECKPOINT_BYTES)
		limit = CHECKPOINT_BYTES;
	if (store_wal_bytes(w->opts.store) >= limit)
		(void)store_checkpoint(w->opts.store, NULL);
	if (store_wal_bytes(w->opts.store) >= limit) {
		job->rc = -EAGAIN;
		return;
	}
	job->rc = store_tend(w->opts.store, &w->opts.keep, clock_unix_ns(),
			     &w->gone, &job->more, &job->err);
}

/* Where others wait, as long as the last interval took to write: where what
 * comes is more than can be written, what is old goes as fast, or the file
 * would grow beyond all that was asked for. Else a step, after which others may
 * come. */
static void tend(struct writer *w, struct job *job)
{
	const uint64_t most = (uint64_t)TEND_MS_MAX * 1000000;
	uint64_t until = uv_hrtime();

	if (job->waits)
		until += w->batch_ns < most ? w->batch_ns : most;
	do
		tend_once(w, job);
	while (!job->rc && job->more && uv_hrtime() < until);
}

/* How large the file is now; the worker's. What cannot be told is not too
 * large. */
static void look_at_size(struct writer *w)
{
	if (!w->opts.keep.max_bytes)
		return;
	if (store_used_bytes(w->opts.store, &w->file_bytes, NULL))
		w->file_bytes = 0;
	w->file_bytes += store_wal_bytes(w->opts.store);
}

/* On the worker thread: all that touches the store. */
static void do_job(uv_work_t *work)
{
	struct writer *w = work->data;
	struct job *job = w->first;
	uint64_t begin_ns = uv_hrtime();
	struct store_batch view;
	size_t added;

	job->err = (struct weft_err){ 0 };
	switch (job->kind) {
	case JOB_BATCH:
		batch_view(job->batch, &view);
		job->rc =
			store_write(w->opts.store, &view, job->rows, &job->err);
		w->batch_ns = uv_hrtime() - begin_ns;
		break;
	case JOB_NAMES:
		job->rc = store_write_names(w->opts.store, job->names.rows,
					    job->names.n, job->names.text,
					    job->names.n_text, &job->err);
		if (!job->rc && job->names.n_segments)
			job->rc = store_write_segments(
				w->opts.store, job->names.segments,
				job->names.n_segments, &job->err);
		break;
	case JOB_SPANS:
		job->rc = store_write_spans(w->opts.store, job->spans.rows,
					    job->spans.n, job->spans.text,
					    job->spans.text_size, &added,
					    &job->err);
		break;
	case JOB_CHECKPOINT:
		job->rc = 0;
		break;
	case JOB_TEND:
		tend(w, job);
		break;
	}
	/* A log that cannot be moved yet stays; its size is watched. */
	if (job->kind == JOB_CHECKPOINT ||
	    store_wal_bytes(w->opts.store) >= CHECKPOINT_BYTES)
		(void)store_checkpoint(w->opts.store, NULL);
	look_at_size(w);
}

/* An eighth above: what comes in an interval may be above for as long as it
 * takes to let go of as much. */
static bool is_over_size(const struct writer *w)
{
	uint64_t max = w->opts.keep.max_bytes;

	return max && w->file_bytes > max + max / 8;
}

static void start(struct writer *w);
static struct job *queue(struct writer *w, enum job_kind kind);

/* A step is no data: whatever came of it, recording goes on. */
static void after_step(struct writer *w, const struct job *job)
{
	w->tended.gone = w->gone;
	if (job->rc == -EAGAIN)
		w->tended.postponed++;
	else
		w->tended.err = job->err;
	if (job->rc == -EPROTO || job->rc == -EINVAL)
		w->is_to_tend = false;
	if (!job->rc && !job->more && w->gone.is_too_big)
		w->tended.too_big++;
}

/* After each batch, and, where nothing waits or the file is too large, as long
 * as there is something to do. */
static void go_on_tending(struct writer *w, const struct job *last,
			  bool is_large)
{
	bool goes_on = last->kind == JOB_TEND && !last->rc && last->more &&
		       (!w->first || is_large);

	if (w->is_to_tend && !w->has_tend &&
	    (last->kind == JOB_BATCH || goes_on))
		w->has_tend = queue(w, JOB_TEND) != NULL;
	/* Batches are held back for what goes: if nothing does, they would be
	 * for ever. */
	w->is_over_size = is_large && w->has_tend;
}

/* Take note of how a job ended. False: it is to be done again. */
static bool settle(struct writer *w, const struct job *job)
{
	bool is_over = !job->rc || job->rc == -EPROTO || job->rc == -EINVAL;

	if (job->kind == JOB_TEND) {
		w->has_tend = false;
		after_step(w, job);
		return true;
	}
	if (!w->has_dropped)
		w->error = job->rc ? job->err : (struct weft_err){ 0 };
	w->has_dropped |= job->rc && is_over;
	return is_over;
}

static void after_job(uv_work_t *work, int status)
{
	struct writer *w = work->data;
	struct job *job = w->first;
	bool is_over, is_large;

	(void)status;
	w->busy = false;
	w->n_done++;
	w->wal_bytes = store_wal_bytes(w->opts.store);
	is_large = is_over_size(w); /* on_stored() may start the next */
	is_over = settle(w, job);
	if (is_over) {
		w->first = job->next;
		if (!w->first)
			w->last = NULL;
		w->n_jobs--;
		if (job->kind == JOB_SPANS)
			w->span_bytes -= list_bytes(&job->spans);
		w->batch_bytes -= job->batch_bytes;
		if (!job->rc && job->kind == JOB_BATCH)
			w->opts.on_stored(w->opts.ctx, job->batch, job->rows,
					  job->n_rows);
		go_on_tending(w, job, is_large);
		job_free(job);
		start(w);
	}
	if (!is_over || !w->first)
		w->opts.on_idle(w->opts.ctx);
}

static void on_retry(uv_timer_t *timer)
{
	start(timer->data);
}

static void start(struct writer *w)
{
	if (w->busy || !w->first)
		return;
	w->work.data = w;
	w->first->waits = w->first->next != NULL;
	w->busy = !uv_queue_work(w->opts.loop, &w->work, do_job, after_job);
	if (!uv_is_active((uv_handle_t *)w->retry))
		uv_timer_start(w->retry, on_retry, RETRY_MS, RETRY_MS);
}

static struct job *queue(struct writer *w, enum job_kind kind)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->kind = kind;
	if (w->last)
		w->last->next = job;
	else
		w->first = job;
	w->last = job;
	w->n_jobs++;
	return job;
}

void writer_batch(struct writer *w, struct batch *b)
{
	struct store_batch view;
	struct store_frame_row *rows;
	struct job *job;

	batch_view(b, &view);
	rows = calloc(view.n_frames + 1, sizeof(*rows));
	job = rows ? queue(w, JOB_BATCH) : NULL;
	if (!job) {
		w->error.code = 0;
		weft_fail(&w->error, -ENOMEM,
			  "cannot write an interval: out of memory");
		w->has_dropped = true;
		free(rows);
		batch_free(b);
		return;
	}
	job->batch = b;
	job->batch_bytes = batch_bytes(b);
	w->batch_bytes += job->batch_bytes;
	job->rows = rows;
	job->n_rows = view.n_frames;
	start(w);
}

void writer_names(struct writer *w, struct name_list *names)
{
	bool is_empty = !names->n && !names->n_segments;
	struct job *job = is_empty ? NULL : queue(w, JOB_NAMES);

	if (!job) {
		name_list_release(names);
		return;
	}
	job->names = *names;
	*names = (struct name_list){ 0 };
	start(w);
}

int writer_spans(struct writer *w, struct span_list *spans)
{
	struct job *job = queue(w, JOB_SPANS);

	if (!job) {
		span_list_release(spans);
		return -ENOMEM;
	}
	job->spans = *spans;
	w->span_bytes += list_bytes(spans);
	*spans = (struct span_list){ 0 };
	start(w);
	return 0;
}

size_t writer_span_bytes(const struct writer *w)
{
	return w->span_bytes;
}

size_t writer_batch_bytes(const struct writer *w)
{
	return w->batch_bytes;
}

void writer_checkpoint(struct writer *w)
{
	if (!w->first && queue(w, JOB_CHECKPOINT))
		start(w);
}

size_t writer_queued(const struct writer *w)
{
	return w->n_jobs;
}

uint64_t writer_steps(const struct writer *w)
{
	return w->n_done + store_steps(w->opts.store);
}

bool writer_is_busy(const struct writer *w)
{
	return w && w->busy;
}

uint64_t writer_wal_bytes(const struct writer *w)
{
	return w->wal_bytes;
}

bool writer_is_over_size(const struct writer *w)
{
	return w->is_over_size;
}

const struct weft_err *writer_error(const struct writer *w)
{
	return w->error.code ? &w->error : NULL;
}

const struct writer_tended *writer_tended(const struct writer *w)
{
	return &w->tended;
}

void writer_stop_tending(struct writer *w)
{
	w->is_to_tend = false;
	w->is_over_size = false;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle);
}

int writer_close(struct writer *w, uint64_t ended_ns, bool abandon,
		 struct weft_err *err)
{
	int rc = 0;

	if (!w)
		return 0;
	uv_timer_stop(w->retry);
	uv_close((uv_handle_t *)w->retry, on_closed);
	while (w->first) {
		struct job *job = w->first;

		w->first = job->next;
		job_free(job);
	}
	if (abandon)
		store_abandon(w->opts.store);
	else
		rc = store_close(w->opts.store, ended_ns, err);
	free(w);
	return rc;
}

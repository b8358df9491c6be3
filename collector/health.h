/* SPDX-License-Identifier: MIT */
/*
 * The health file: how a recording fares, in Prometheus' text format (0.0.4),
 * for whoever watches the machine, as node_exporter's textfile collector. The
 * names are those of `weft loss --prometheus` where they mean the same. It is
 * replaced as a whole, by a rename, off the loop: a disk that does not answer
 * makes it old, which weft_health_written_seconds tells.
 */
#ifndef WEFT_HEALTH_H
#define WEFT_HEALTH_H

#include "collector/options.h"
#include "collector/pipeline.h"

#include <uv.h>

struct health;

/* What is to be told besides the totals. */
struct health_now {
	uint64_t started_ns;  /* of the recording; Unix */
	uint64_t self_cpu_ns; /* so far */
	size_t writer_jobs;   /* that wait to be written */
	bool is_failing;      /* the file cannot be written */
	uint64_t log_bytes;   /* of the file's write-ahead log */
};

/*
 * Take over opts->health, a path: an empty file is put there at once, so that
 * a place where none can be is known before there are samples. It is readable
 * for all. A link that lies there is replaced, not followed.
 * opts and pipeline are borrowed until health_close().
 *
 * Returns 0, or a negative errno with err filled.
 */
int health_open(struct health **out, uv_loop_t *loop,
		const struct record_opts *opts, const struct pipeline *pipeline,
		struct weft_err *err) MUST_CHECK;

/* An interval that ended at this Unix time is in the file. */
void health_stored(struct health *h, uint64_t end_unix_ns);

/* Have the file written; while it is being written, do nothing. */
void health_write(struct health *h, const struct health_now *now);

/* Why it could not be written last time, once for each time that this begins;
 * else NULL. Borrowed until the next call. */
const struct weft_err *health_take_error(struct health *h);

/* Write it for the last time, on the calling thread, once the recording is
 * closed and the loop has run out. NULL is fine. */
void health_close(struct health *h, const struct health_now *now);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The threads that take jobs off the loop (uv_queue_work): libuv makes them
 * with the first job, and aborts where it cannot.
 */
#ifndef WEFT_WORKERS_H
#define WEFT_WORKERS_H

#include "store/weft.h"

#include <uv.h>

/* Have them made now, if there can be that many; to be called before any job is
 * queued. Returns 0, or an error that says that threads cannot be made. */
int workers_start(uv_loop_t *loop, struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A pool of worker threads for the loop. libuv has one, but its frames have
 * no frame pointers; through this one every caller of a job can be seen.
 * Loop thread only, except where said.
 */
#ifndef DEMO_POOL_H
#define DEMO_POOL_H

#include <uv.h>

struct pool;

/* Part of whatever the task is about; the caller's until it is done. */
struct pool_task {
	void (*run)(struct pool_task *task);  /* on a worker thread */
	void (*done)(struct pool_task *task); /* then, on the loop thread */
	struct pool_task *next;
};

/* Start threads. Returns owned, or NULL. */
struct pool *pool_open(uv_loop_t *loop, unsigned int threads);

void pool_add(struct pool *pool, struct pool_task *task);

/* Let the loop end: when all tasks are done, the pool no longer keeps it. */
void pool_drain(struct pool *pool);

/* After the loop has ended: end the threads and free. NULL is fine. */
void pool_close(struct pool *pool);

#endif

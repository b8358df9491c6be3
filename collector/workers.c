/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/workers.h"

enum {
	/* The writer, unwind tables that come and go, health. */
	WORKERS = 4,
	/* As libuv gives threads, where the limit of stacks is the usual. */
	STACK_BYTES = 8 << 20,
};

struct gate {
	pthread_mutex_t lock;
};

static void *wait_at_gate(void *ctx)
{
	struct gate *gate = ctx;

	pthread_mutex_lock(&gate->lock);
	pthread_mutex_unlock(&gate->lock);
	return NULL;
}

/* As many at once as there will be. glibc keeps the stacks of those that have
 * ended, so that libuv's find theirs. */
static int try_threads(void)
{
	struct gate gate = { PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread[WORKERS];
	pthread_attr_t attr;
	size_t n = 0;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	rc = pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_mutex_lock(&gate.lock);
	while (!rc && n < WORKERS) {
		rc = pthread_create(&thread[n], &attr, wait_at_gate, &gate);
		n += !rc;
	}
	pthread_mutex_unlock(&gate.lock);
	while (n > 0)
		pthread_join(thread[--n], NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

static void do_nothing(uv_work_t *work)
{
	(void)work;
}

static void after_nothing(uv_work_t *work, int status)
{
	(void)status;
	*(bool *)work->data = true;
}

int workers_start(uv_loop_t *loop, struct weft_err *err)
{
	char number[16];
	bool is_done = false;
	uv_work_t work = { .data = &is_done };
	int rc = try_threads();

	if (!rc) {
		snprintf(number, sizeof(number), "%d", WORKERS);
		if (setenv("UV_THREADPOOL_SIZE", number, 1))
			rc = -ENOMEM;
	}
	if (!rc)
		rc = uv_queue_work(loop, &work, do_nothing, after_nothing);
	if (rc)
		return weft_fail(
			err, rc,
			"cannot start the threads that write: %s; is there a limit of memory or processes (ulimit -v, -u)?",
			strerror(-rc));
	while (!is_done)
		uv_run(loop, UV_RUN_ONCE);
	return 0;
}

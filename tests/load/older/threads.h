/* SPDX-License-Identifier: MIT */
/* The threads of a writer, and for how long they write. */
#ifndef OLDER_THREADS_H
#define OLDER_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "tests/load/burn.h"

enum {
	THREADS_MAX = 8
};

static uint64_t end_ns;

static inline void end_in(uint64_t seconds)
{
	end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
}

static inline bool is_at_end(void)
{
	return clock_ns(CLOCK_MONOTONIC) >= end_ns;
}

/* At most THREADS_MAX, to their ends. Returns main()'s status. */
static inline int run_threads(int n, void *(*run)(void *))
{
	pthread_t threads[THREADS_MAX];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

#endif

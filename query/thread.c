/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "query/thread.h"

bool thread_start(pthread_t *out, void *(*run)(void *), void *ctx)
{
	sigset_t all, before;
	bool started;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = !pthread_create(out, NULL, run, ctx);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}

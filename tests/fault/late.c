/* SPDX-License-Identifier: MIT */
/*
 * A recorder that the machine holds up where it hurts: loaded into it by
 * LD_PRELOAD, it sleeps LATE_MS milliseconds between the clock being read for
 * the end of an interval and anything that follows. The draw of the timers'
 * next periods, four random bytes each, comes just before.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static _Thread_local bool has_drawn;

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

ssize_t getrandom(void *to, size_t size, unsigned int flags)
{
	ssize_t (*real)(void *, size_t, unsigned int) = next("getrandom");

	has_drawn = size == 4;
	return real(to, size, flags);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*real)(clockid_t, struct timespec *) = next("clock_gettime");
	const char *late_ms = getenv("LATE_MS");
	int rc = real(clock, now);

	if (clock == CLOCK_BOOTTIME && has_drawn && late_ms) {
		has_drawn = false;
		usleep((useconds_t)atoi(late_ms) * 1000);
	}
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Children: processes started at a steady rate, each by a function that does
 * not return in the child, and all of them waited for.
 */
#ifndef LOAD_CHILDREN_H
#define LOAD_CHILDREN_H

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn.h"

enum {
	CHILDREN_MAX_ALIVE = 256
};

struct children {
	uint64_t started;
	uint64_t alive;
	uint64_t failed; /* ended otherwise than with status 0 */
};

static inline void children_reap(struct children *c, bool may_block)
{
	int status;

	while (c->alive > 0 &&
	       waitpid(-1, &status, may_block ? 0 : WNOHANG) > 0) {
		c->alive--;
		c->failed += status != 0;
		may_block = false;
	}
}

static inline int children_start(struct children *c, void (*run)(uint64_t),
				 uint64_t argument_of_run)
{
	pid_t pid;

	children_reap(c, c->alive >= CHILDREN_MAX_ALIVE);
	pid = fork();
	if (pid == 0) {
		run(argument_of_run);
		_exit(127);
	}
	if (pid < 0)
		return -errno;
	c->started++;
	c->alive++;
	return 0;
}

/*
 * Start rate children a second for seconds, each with run(argument). Where
 * the machine cannot keep up they start later, never in a burst. Prints how
 * many there were. Returns an exit status.
 */
static inline int children_run(const char *name, uint64_t rate,
			       uint64_t seconds, void (*run)(uint64_t),
			       uint64_t argument_of_run)
{
	uint64_t period_ns = 1000000000 / rate;
	uint64_t next_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t end_ns = next_ns + seconds * 1000000000;
	struct children c = { 0 };
	int rc = 0;

	while (next_ns < end_ns && rc == 0) {
		struct timespec at = {
			.tv_sec = (time_t)(next_ns / 1000000000),
			.tv_nsec = (long)(next_ns % 1000000000),
		};
		uint64_t now_ns;

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		rc = children_start(&c, run, argument_of_run);
		now_ns = clock_ns(CLOCK_MONOTONIC);
		next_ns += period_ns;
		if (next_ns < now_ns)
			next_ns = now_ns;
	}
	while (c.alive > 0)
		children_reap(&c, true);
	printf("%llu\n", (unsigned long long)c.started);
	if (rc == 0 && c.failed == 0)
		return 0;
	fprintf(stderr, "%s: %llu children failed, fork: error %d\n", name,
		(unsigned long long)c.failed, -rc);
	return 1;
}

#endif

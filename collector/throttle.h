/* SPDX-License-Identifier: MIT */
/*
 * How often the kernel held a perf event back, because it came more often than
 * kernel.perf_event_max_sample_rate allows: the event's ring says so
 * (perf_event_open(2), PERF_RECORD_THROTTLE). No sample comes this way.
 */
#ifndef WEFT_THROTTLE_H
#define WEFT_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct throttle {
	void *ring; /* owned; NULL: there is none, so nothing is known */
	size_t size;
};

/* Ask for it. Where the kernel gives no ring (memory that may not be swapped is
 * scarce) it is not measured. */
void throttle_open(struct throttle *t, int fd);
void throttle_close(struct throttle *t);

static inline bool throttle_is_measured(const struct throttle *t)
{
	return t->ring != NULL;
}

/* How often since the last call; 0 if it is not measured. */
uint64_t throttle_take(struct throttle *t);

#endif

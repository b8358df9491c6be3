/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "collector/clock.h"

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t clock_boot_ns(void)
{
	return read_clock(CLOCK_BOOTTIME);
}

uint64_t clock_unix_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

void clock_read_offset(int64_t *offset_ns, uint64_t *error_ns)
{
	*error_ns = UINT64_MAX;
	/* The narrowest of a few brackets: one may have been preempted. */
	for (int i = 0; i < 5; i++) {
		uint64_t before = clock_boot_ns();
		uint64_t unix_ns = clock_unix_ns();
		uint64_t after = clock_boot_ns();
		uint64_t error = (after - before + 1) / 2;

		if (error >= *error_ns)
			continue;
		*error_ns = error;
		*offset_ns = (int64_t)(unix_ns - (before + error));
	}
}

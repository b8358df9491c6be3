/* SPDX-License-Identifier: MIT */
/*
 * Work that is counted, below a recursion of known depth:
 *
 *   work [LEVELS [SECONDS [traced]]]
 *
 * for so many seconds of wall time. Prints the units of work done per second of
 * wall time and per second of the thread's CPU time: the second is not less
 * where the thread had to wait, only where it was interrupted. `traced`: the
 * thread has a record of OTEP 4947 with a trace ID, always the same.
 */
#include "ctx_publish.h"

__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

enum {
	STEPS_OF_UNIT = 1000,
	UNITS_PER_CLOCK = 100
};

static const char usage[] = "work [LEVELS [SECONDS [traced]]]";

static uint64_t units;

NAMED_FUNCTION static uint64_t work_leaf(uint64_t wall_ns)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + wall_ns;

	while (clock_ns(CLOCK_MONOTONIC) < end) {
		for (int i = 0; i < UNITS_PER_CLOCK; i++)
			burn_result +=
				burn_steps(burn_result + 1, STEPS_OF_UNIT);
		units += UNITS_PER_CLOCK;
	}
	return burn_result;
}

/* The sum afterwards keeps the call a call and the frame on the stack. */
NAMED_FUNCTION static uint64_t work_level(uint64_t levels, uint64_t wall_ns)
{
	if (levels == 1)
		return work_leaf(wall_ns) + burn_result;
	return work_level(levels - 1, wall_ns) * 3 + burn_result;
}

static void publish(struct ctx_record *r)
{
	static struct ctx_payload payload;

	ctx_describe(&payload, "work", NULL, 0);
	(void)ctx_publish(NULL, &payload);
	ctx_sign(r, (uint32_t)getpid(), (uint32_t)gettid(), 1);
	r->valid = 1;
	otel_thread_ctx_v1 = r;
}

int main(int argc, char **argv)
{
	static struct ctx_record record;
	uint64_t levels = argument(argc, argv, 1, 1, 10000, 20, usage);
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 5, usage);
	double wall_s, cpu_s;

	if (argc > 3)
		publish(&record);
	wall_s = (double)clock_ns(CLOCK_MONOTONIC) / 1e9;
	cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
	burn_result += work_level(levels, seconds * 1000000000);
	wall_s = (double)clock_ns(CLOCK_MONOTONIC) / 1e9 - wall_s;
	cpu_s = (double)clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9 - cpu_s;
	printf("%.0f %.0f\n", (double)units / wall_s, (double)units / cpu_s);
	return 0;
}

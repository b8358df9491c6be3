/* SPDX-License-Identifier: MIT */
/*
 * Threads that each use a number of seconds of CPU time, all in one function.
 * Prints what the process has used by its own clock, and how long its first
 * thread was on a CPU, in ns.
 */
#include "burn.h"
#include "on_cpu.h"

#include <pthread.h>
#include <string.h>

enum {
	MAX_THREADS = 64
};

static const char usage[] = "spin [CPU_SECONDS [THREADS]]";

NAMED_FUNCTION static void *spin_thread(void *cpu_ns)
{
	burn_cpu(*(const uint64_t *)cpu_ns);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argument(argc, argv, 1, 1, 3600, 5, usage);
	uint64_t threads = argument(argc, argv, 2, 1, MAX_THREADS, 1, usage);
	uint64_t cpu_ns = seconds * 1000000000;
	pthread_t thread[MAX_THREADS];
	int on_cpu = on_cpu_open();

	for (uint64_t i = 1; i < threads; i++) {
		int rc = pthread_create(&thread[i], NULL, spin_thread, &cpu_ns);

		if (rc != 0) {
			fprintf(stderr, "spin: cannot start a thread: %s\n",
				strerror(rc));
			return 1;
		}
	}
	spin_thread(&cpu_ns);
	for (uint64_t i = 1; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf("%llu %llu\n",
	       (unsigned long long)clock_ns(CLOCK_PROCESS_CPUTIME_ID),
	       (unsigned long long)on_cpu_ns(on_cpu));
	return 0;
}

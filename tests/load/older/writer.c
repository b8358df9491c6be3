/* SPDX-License-Identifier: MIT */
/*
 * Threads that burn CPU time with ever new trace IDs that say who wrote them,
 * kept as an agent older than OTEP 4947 does. One of
 *
 *	-DOLDER_ELASTIC		Elastic's record
 *	-DOLDER_LABELS		custom-labels; OLDER_ABI is its version
 *	-DOLDER_GO		labels of a goroutine; go.h has what else it
 *takes
 *
 * builds it. With a second argument a label is no ID.
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/load/burn.h"
#include "tests/load/older/ids.h"

#ifdef OLDER_ELASTIC
#include "tests/load/older/elastic.h"
#define OLDER(name) elastic_##name
#elif defined(OLDER_LABELS)
#include "tests/load/older/labels.h"
#define OLDER(name) labels_##name
#else
#include "tests/load/older/go.h"
#define OLDER(name) go_##name
#endif

enum {
	THREADS = 2,
	PAUSE_US = 5000 /* many run at a time */
};

static uint64_t end_ns;
static int is_malformed;

static void *run(void *arg)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct OLDER(writer) *w = calloc(1, sizeof(*w));
	struct ids ids;

	for (uint64_t n = 1; w && clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		sign(&ids, tid, n);
		if (is_malformed)
			ids.trace[31] = 'g';
		OLDER(attach)(w, &ids);
		burn_result += burn_steps(n, 50000);
		if (n % 4)
			continue;
		OLDER(detach)(w);
		burn_result += burn_steps(n, 20000);
		usleep(PAUSE_US);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const char usage[] = "writer [SECONDS [malformed]]";
	uint64_t seconds = argument(argc, argv, 1, 1, 3600, 10, usage);
	pthread_t threads[THREADS];

	is_malformed = argc > 2;
	end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
#ifdef OLDER_GO
	__asm__ volatile("" : : "r"(&build_info));
#endif
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

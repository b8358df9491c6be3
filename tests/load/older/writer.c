/* SPDX-License-Identifier: MIT */
/*
 * Threads that burn CPU time with ever new trace IDs that say who wrote them,
 * kept as an agent older than OTEP 4947 does. One of
 *
 *	-DOLDER_ELASTIC		Elastic's record
 *	-DOLDER_LABELS		custom-labels; OLDER_ABI is its version
 *	-DOLDER_GO		labels of a goroutine; see go.h
 *
 * builds it. With a second argument a label is no ID.
 */
#include <unistd.h>

#include "tests/load/older/ids.h"
#include "tests/load/older/threads.h"

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

static int is_malformed;

static void *run(void *arg)
{
	struct OLDER(writer) *w = calloc(1, sizeof(*w));
	struct ids ids;

	for (uint64_t n = 1; w && !is_at_end(); n++) {
		sign(&ids, n);
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

	is_malformed = argc > 2;
	end_in(seconds);
#ifdef OLDER_GO
	__asm__ volatile("" : : "r"(&build_info));
#endif
	return run_threads(THREADS, run);
}

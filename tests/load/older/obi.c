/* SPDX-License-Identifier: MIT */
/*
 * What OBI does, as far as its pinned map goes:
 *
 *	obi pin VALUE_BYTES	pin a map, with values of that size
 *	obi fill [SECONDS]	threads that burn CPU time, each with ever new
 *				IDs in the map that is pinned
 *	obi left		an entry of this process is there, and exec of
 *				`obi burn` takes over its number
 *	obi burn		burn CPU time, with no word to anybody
 *
 * IDs as writer.c has them: process, thread, number. Each thread works for
 * nobody from time to time, and then in a function of another name.
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/load/burn.h"
#include "tests/load/older/obi.h"

enum {
	THREADS = 3,
	PAUSE_US = 2000
};

static uint64_t end_ns;

NAMED_FUNCTION static void work_for_nobody(uint64_t n)
{
	burn_result += burn_steps(n, 100000);
	KEEP_FRAME();
}

NAMED_FUNCTION static void work_for_one(uint64_t n)
{
	burn_result += burn_steps(n, 200000);
	KEEP_FRAME();
}

static void *run(void *arg)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct ids ids;

	for (uint64_t n = 1; clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		sign(&ids, tid, n);
		obi_put(tid, &ids);
		work_for_one(n);
		obi_put(tid, NULL);
		work_for_nobody(n);
		usleep(PAUSE_US);
	}
	return arg;
}

static int fill(void)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int leave(char **argv)
{
	struct ids ids;

	sign(&ids, (uint32_t)getpid(), 1);
	obi_put((uint32_t)getpid(), &ids);
	execl("/proc/self/exe", argv[0], "burn", argv[2], NULL);
	return 1;
}

static int burn(void)
{
	for (uint64_t n = 1; clock_ns(CLOCK_MONOTONIC) < end_ns; n++)
		work_for_nobody(n);
	return 0;
}

int main(int argc, char **argv)
{
	static const char usage[] = "obi pin BYTES | fill|left|burn SECONDS";
	uint64_t n = argument(argc, argv, 2, 1, 3600, 10, usage);

	if (argc < 2)
		return 2;
	end_ns = clock_ns(CLOCK_MONOTONIC) + n * 1000000000;
	if (!strcmp(argv[1], "pin"))
		return obi_pin((uint32_t)n) ? 1 : 0;
	if (!strcmp(argv[1], "burn"))
		return burn();
	if (obi_open() < 0)
		return 1;
	return !strcmp(argv[1], "left") ? leave(argv) : fill();
}

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
#include <string.h>
#include <unistd.h>

#include "tests/load/older/obi.h"
#include "tests/load/older/threads.h"
#include "tests/load/older/work.h"

enum {
	THREADS = 3,
	PAUSE_US = 2000
};

static void *run(void *arg)
{
	struct ids ids;

	for (uint64_t n = 1; !is_at_end(); n++) {
		sign(&ids, n);
		obi_put(&ids);
		work_for_one(n);
		obi_put(NULL);
		work_for_nobody(n);
		usleep(PAUSE_US);
	}
	return arg;
}

static int leave(char **argv)
{
	struct ids ids;

	sign(&ids, 1);
	obi_put(&ids);
	execl("/proc/self/exe", argv[0], "burn", argv[2], NULL);
	return 1;
}

static int burn(void)
{
	for (uint64_t n = 1; !is_at_end(); n++)
		work_for_nobody(n);
	return 0;
}

int main(int argc, char **argv)
{
	static const char usage[] = "obi pin BYTES | fill|left|burn SECONDS";
	uint64_t n = argument(argc, argv, 2, 1, 3600, 10, usage);

	if (argc < 2)
		return 2;
	end_in(n);
	if (!strcmp(argv[1], "pin"))
		return obi_pin((uint32_t)n) ? 1 : 0;
	if (!strcmp(argv[1], "burn"))
		return burn();
	if (obi_open() < 0)
		return 1;
	return !strcmp(argv[1], "left") ? leave(argv)
					: run_threads(THREADS, run);
}

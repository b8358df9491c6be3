/* SPDX-License-Identifier: MIT */
/*
 * A fork storm: processes at a steady rate that each use some milliseconds of
 * CPU time and are gone. Prints how many there were.
 */
#include "children.h"

static const char usage[] = "storm [PER_SECOND [SECONDS [MILLISECONDS]]]";

NAMED_FUNCTION static void storm_child(uint64_t ms)
{
	burn_cpu(ms * 1000000);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t rate = argument(argc, argv, 1, 1, 100000, 100, usage);
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 5, usage);
	uint64_t ms = argument(argc, argv, 3, 0, 10000, 5, usage);

	return children_run("storm", rate, seconds, storm_child, ms);
}

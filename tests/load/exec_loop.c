/* SPDX-License-Identifier: MIT */
/*
 * Short-lived programs at a steady rate: each child executes this program
 * anew, uses some milliseconds of CPU time and ends. Prints how many there
 * were.
 */
#include "children.h"

#include <string.h>

static const char usage[] = "exec_loop [PER_SECOND [SECONDS [MILLISECONDS]]]";

static void exec_child(uint64_t ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)ms);
	execl("/proc/self/exe", "exec_child", "--child", text, (char *)NULL);
}

NAMED_FUNCTION static void exec_child_work(uint64_t ms)
{
	burn_cpu(ms * 1000000);
}

int main(int argc, char **argv)
{
	uint64_t rate, seconds, ms;

	if (argc == 3 && strcmp(argv[1], "--child") == 0) {
		exec_child_work(argument(argc, argv, 2, 0, 10000, 0, usage));
		return 0;
	}
	rate = argument(argc, argv, 1, 1, 100000, 100, usage);
	seconds = argument(argc, argv, 2, 1, 3600, 5, usage);
	ms = argument(argc, argv, 3, 0, 10000, 5, usage);
	return children_run("exec_loop", rate, seconds, exec_child, ms);
}

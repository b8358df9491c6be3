/* SPDX-License-Identifier: MIT */
/*
 * A recursion of known depth: main, then deep_level as often as asked, then
 * deep_leaf, which does all the work. Prints the frames from main on.
 */
#include "burn.h"

static const char usage[] = "deep [LEVELS [CPU_SECONDS]]";

NAMED_FUNCTION static uint64_t deep_leaf(uint64_t cpu_ns)
{
	burn_cpu(cpu_ns);
	return burn_result;
}

/* The sum afterwards keeps the call a call and the frame on the stack. */
NAMED_FUNCTION static uint64_t deep_level(uint64_t levels, uint64_t cpu_ns)
{
	if (levels == 1)
		return deep_leaf(cpu_ns) + burn_result;
	return deep_level(levels - 1, cpu_ns) * 3 + burn_result;
}

int main(int argc, char **argv)
{
	uint64_t levels = argument(argc, argv, 1, 1, 10000, 20, usage);
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 5, usage);

	burn_result += deep_level(levels, seconds * 1000000000);
	printf("%llu\n", (unsigned long long)levels + 2);
	return 0;
}

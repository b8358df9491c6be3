/* SPDX-License-Identifier: MIT */
/*
 * Very many different stacks: at each level a call goes left or right, by the
 * bits of a path, and the leaf works for about a microsecond. N levels make
 * 2^N stacks, visited in random order. Prints how many visits there were.
 */
#include "burn.h"

enum {
	VISITS_PER_CLOCK = 1024,
	LEAF_STEPS = 1000
};

static const char usage[] = "stacks [LEVELS 1..24 [CPU_SECONDS]]";

static uint64_t stacks_left(uint64_t path, unsigned int levels);
static uint64_t stacks_right(uint64_t path, unsigned int levels);

NAMED_FUNCTION static uint64_t stacks_leaf(uint64_t path)
{
	KEEP_FRAME();
	return burn_steps(path, LEAF_STEPS);
}

static inline uint64_t descend(uint64_t path, unsigned int levels)
{
	if (levels == 0)
		return stacks_leaf(path);
	return path & 1 ? stacks_right(path >> 1, levels - 1)
			: stacks_left(path >> 1, levels - 1);
}

/* What is added afterwards keeps calls calls, and the two different. */
NAMED_FUNCTION static uint64_t stacks_left(uint64_t path, unsigned int levels)
{
	return descend(path, levels) + 1;
}

NAMED_FUNCTION static uint64_t stacks_right(uint64_t path, unsigned int levels)
{
	return descend(path, levels) + 2;
}

int main(int argc, char **argv)
{
	unsigned int levels =
		(unsigned int)argument(argc, argv, 1, 1, 24, 17, usage);
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 5, usage);
	uint64_t visits = 0, random = 1;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < seconds * 1000000000) {
		for (int i = 0; i < VISITS_PER_CLOCK; i++) {
			random = burn_steps(random + 1, 2);
			burn_result += descend(random >> 40, levels);
		}
		visits += VISITS_PER_CLOCK;
	}
	printf("%llu\n", (unsigned long long)visits);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Eight leaf functions whose shares of CPU time are known: each call is
 * measured with the thread's CPU clock, less what reading that clock costs.
 * One parent calls them, in random order, so that no timer falls into step with
 * them.
 *
 * Prints a line per function: name, CPU ns, share of all eight.
 */
#include "burn.h"

enum {
	LEAVES = 8,
	STEPS_PER_SHARE = 8000
};

#define LEAF(n)                                                       \
	NAMED_FUNCTION static uint64_t shape_leaf_##n(uint64_t steps) \
	{                                                             \
		KEEP_FRAME();                                         \
		return burn_steps(n, steps) + n;                      \
	}
LEAF(1)
LEAF(2)
LEAF(3)
LEAF(4)
LEAF(5)
LEAF(6)
LEAF(7)
LEAF(8)

static struct leaf {
	uint64_t (*run)(uint64_t steps);
	unsigned int share; /* wanted; the truth is cpu_ns */
	uint64_t cpu_ns;
} leaves[LEAVES] = {
	{ shape_leaf_1, 1, 0 },  { shape_leaf_2, 2, 0 },
	{ shape_leaf_3, 3, 0 },  { shape_leaf_4, 5, 0 },
	{ shape_leaf_5, 8, 0 },  { shape_leaf_6, 13, 0 },
	{ shape_leaf_7, 21, 0 }, { shape_leaf_8, 34, 0 },
};

/* What reading the clock took, once in each round. */
static uint64_t clock_cost_ns;

static void time_the_clock(void)
{
	uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	clock_cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Call each leaf once. Returns the CPU time that they took. */
NAMED_FUNCTION static uint64_t shape_parent(uint64_t random)
{
	uint64_t total = 0;

	time_the_clock();
	for (uint64_t i = 0; i < LEAVES; i++) {
		/* random xor 0..7 passes each leaf once */
		struct leaf *leaf = &leaves[(random ^ i) % LEAVES];
		uint64_t start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t taken;

		burn_result +=
			leaf->run((uint64_t)leaf->share * STEPS_PER_SHARE);
		taken = clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
		leaf->cpu_ns += taken;
		total += taken;
	}
	return total;
}

int main(int argc, char **argv)
{
	uint64_t seconds =
		argument(argc, argv, 1, 1, 3600, 5, "shape [CPU_SECONDS]");
	uint64_t total = 0, random = 1;

	while (total < seconds * 1000000000) {
		random = burn_steps(random, 1);
		total += shape_parent(random >> 32);
	}
	/* Each round read it once to know, and once for each leaf. */
	for (int i = 0; i < LEAVES; i++)
		leaves[i].cpu_ns -= clock_cost_ns;
	total -= LEAVES * clock_cost_ns;
	for (int i = 0; i < LEAVES; i++)
		printf("shape_leaf_%d\t%llu\t%.6f\n", i + 1,
		       (unsigned long long)leaves[i].cpu_ns,
		       (double)leaves[i].cpu_ns / (double)total);
	return 0;
}

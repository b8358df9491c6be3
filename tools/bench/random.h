/* SPDX-License-Identifier: MIT */
/* Random numbers that are the same in each run. */
#ifndef BENCH_RANDOM_H
#define BENCH_RANDOM_H

#include <math.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014): a number well mixed. */
static inline uint64_t random_mix(uint64_t n)
{
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
	n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
	return n ^ (n >> 31);
}

/* From 0 to sides - 1. */
static inline uint32_t random_dice(uint64_t *state, uint32_t sides)
{
	*state += 0x9e3779b97f4a7c15;
	return (uint32_t)(random_mix(*state) >> 32) % sides;
}

/* From 1 to n: a few numbers are frequent, most are rare. */
static inline uint32_t random_skewed(uint64_t *state, uint32_t n)
{
	return (uint32_t)pow(n,
			     (double)random_dice(state, 1 << 20) / (1 << 20));
}

#endif

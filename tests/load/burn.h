/* SPDX-License-Identifier: MIT */
/*
 * CPU time: how much a thread has used, and how to use some. What the
 * programs in this directory share.
 */
#ifndef LOAD_BURN_H
#define LOAD_BURN_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* A function that a profile shall show under its own name, and that the
 * compiler shall not change to fit one call. */
#ifdef __clang__
#define NAMED_FUNCTION __attribute__((noinline))
#else
#define NAMED_FUNCTION __attribute__((noinline, noclone))
#endif

/* First in a function that calls nothing: at -O2 gcc makes no frame for one
 * that needs no stack, frame pointers or not, and its caller would be missing
 * from every stack. */
#define KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

/* Where results go, so that no compiler leaves the work out. */
static volatile uint64_t burn_result;

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* One step takes about a nanosecond: a chain that cannot be shortened. */
static inline uint64_t burn_steps(uint64_t value, uint64_t steps)
{
	while (steps-- > 0)
		value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9;
	return value;
}

/* Use cpu_ns of this thread's CPU time. */
static inline void burn_cpu(uint64_t cpu_ns)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		burn_result += burn_steps(burn_result + 1, 20000);
}

/* The n-th argument as a whole number in a range; default where it is not
 * given. Ends the program with usage and status 2 if it is anything else. */
static inline uint64_t argument(int argc, char **argv, int n, uint64_t min,
				uint64_t max, uint64_t missing,
				const char *usage)
{
	uint64_t value;
	char *end;

	if (n >= argc)
		return missing;
	errno = 0;
	value = strtoull(argv[n], &end, 10);
	if (argv[n][0] < '0' || argv[n][0] > '9' || *end || errno ||
	    value < min || value > max) {
		fprintf(stderr, "usage: %s\n", usage);
		exit(2);
	}
	return value;
}

#endif

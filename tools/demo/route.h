/* SPDX-License-Identifier: MIT */
/*
 * A route: what the service does for one path. Each burns CPU in functions
 * of its own, whose names begin with the route's, so that a profile shows
 * which route ran and a test can tell a sample of one from a sample of
 * another. Runs on worker threads; no state is shared but what route_init()
 * made.
 */
#ifndef DEMO_ROUTE_H
#define DEMO_ROUTE_H

#include <stddef.h>
#include <stdint.h>

/* A function that a profile shall show under its own name. */
#ifdef __clang__
#define ROUTE_FUNCTION __attribute__((noinline))
#else
#define ROUTE_FUNCTION __attribute__((noinline, noclone))
#endif

/* First in a function that calls nothing: at -O2 gcc makes no frame for one
 * that needs no stack, frame pointers or not, and its caller would be missing
 * from every stack. */
#define KEEP_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

enum {
	ROUTE_MAX_COST = 1000
};

struct route {
	const char *name; /* the path without its slash */

	/* Work for roughly cost milliseconds on input made from seed. Returns
	 * a checksum, so that no compiler leaves the work out. */
	uint64_t (*run)(unsigned int cost, uint64_t seed);
};

/* The routes, ended by one without a name. */
extern const struct route routes[];

/* NULL if there is none of that name, which need not end in NUL. */
const struct route *route_find(const char *name, size_t length);

/* Make what the routes share, before the first runs. Returns 0 or -1. */
int route_init(void);
void route_release(void);

uint64_t search_run(unsigned int cost, uint64_t seed);
uint64_t report_run(unsigned int cost, uint64_t seed);
uint64_t checkout_run(unsigned int cost, uint64_t seed);
uint64_t compress_run(unsigned int cost, uint64_t seed);
uint64_t sign_run(unsigned int cost, uint64_t seed);

int sign_init(void);
void sign_release(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Numbers that look random and are the same each time: splitmix64 of a
 * counter. For data to work on, and for trace IDs that a test can foretell.
 */
#ifndef DEMO_SPLITMIX_H
#define DEMO_SPLITMIX_H

#include <stdint.h>

static inline uint64_t splitmix(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15;
	n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
	n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
	return n ^ (n >> 31);
}

#endif

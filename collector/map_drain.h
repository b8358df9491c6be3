/* SPDX-License-Identifier: MIT */
/* Emptying a hash map of the kernel's that nobody counts into any more. */
#ifndef WEFT_MAP_DRAIN_H
#define WEFT_MAP_DRAIN_H

#include "store/weft.h"

/*
 * Move all elements into keys and values, which have room for so many, as
 * often as it takes; fn is called each time with how many there are now. As
 * nothing else uses the map, each element comes once. room is to be above the
 * length of any bucket of a sanely loaded hash. Returns 0, what fn returned
 * other than 0, or what the kernel said.
 */
int map_drain(int fd, void *keys, void *values, uint32_t room,
	      int (*fn)(void *ctx, uint32_t n), void *ctx) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A library to load. Built twice, with ROOM of different size and all else
 * equal: the two have code at the same addresses, but other frames.
 */
#include "chain.h"

#include <gnu/libc-version.h>

void chain_plugin_enter(uint64_t turns);
void chain_lazy_call(void);

FRAME static void chain_plugin_work(uint64_t turns)
{
	chain_spin(turns);
}

FRAME void chain_plugin_enter(uint64_t turns)
{
	char room[ROOM];

	__asm__ volatile("" : : "r"(room) : "memory");
	chain_plugin_work(turns);
	__asm__ volatile("" : : "r"(room) : "memory");
}

/* The linker's table of addresses: three of its own, then those of functions
 * of other libraries, of which this library calls one. */
extern void *volatile _GLOBAL_OFFSET_TABLE_[]
	__attribute__((visibility("hidden")));

/* Call a function as if for the first time: its address is looked up. */
FRAME void chain_lazy_call(void)
{
	static void *unbound;

	if (!unbound)
		unbound = _GLOBAL_OFFSET_TABLE_[3];
	_GLOBAL_OFFSET_TABLE_[3] = unbound;
	gnu_get_libc_version();
	STAY();
}

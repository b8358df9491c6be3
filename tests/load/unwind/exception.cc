// SPDX-License-Identifier: MIT
//
// Chains while a C++ exception is in flight. As main.c, for two modes:
//
//	search	the runtime looks for who catches it
//	cleanup	a destructor runs; its caller's callers are still there, the
//		functions below it are not

#include "chain.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

uint64_t chain_end_ns;

struct chain_guard {
	FRAME ~chain_guard()
	{
		chain_spin(CHAIN_LONG);
	}
};

extern "C" {

FRAME void chain_throw(void)
{
	throw 1;
}

FRAME void chain_level(unsigned int levels)
{
	if (levels == 1)
		chain_throw();
	else
		chain_level(levels - 1);
	STAY();
}

FRAME void chain_guarded(void)
{
	chain_guard guard;

	chain_throw();
}

FRAME void chain_search(void)
{
	while (chain_goes_on()) {
		try {
			chain_level(20);
		} catch (int) {
			STAY();
		}
	}
}

FRAME void chain_cleanup(void)
{
	while (chain_goes_on()) {
		try {
			chain_guarded();
		} catch (int) {
			STAY();
		}
	}
}
}

#define MAIN "_start;~;~;main+16;"

int main(int argc, char **argv)
{
	timespec now;
	bool search;

	if (argc != 4)
		return 2;
	search = strcmp(argv[1], "search") == 0;
	printf("%d\t%s\t%s\n", getpid(), argv[3],
	       search ? MAIN "chain_search+30;chain_level*20;chain_throw+30"
		      : MAIN "chain_cleanup+30;chain_guarded+30;"
			     "chain_guard::~chain_guard()|" MAIN
			     "chain_cleanup;chain_guarded;chain_throw+30");
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &now);
	chain_end_ns = (uint64_t)now.tv_sec * 1000000000 +
		       (uint64_t)now.tv_nsec +
		       (uint64_t)(strtod(argv[2], nullptr) * 1e9);
	if (search)
		chain_search();
	else
		chain_cleanup();
	_exit(0);
}

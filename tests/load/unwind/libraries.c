/* SPDX-License-Identifier: MIT */
/* Chains through what joins a program to its libraries; a static one has none
 * of it. */
#include "chain.h"

#ifndef CHAIN_STATIC

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void chain_plt(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < 100 * CHAIN_CALLS; i++)
			gnu_get_libc_version();
}

ALWAYS_INLINE void *load(const char *name)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *library = NULL;
	char *end;

	if (n > 0) {
		path[n] = '\0';
		end = strrchr(path, '/') + 1;
		snprintf(end, 64, "%s", name);
		library = dlopen(path, RTLD_LAZY);
	}
	if (!library) {
		fprintf(stderr, "unwind: %s\n", dlerror());
		exit(1);
	}
	return library;
}

/* The symbol's value, as the function that it is. */
ALWAYS_INLINE void find(void *library, const char *name, void *function)
{
	void *value = dlsym(library, name);

	if (!value) {
		fprintf(stderr, "unwind: %s\n", dlerror());
		exit(1);
	}
	memcpy(function, &value, sizeof(value));
}

void chain_lazy(unsigned int n)
{
	void (*call)(void);

	(void)n;
	find(load("plugin_a.so"), "chain_lazy_call", &call);
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			call();
}

/* Two libraries in turn, each for some milliseconds. It is an error if none
 * ever lies where the other was: then this shows nothing. */
void chain_plugin(unsigned int n)
{
	static const char *const name[] = { "plugin_a.so", "plugin_b.so" };
	void (*enter)(uint64_t turns), (*before)(uint64_t turns) = NULL;
	int again = 0;

	for (n = 0; chain_goes_on(); n++) {
		void *library = load(name[n % 2]);

		find(library, "chain_plugin_enter", &enter);
		enter(100 * CHAIN_LONG);
		again += enter == before;
		before = enter;
		dlclose(library);
	}
	if (again > 0)
		return;
	fprintf(stderr, "unwind: no library lay where the other was\n");
	exit(1);
}

#endif

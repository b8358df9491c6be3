/* SPDX-License-Identifier: MIT */
/*
 * A program of known call chains, through code that keeps no frame pointer.
 *
 *	unwind				prints the modes that it has
 *	unwind MODE SECONDS [LABEL]	runs one; prints pid, LABEL (or MODE)
 *					and the chain, by tabs
 *	unwind memory SECONDS [LABEL]	runs deep-20 from a copy in memory
 *
 * How a chain reads, root first; 25-whole-stacks.awk compares stacks with it:
 *
 *	a;b	frames; | separates chains of which each is right
 *	a*3	three times a
 *	~	one frame of the C library, the loader or the vDSO, by whatever
 *		name
 *	%	one frame of a plugin or of code made at run time
 *	a+9	a may have called into the C library: up to nine frames of it
 *		may follow in place of the rest of the chain (a first call
 *		takes that many, to find the function)
 *	!a	the callers of a cannot be known, and must not be made up
 */
#include "chain.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

/* In glibc, __libc_start_main and its part that calls main; clone3 and
 * start_thread. In musl, a part of __libc_start_main that has no unwind entry;
 * __clone and start. */
#ifdef __GLIBC__
#define MAIN "_start;~;~;main+16;"
#else
#define MAIN "~;main+16;"
#endif
#define THREAD "~;~;"

#ifdef CHAIN_JUMPS
#define TAIL MAIN "chain_tail+9;chain_tail_first;chain_tail_last"
#else
#define TAIL                                                    \
	MAIN "chain_tail+9;chain_tail_first;chain_tail_second;" \
	     "chain_tail_last"
#endif

#define INTERRUPT                                                      \
	MAIN "chain_interrupt+9;~;chain_interruption+9|" MAIN          \
	     "chain_interrupt;chain_leaf;~;chain_interruption+9|" MAIN \
	     "chain_interrupt;~;~;chain_interruption+9"

/* Before its first instruction and after its last but one, the register is its
 * caller's; if that keeps a frame pointer, it is passed over. */
#define BARE "!chain_bare_walk|" MAIN "chain_bare+9|" MAIN "chain_bare_walk"

static const struct mode {
	const char *name;
	void (*run)(unsigned int n);
	unsigned int n;
	const char *chain;
} modes[] = {
	/* Merge sort of four: halves, then all. */
	{ "qsort", chain_qsort, 0,
	  MAIN "chain_qsort+9;~;~;chain_compare|" MAIN
	       "chain_qsort+9;~;~;~;chain_compare" },
	{ "bsearch", chain_bsearch, 0, MAIN "chain_bsearch+9;~;chain_compare" },
	{ "deep-20", chain_deep, 20,
	  MAIN "chain_deep+9;chain_level*20;chain_leaf" },
	{ "deep-60", chain_deep, 60,
	  MAIN "chain_deep+9;chain_level*60;chain_leaf" },
	/* 126, 127 and 128 frames in all, where 127 is the limit. */
	{ "deep-120", chain_deep, 120,
	  MAIN "chain_deep+9;chain_level*120;chain_leaf" },
	{ "deep-121", chain_deep, 121,
	  MAIN "chain_deep+9;chain_level*121;chain_leaf" },
	{ "deep-122", chain_deep, 122,
	  MAIN "chain_deep+9;chain_level*122;chain_leaf" },
	{ "deep-200", chain_deep, 200,
	  MAIN "chain_deep+9;chain_level*200;chain_leaf" },
	{ "alloca", chain_alloca, 0,
	  MAIN "chain_alloca+9;chain_alloca_some;chain_leaf" },
	{ "variadic", chain_variadic, 0,
	  MAIN "chain_variadic+9;chain_variadic_sum;chain_leaf" },
	{ "tail", chain_tail, 0,
	  TAIL "|" MAIN "chain_tail;chain_tail_first;chain_tail_second" },
	{ "align", chain_align, 0,
	  MAIN "chain_align+9;chain_align_more;chain_align_stack;"
	       "chain_leaf" },
	{ "split", chain_split, 0,
	  MAIN "chain_split+9;chain_split_some;chain_leaf|" MAIN
	       "chain_split;chain_split_some;chain_rare" },
	{ "apart", chain_apart, 0,
	  MAIN "chain_apart+9;chain_apart_some;chain_leaf" },
	{ "noreturn", chain_noreturn, 0,
	  MAIN "chain_noreturn;chain_noreturn_last+9;chain_leaf" },
	{ "list", chain_list, 0, MAIN "chain_list+9;chain_list_walk" },
	{ "bare-far", chain_bare, 0, BARE },
	{ "bare-near", chain_bare, 1, BARE },
	{ "bare-code", chain_bare, 2, BARE },
	/* In the first and the last of its instructions what was made has no
	 * frame, and nothing tells: then its caller is not known, or, if that
	 * keeps a frame pointer, passed over. */
	{ "jit", chain_jit, 0,
	  MAIN "chain_jit+9;%;chain_jit_callback;chain_leaf|!%|" MAIN "%" },
	{ "signal", chain_signal, 0,
	  MAIN "chain_signal+9;~;~;chain_handler;chain_leaf" },
	{ "signal-alt", chain_signal, 1,
	  MAIN "chain_signal+9;~;~;chain_handler;chain_leaf" },
	/* The last: while it has not yet returned from starting the timer. */
	{ "interrupt", chain_interrupt, 0, INTERRUPT },
	{ "interrupt-alt", chain_interrupt, 1, INTERRUPT },
	{ "nest", chain_nest, 0,
	  MAIN "chain_nest+9;~;~;chain_outer_handler+9;~;~;chain_handler;"
	       "chain_leaf" },
	{ "nest-alt", chain_nest, 1,
	  MAIN "chain_nest+9;~;~;chain_outer_handler+9;~;~;chain_handler;"
	       "chain_leaf" },
	{ "thread", chain_thread, 0,
	  THREAD "chain_thread_root+9;chain_leaf|" MAIN "chain_thread+9" },
#ifdef __GLIBC__
	/* __start_context, which is where a coroutine's stack ends. */
	{ "context", chain_context, 0,
	  "~;chain_coroutine+9;chain_leaf|" MAIN "chain_context+9" },
	{ "context-link", chain_context, 1,
	  "~;chain_coroutine+9;chain_leaf|" MAIN "chain_context+9" },
#endif
	{ "clock", chain_clock, 0, MAIN "chain_clock+9" },
	{ "read", chain_read, 0, MAIN "chain_read+9" },
	{ "touch", chain_touch, 0, MAIN "chain_touch+9;chain_touch_pages" },
#ifndef CHAIN_STATIC
	{ "plt", chain_plt, 0, MAIN "chain_plt+9" },
	{ "lazy", chain_lazy, 0, MAIN "chain_lazy+20;chain_lazy_call+9" },
	{ "plugin", chain_plugin, 0, MAIN "chain_plugin+30;%;%" },
#endif
};

uint64_t chain_end_ns;

ALWAYS_INLINE const struct mode *find_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (strcmp(modes[i].name, name) == 0)
			return &modes[i];
	return NULL;
}

/* Run deep-20 from a copy of this program that no path leads to. */
ALWAYS_INLINE void run_in_memory(const char *seconds, const char *label)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = memfd_create("unwind", MFD_CLOEXEC);
	char path[64];

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	execl(path, "unwind", "deep-20", seconds, label, (char *)NULL);
	perror("unwind: memory");
	exit(1);
}

int main(int argc, char **argv)
{
	const struct mode *mode;
	struct timespec now;

	if (argc == 1) {
		for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
			puts(modes[i].name);
		return 0;
	}
	if (argc >= 3 && strcmp(argv[1], "memory") == 0)
		run_in_memory(argv[2], argc > 3 ? argv[3] : argv[1]);
	mode = find_mode(argv[1]);
	if (argc < 3 || !mode) {
		fprintf(stderr, "usage: unwind [MODE SECONDS [LABEL]]\n");
		return 2;
	}
	printf("%d\t%s\t%s\n", getpid(), argc > 3 ? argv[3] : mode->name,
	       mode->chain);
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &now);
	chain_end_ns = (uint64_t)now.tv_sec * 1000000000 +
		       (uint64_t)now.tv_nsec +
		       (uint64_t)(strtod(argv[2], NULL) * 1e9);
	mode->run(mode->n);
	_exit(0);
}

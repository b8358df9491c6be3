/* SPDX-License-Identifier: MIT */
/*
 * Call chains that are known: what the files of this program share. Names
 * begin with chain_, which tells frames of ours from those of libraries.
 */
#ifndef LOAD_UNWIND_CHAIN_H
#define LOAD_UNWIND_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A function that is on the stack whenever it runs: never inlined, cloned,
 * merged with an equal one, or called by a convention of its own. */
#ifdef __clang__
#define FRAME __attribute__((noinline))
#else
#define FRAME __attribute__((noipa))
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* After a call: there is something left to do, so the call is no jump. */
#define STAY() __asm__ volatile("" : : : "memory")

/* Before a last call that shall be a jump. Without optimization gcc makes none
 * of it. */
#ifdef __clang__
#define JUMP __attribute__((musttail)) return
#else
#define JUMP
#endif
#if defined(__clang__) || defined(__OPTIMIZE__)
#define CHAIN_JUMPS
#endif

enum {
	/* Turns of a leaf: a microsecond or so, short enough for prologues and
	 * epilogues to have their samples too. */
	CHAIN_SHORT = 2000,
	CHAIN_LONG = 200000,
	/* Calls between two looks at the clock. */
	CHAIN_CALLS = 64
};

extern uint64_t chain_end_ns; /* CLOCK_MONOTONIC */

/* Whether there is time left. Its caller calls into libc and the vDSO. */
ALWAYS_INLINE bool chain_goes_on(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec <
	       chain_end_ns;
}

/* Spin without a call and without memory. */
ALWAYS_INLINE void chain_spin(uint64_t turns)
{
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
}

/* What most chains end in. */
void chain_leaf(uint64_t turns);

/* A function for each mode, until the time is over; n is the mode's number.
 * calls.c: */
void chain_qsort(unsigned int n);
void chain_bsearch(unsigned int n);
void chain_deep(unsigned int levels);
void chain_alloca(unsigned int n);
void chain_variadic(unsigned int n);
void chain_tail(unsigned int n);
void chain_align(unsigned int n);
void chain_split(unsigned int n);
void chain_apart(unsigned int n);
void chain_noreturn(unsigned int n);
/* registers.c: */
void chain_list(unsigned int n);
void chain_bare(unsigned int n);
void chain_jit(unsigned int n);
/* stacks.c: n != 0: handlers run on an alternate stack */
void chain_signal(unsigned int n);
void chain_interrupt(unsigned int n);
void chain_nest(unsigned int n);
void chain_thread(unsigned int n);
void chain_context(unsigned int n);
/* kernel.c: */
void chain_clock(unsigned int n);
void chain_read(unsigned int n);
void chain_touch(unsigned int n);
/* libraries.c: */
void chain_plt(unsigned int n);
void chain_lazy(unsigned int n);
void chain_plugin(unsigned int n);

#endif

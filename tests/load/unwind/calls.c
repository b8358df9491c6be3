/* SPDX-License-Identifier: MIT */
/*
 * Chains by the kind of call: through libc, deep, with stacks of unusual
 * layout, by a jump, into a part of a function that lies elsewhere.
 */
#include "chain.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

FRAME void chain_leaf(uint64_t turns)
{
	chain_spin(turns);
}

FRAME static int chain_compare(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	chain_spin(CHAIN_SHORT);
	return (a > b) - (a < b);
}

void chain_qsort(unsigned int n)
{
	(void)n;
	while (chain_goes_on()) {
		int number[4] = { 3, 4, 1, 2 };

		qsort(number, 4, sizeof(*number), chain_compare);
	}
}

/* By a pointer: headers have a bsearch that compilers put into its caller. */
static void *(*volatile search)(const void *, const void *, size_t, size_t,
				int (*)(const void *, const void *)) = bsearch;

void chain_bsearch(unsigned int n)
{
	static const int number[4] = { 1, 2, 3, 4 };
	static const int wanted = 4;

	(void)n;
	while (chain_goes_on())
		search(&wanted, number, 4, sizeof(*number), chain_compare);
}

FRAME static void chain_level(unsigned int levels)
{
	if (levels == 1)
		chain_leaf(4 * CHAIN_SHORT);
	else
		chain_level(levels - 1);
	STAY();
}

void chain_deep(unsigned int levels)
{
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_level(levels);
}

/* A stack pointer that only a base register knows. */
FRAME static void chain_alloca_some(unsigned int bytes)
{
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 0;
	chain_leaf(CHAIN_SHORT);
	room[bytes - 1] = 1;
}

void chain_alloca(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (unsigned int i = 0; i < CHAIN_CALLS; i++)
			chain_alloca_some(16 + 100 * i);
}

/* Its prologue branches: it saves vector registers only if there are any. */
FRAME static double chain_variadic_sum(unsigned int n, ...)
{
	double sum = 0;
	va_list list;

	va_start(list, n);
	while (n-- > 0)
		sum += va_arg(list, double);
	chain_leaf(CHAIN_SHORT);
	va_end(list);
	return sum;
}

void chain_variadic(unsigned int n)
{
	volatile double sum = 0;

	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			sum += chain_variadic_sum(3, 1.0, sum, 2.0);
}

FRAME static void chain_tail_last(uint64_t turns)
{
	chain_spin(turns);
}

/* Leaves its place to the last, where the compiler can be told so. */
FRAME static void chain_tail_second(uint64_t turns)
{
	JUMP chain_tail_last(turns + 1);
}

FRAME static void chain_tail_first(uint64_t turns)
{
	chain_tail_second(turns + 1);
	STAY();
}

void chain_tail(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_tail_first(CHAIN_SHORT);
}

/* The stack is aligned to more than the caller did. */
FRAME static void chain_align_stack(void)
{
	char block[128] __attribute__((aligned(128)));

	__asm__ volatile("" : : "r"(block) : "memory");
	chain_leaf(CHAIN_SHORT);
	__asm__ volatile("" : : "r"(block) : "memory");
}

/* The same, with arguments on the stack and room of unknown size: gcc keeps
 * where the frame began in memory, and the CFA is found through that. */
FRAME static int chain_align_more(unsigned int bytes, int b, int c, int d,
				  int e, int f, int g, int h)
{
	char block[256] __attribute__((aligned(64)));
	volatile char *room = __builtin_alloca(bytes);

	room[0] = 0;
	__asm__ volatile("" : : "r"(block) : "memory");
	chain_align_stack();
	__asm__ volatile("" : : "r"(block), "r"(room) : "memory");
	return b + c + d + e + f + g + h;
}

void chain_align(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (unsigned int i = 0; i < CHAIN_CALLS; i++)
			chain_align_more(16 + 24 * i, 2, 3, 4, 5, 6, 7, 8);
}

FRAME __attribute__((cold)) static void chain_rare(void)
{
	chain_spin(CHAIN_SHORT);
}

/* The call of a cold function, and what is around it, is moved to a part of
 * its own (chain_split_some.cold) which starts in the middle of a frame. */
FRAME static int chain_split_some(int i)
{
	char block[64];

	__asm__ volatile("" : : "r"(block) : "memory");
	if (__builtin_expect(i % 8 != 0, 0)) {
		chain_rare();
		__asm__ volatile("" : : "r"(block) : "memory");
		return 1;
	}
	chain_leaf(CHAIN_SHORT);
	__asm__ volatile("" : : "r"(block) : "memory");
	return 2;
}

void chain_split(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_split_some(i);
}

/* In a section of its own, which a linker may put into a segment of its own. */
FRAME __attribute__((section("apart_code"))) static void chain_apart_some(void)
{
	chain_leaf(CHAIN_SHORT);
	STAY();
}

void chain_apart(unsigned int n)
{
	(void)n;
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_apart_some();
}

FRAME __attribute__((noreturn)) static void chain_noreturn_last(void)
{
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_leaf(CHAIN_SHORT);
	_exit(0);
}

/* A call is the last of its bytes: what it would return to is another
 * function's first. */
void chain_noreturn(unsigned int n)
{
	(void)n;
	chain_noreturn_last();
}

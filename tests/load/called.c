/* SPDX-License-Identifier: MIT */
/*
 * Two threads that call counted_call() a number of times in all, and pass a
 * USDT probe in each call while somebody is attached to it: its argument is how
 * often the thread has passed it. Prints how often it was called, and how often
 * the probe's semaphore was set.
 */
#include "burn.h"

#include <pthread.h>

static const char usage[] = "called [NUMBER]";

/* SystemTap's note of probe weft:call, as sys/sdt.h writes it. */
__attribute__((section(".probes"))) volatile unsigned short call_semaphore;
#define USDT_PROBE(n)                                                      \
	__asm__ volatile(                                                  \
		"990: nop\n"                                               \
		".pushsection .note.stapsdt,\"\",\"note\"\n"               \
		".balign 4\n"                                              \
		".4byte 992f-991f, 994f-993f, 3\n"                         \
		"991: .asciz \"stapsdt\"\n"                                \
		"992: .balign 4\n"                                         \
		"993: .8byte 990b, _.stapsdt.base, call_semaphore\n"       \
		".asciz \"weft\"\n.asciz \"call\"\n.asciz \"8@%0\"\n"      \
		"994: .balign 4\n"                                         \
		".popsection\n"                                            \
		".ifndef _.stapsdt.base\n"                                 \
		".pushsection "                                            \
		".stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
		".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"           \
		"_.stapsdt.base: .space 1\n"                               \
		".size _.stapsdt.base, 1\n"                                \
		".popsection\n.endif\n"                                    \
		:                                                          \
		: "r"(n))

static uint64_t seen[2];

__attribute__((noinline, used)) void counted_call(uint64_t *to);
void counted_call(uint64_t *to)
{
	if (call_semaphore) {
		++*to;
		USDT_PROBE(*to);
	}
	__asm__ volatile("" ::: "memory");
}

static uint64_t each;

NAMED_FUNCTION static void *call_often(void *to)
{
	for (uint64_t i = 0; i < each; i++)
		counted_call(to);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t number = argument(argc, argv, 1, 2, 1000000000, 100000, usage);
	pthread_t thread;

	each = number / 2;
	if (pthread_create(&thread, NULL, call_often, &seen[1]))
		return 1;
	call_often(&seen[0]);
	pthread_join(thread, NULL);
	printf("%llu %llu\n", (unsigned long long)(2 * each),
	       (unsigned long long)(seen[0] + seen[1]));
	return 0;
}

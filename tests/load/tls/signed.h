/* SPDX-License-Identifier: MIT */
/*
 * For programs that live through what could give a sample another's ID. They
 * say on stdout what is true of a thread from now on, a line "at boot-time tid
 * number": its IDs are its own, of that number << 48 and up; 0: it has none.
 */
#ifndef TLS_SIGNED_H
#define TLS_SIGNED_H

#include <sys/syscall.h>

#include "tests/load/ctx_publish.h"

static inline uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* For how long the longest part of a life lasts. */
static inline uint64_t long_ms(void)
{
	const char *text = getenv("LIFE_MS");

	return text ? strtoull(text, NULL, 10) : 2500;
}

static inline void say(unsigned int number)
{
	char line[80];
	int n = snprintf(line, sizeof(line), "at\t%lu\t%ld\t%u\n",
			 (unsigned long)clock_ns(CLOCK_BOOTTIME),
			 syscall(SYS_gettid), number);

	/* One write, so that lines of several stay whole. */
	if (write(1, line, (size_t)n) != n)
		exit(1);
}

/* Publish a context without attributes, anew each time. */
static inline void publish(const char *service)
{
	static struct ctx_payload payload[2];
	static struct ctx_header *header;
	static int turn;

	turn = !turn;
	ctx_describe(&payload[turn], service, NULL, 0);
	header = ctx_publish(header, &payload[turn]);
}

static inline void burn(uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000;

	while (now_ns() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

/* Burn time with ever new IDs. record is for this thread alone. */
static inline void burn_signed(struct ctx_record *record, void **slot,
			       unsigned int number, uint64_t ms)
{
	uint64_t end = now_ns() + ms * 1000000;
	uint64_t n = (uint64_t)number << 48 | 1;

	do {
		*(volatile uint8_t *)&record->valid = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		ctx_sign(record, (uint32_t)getpid(),
			 (uint32_t)syscall(SYS_gettid), n++);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		*(volatile uint8_t *)&record->valid = 1;
		__atomic_store_n(slot, record, __ATOMIC_RELEASE);
		for (volatile int i = 0; i < 10000; i++)
			;
	} while (now_ns() < end);
}

#endif

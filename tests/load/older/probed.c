/* SPDX-License-Identifier: MIT */
/*
 * Threads that tell a function, or a USDT probe, which request they work on:
 *
 *	probed bytes|hex|numbers|usdt SECONDS
 *
 * IDs as writer.c has them: process, thread, number. Each thread works for
 * nobody from time to time, by a null pointer or by zeros, and then burns CPU
 * time in a function of another name. As if an agent were loaded too, there is
 * Elastic's record, whose IDs are wrong: the probe goes first. And ever new
 * threads come and go that end without a word.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/load/burn.h"

enum {
	THREADS = 2,
	PAUSE_US = 2000
};

struct ids {
	uint8_t trace[16], span[8];
	char trace_hex[33], span_hex[17];
	uint64_t high, low, span_number;
};

static struct {
	uint16_t version;
	uint8_t valid, has_trace, flags;
	uint8_t trace[16], span[8], transaction[8];
} __attribute__((packed))
elastic = { 1, 1, 1, 1, { 0xee, 1 }, { 0xee, 1 }, { 0 } };

__thread void *elastic_apm_profiling_correlation_tls_v1;

static char mode;
static uint64_t end_ns;

NAMED_FUNCTION static void work_on_bytes(const void *trace, const void *span)
{
	__asm__ volatile("" : : "r"(trace), "r"(span));
}

/* That arguments are counted, the IDs come late and in another order. */
NAMED_FUNCTION static void work_on_hex(int ignored, const char *span,
				       const char *trace)
{
	__asm__ volatile("" : : "r"(ignored), "r"(span), "r"(trace));
}

NAMED_FUNCTION static void work_on_numbers(uint64_t span, int a, int b, int c,
					   uint64_t low, uint64_t high)
{
	__asm__ volatile("" : : "r"(span), "r"(a + b + c), "r"(low), "r"(high));
}

static void tell(const struct ids *ids, bool is_null)
{
	switch (mode) {
	case 'b':
		work_on_bytes(is_null ? NULL : ids->trace, ids->span);
		break;
	case 'h':
		work_on_hex(1, ids->span_hex, is_null ? NULL : ids->trace_hex);
		break;
	case 'n':
		work_on_numbers(ids->span_number, 1, 2, 3, ids->low, ids->high);
		break;
	default:
		DTRACE_PROBE2(weft_test, work_on, is_null ? NULL : ids->trace,
			      ids->span);
	}
}

static void put_bytes(uint8_t *out, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(value >> (56 - 8 * i));
}

static void sign(struct ids *ids, uint32_t tid, uint64_t number)
{
	ids->high = (uint64_t)getpid() << 32 | tid;
	ids->low = number;
	ids->span_number = (uint64_t)tid << 32 | (uint32_t)number;
	put_bytes(ids->trace, ids->high);
	put_bytes(ids->trace + 8, ids->low);
	put_bytes(ids->span, ids->span_number);
	snprintf(ids->trace_hex, sizeof(ids->trace_hex), "%016lx%016lx",
		 (unsigned long)ids->high, (unsigned long)ids->low);
	snprintf(ids->span_hex, sizeof(ids->span_hex), "%016lx",
		 (unsigned long)ids->span_number);
}

NAMED_FUNCTION static void work_for_nobody(uint64_t n)
{
	burn_result += burn_steps(n, 100000);
	KEEP_FRAME();
}

NAMED_FUNCTION static void work_for_one(uint64_t n)
{
	burn_result += burn_steps(n, 200000);
	KEEP_FRAME();
}

static void *run_briefly(void *arg)
{
	struct ids ids;

	sign(&ids, (uint32_t)syscall(SYS_gettid), 1);
	tell(&ids, false);
	return arg;
}

static void *run(void *arg)
{
	static const struct ids zero = { .trace_hex = "0000000000000000"
						      "0000000000000000" };
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct ids ids;
	pthread_t brief;

	elastic_apm_profiling_correlation_tls_v1 = &elastic;
	/* Told before anything else, so that the process is known by it. */
	tell(&zero, false);
	for (uint64_t n = 1; clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		sign(&ids, tid, n);
		tell(&ids, false);
		work_for_one(n);
		tell(&zero, n & 1);
		work_for_nobody(n);
		if (!(n % 16) &&
		    !pthread_create(&brief, NULL, run_briefly, NULL))
			pthread_join(brief, NULL);
		usleep(PAUSE_US);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static const char usage[] = "probed bytes|hex|numbers|usdt [SECONDS]";
	uint64_t seconds = argument(argc, argv, 2, 1, 3600, 10, usage);
	pthread_t threads[THREADS];

	if (argc < 2)
		return 2;
	mode = argv[1][0];
	end_ns = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run, NULL))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

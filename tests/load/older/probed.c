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
#include <endian.h>
#include <string.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "tests/load/older/elastic.h"
#include "tests/load/older/threads.h"
#include "tests/load/older/work.h"

enum {
	THREADS = 2,
	PAUSE_US = 2000
};

static char mode;

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

static uint64_t number(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return be64toh(value);
}

static void tell(const struct ids *ids, bool is_null)
{
	switch (mode) {
	case 'b':
		work_on_bytes(is_null ? NULL : ids->trace_bytes,
			      ids->span_bytes);
		break;
	case 'h':
		work_on_hex(1, ids->span, is_null ? NULL : ids->trace);
		break;
	case 'n':
		work_on_numbers(number(ids->span_bytes), 1, 2, 3,
				number(ids->trace_bytes + 8),
				number(ids->trace_bytes));
		break;
	default:
		DTRACE_PROBE2(weft_test, work_on,
			      is_null ? NULL : ids->trace_bytes,
			      ids->span_bytes);
	}
}

static void *run_briefly(void *arg)
{
	struct ids ids;

	sign(&ids, 1);
	tell(&ids, false);
	return arg;
}

static void *run(void *arg)
{
	static const struct ids zero = { .trace = "0000000000000000"
						  "0000000000000000" };
	static const struct ids wrong = { .trace_bytes = { 0xee, 1 },
					  .span_bytes = { 0xee, 1 } };
	struct elastic_writer agent = { 0 };
	struct ids ids;
	pthread_t brief;

	elastic_attach(&agent, &wrong);
	/* Told before anything else, so that the process is known by it. */
	tell(&zero, false);
	for (uint64_t n = 1; !is_at_end(); n++) {
		sign(&ids, n);
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

	if (argc < 2)
		return 2;
	mode = argv[1][0];
	end_in(seconds);
	return run_threads(THREADS, run);
}

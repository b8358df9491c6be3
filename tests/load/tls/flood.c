/* SPDX-License-Identifier: MIT */
/*
 * Two neighbours that publish a trace context. Its argument says which:
 *
 *	honest	two ways to its leaf, in turn
 *	flood	a way of its own, out of 2^17, a trace ID and a thread name of
 *		its own, with a byte that a terminal would act on, every few
 *		microseconds; and it tells all the time that it published
 */
#include <stdbool.h>
#include <sys/prctl.h>

#include "tests/load/tls/signed.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

void **ctx_slot(void);

static struct ctx_record record;

static uint64_t flood_left(uint64_t way, unsigned int levels, uint64_t steps);
static uint64_t flood_right(uint64_t way, unsigned int levels, uint64_t steps);

NAMED_FUNCTION static uint64_t flood_leaf(uint64_t way, uint64_t steps)
{
	KEEP_FRAME();
	return burn_steps(way, steps);
}

static inline uint64_t descend(uint64_t way, unsigned int levels,
			       uint64_t steps)
{
	if (!levels)
		return flood_leaf(way, steps);
	return way & 1 ? flood_right(way >> 1, levels - 1, steps)
		       : flood_left(way >> 1, levels - 1, steps);
}

/* What is added afterwards keeps calls calls, and the two different. */
NAMED_FUNCTION static uint64_t flood_left(uint64_t way, unsigned int levels,
					  uint64_t steps)
{
	return descend(way, levels, steps) + 1;
}

NAMED_FUNCTION static uint64_t flood_right(uint64_t way, unsigned int levels,
					   uint64_t steps)
{
	return descend(way, levels, steps) + 2;
}

static void sign(uint64_t n)
{
	*(volatile uint8_t *)&record.valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ctx_sign(&record, (uint32_t)getpid(), (uint32_t)syscall(SYS_gettid),
		 (uint64_t)1 << 48 | n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile uint8_t *)&record.valid = 1;
	__atomic_store_n(ctx_slot(), &record, __ATOMIC_RELEASE);
}

static void be_honest(uint64_t n)
{
	sign(n);
	burn_result += descend(n % 2, 1, 2000000);
}

static void make_news(uint64_t n, void *page)
{
	char name[16];

	snprintf(name, sizeof(name), "\033[%x", (unsigned int)n);
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_VMA, 0, page, 4096, "OTEL_CTX");
}

int main(int argc, char **argv)
{
	bool is_honest = argc > 1 && !strcmp(argv[1], "honest");
	uint64_t end = now_ns() + long_ms() * 1000000, random = 1;
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	say(1);
	publish(is_honest ? "honest" : "flood");
	for (uint64_t n = 1; now_ns() < end; n++) {
		if (is_honest) {
			be_honest(n);
			continue;
		}
		if (n % 1024 == 0)
			make_news(n, page);
		sign(n);
		random = burn_steps(random + 1, 2);
		burn_result += descend(random >> 40, 17, 1000);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A service of three routes that take 50, 30 and 20 % of its CPU time, each in
 * a function of its own, with attributes in the record: http.route,
 * http.request.method, and from the middle on user.id, a key that the context
 * is published anew with; it is another with each request.
 *
 *	routes SECONDS [VALUES]
 *
 * With VALUES the routes are so many, one after the other, with as much
 * time each; in the middle it has no context for a while.
 */
#include "tests/load/tls/signed.h"

void **ctx_slot(void);

static struct ctx_record record;

static void put(uint8_t number, const char *value)
{
	size_t size = strlen(value);
	uint8_t *at = record.attrs + record.attrs_size;

	at[0] = number;
	at[1] = (uint8_t)size;
	memcpy(at + 2, value, size);
	record.attrs_size = (uint16_t)(record.attrs_size + 2 + size);
}

static void begin(const char *route, uint64_t number, int has_user)
{
	char user[24];

	*(volatile uint8_t *)&record.valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	record.attrs_size = 0;
	put(0, "/wrong"); /* the last of a key holds */
	put(1, "GET");
	put(0, route);
	if (has_user) {
		snprintf(user, sizeof(user), "user-%lu", (unsigned long)number);
		put(2, user);
	}
	ctx_sign(&record, (uint32_t)getpid(), (uint32_t)getpid(), number);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile uint8_t *)&record.valid = 1;
	__atomic_store_n(ctx_slot(), &record, __ATOMIC_RELEASE);
}

static void use_cpu(uint64_t us)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + us * 1000;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 1000; i++)
			;
}

#define ROUTE(name, us)                                                      \
	__attribute__((noinline)) static void name(uint64_t n, int has_user) \
	{                                                                    \
		begin("/" #name, n, has_user);                               \
		use_cpu(us);                                                 \
		__asm__ volatile("" : : : "memory");                         \
	}
ROUTE(half, 5000)
ROUTE(third, 3000)
ROUTE(fifth, 2000)

static void withdraw(struct ctx_header *header)
{
	header->signature[0] = '\0';
	ctx_name(header);
	usleep(500000); /* until that is known */
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "http.route", "http.request.method",
					    "user.id" };
	static struct ctx_payload payload[2];
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 4;
	uint64_t values = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t begin_ns = now_ns(), end_ns = begin_ns + seconds * 1000000000;
	struct ctx_header *header;
	int has_user = 0;
	char route[32];

	ctx_describe(&payload[0], "routes", keys, 2);
	header = ctx_publish(NULL, &payload[0]);
	for (uint64_t n = 1; now_ns() < end_ns; n++) {
		if (!has_user && now_ns() - begin_ns > seconds * 500000000) {
			if (values)
				withdraw(header);
			ctx_describe(&payload[1], "routes", keys, 3);
			(void)ctx_publish(header, &payload[1]);
			usleep(200000); /* until that is known */
			has_user = 1;
		}
		if (values) {
			snprintf(route, sizeof(route), "/item/%lu",
				 (unsigned long)(n % values));
			begin(route, n, 0);
			use_cpu(200);
			continue;
		}
		half(3 * n, has_user);
		third(3 * n + 1, has_user);
		fifth(3 * n + 2, has_user);
	}
	*ctx_slot() = NULL;
	return 0;
}

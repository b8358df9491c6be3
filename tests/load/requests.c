/* SPDX-License-Identifier: MIT */
/*
 * Requests of which some are slow, and a record of which:
 *
 *   requests THREADS N SLOW_EVERY SLOW_MS
 *
 * Each thread works on N requests, one after the other: handle() is called with
 * the number of the request, and lasts SLOW_MS for one in SLOW_EVERY; of the
 * others a hundredth of that. While it runs the thread's record (OTEP 4947) has
 * the request's trace ID, and http.route /slow or /fast. Between requests there
 * is none, and idle() is called. For each request a line "trace-id tid number
 * slow ns blocks" is printed; blocks is how often it gave its CPU up: 0 where
 * it was kept from running for so long that its rest was over when it came to
 * it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ctx_publish.h"

__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

static long n_requests, slow_every, slow_ms;

long handle(long number, long us);
long idle(long number);

static void rest(long us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}

__attribute__((noinline)) long handle(long number, long us)
{
	rest(us);
	return number + us;
}

__attribute__((noinline)) long idle(long number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

static long blocks(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void work_on(struct ctx_record *r, long number)
{
	int is_slow = number % slow_every == 0;
	char line[100];
	long blocked = blocks();
	uint64_t took;
	int n = 0;

	r->attrs[1] = 5; /* of key 0 */
	memcpy(r->attrs + 2, is_slow ? "/slow" : "/fast", 5);
	r->attrs_size = 7;
	ctx_sign(r, (uint32_t)getpid(), (uint32_t)gettid(), (uint64_t)number);
	__atomic_store_n(&r->valid, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&otel_thread_ctx_v1, r, __ATOMIC_SEQ_CST);
	took = clock_ns(CLOCK_MONOTONIC);
	handle(number, is_slow ? slow_ms * 1000 : slow_ms * 10);
	took = clock_ns(CLOCK_MONOTONIC) - took;
	__atomic_store_n(&otel_thread_ctx_v1, NULL, __ATOMIC_SEQ_CST);
	blocked = blocks() - blocked;
	idle(number);
	for (int i = 0; i < 16; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%02x",
			      r->trace_id[i]);
	printf("%s %d %ld %d %lu %ld\n", line, gettid(), number, is_slow,
	       (unsigned long)took, blocked);
}

static void *run(void *arg)
{
	struct ctx_record record = { 0 };

	(void)arg;
	/* Until the profiler has looked where contexts are: a call asks. */
	handle(0, 1000);
	rest(1500000);
	for (long i = 1; i <= n_requests; i++)
		work_on(&record, i);
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const keys[] = { "http.route" };
	static struct ctx_payload payload;
	pthread_t thread[64];
	long n = argc == 5 ? atol(argv[1]) : 0;

	n_requests = argc == 5 ? atol(argv[2]) : 0;
	slow_every = argc == 5 ? atol(argv[3]) : 0;
	slow_ms = argc == 5 ? atol(argv[4]) : 0;
	if (n < 1 || n > 64 || slow_every < 1) {
		fprintf(stderr,
			"usage: requests THREADS N SLOW_EVERY SLOW_MS\n");
		return 2;
	}
	ctx_describe(&payload, "requests", keys, 1);
	(void)ctx_publish(NULL, &payload);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, run, NULL))
			return 1;
	for (long i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

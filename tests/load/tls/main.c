/* SPDX-License-Identifier: MIT */
/*
 * Threads that burn CPU time with ever new IDs that say who wrote them (see
 * ctx_publish.h), wherever the variable is: in the executable, in a library
 * that it is linked to, or (-DTLS_OPENS) in one that it opens. Of its threads
 * one was there before the library, one came after, one never sets an ID.
 *
 * Styles: swap (a new record, then the pointer), place (valid is 0 while the
 * record changes), broken (it stays 1: readers see halves).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "tests/load/ctx_publish.h"

/* Many run at a time: what records them needs its share, too. */
enum {
	PAUSE_US = 5000
};

static const char usage[] = "usage: NAME swap|place|broken SECONDS [LIBRARY]\n";
static pthread_barrier_t opened;
static uint64_t end_ns;
static char style;

#ifdef TLS_OPENS
static void **(*find_slot)(void);
static void *library;

static void **by_name(void)
{
	return dlsym(library, "otel_thread_ctx_v1");
}

static void open_library(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	/* As ISO C wants it: a data pointer is no function pointer. */
	*(void **)&find_slot = dlsym(library, "ctx_slot");
	if (!find_slot)
		find_slot = by_name;
}
#else
void **ctx_slot(void);
#define find_slot ctx_slot
#endif

static void burn(int rounds)
{
	for (volatile int i = 0; i < rounds; i++)
		;
}

static void set(struct ctx_record *pair, uint32_t tid, uint64_t number)
{
	struct ctx_record *record = &pair[style == 's' ? number & 1 : 0];
	void **slot = find_slot();

	if (style == 'p')
		*(volatile uint8_t *)&record->valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ctx_sign(record, (uint32_t)getpid(), tid, number);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile uint8_t *)&record->valid = 1;
	__atomic_store_n(slot, record, __ATOMIC_RELEASE);
}

static void write_ids(void)
{
	struct ctx_record *pair = calloc(2, sizeof(*pair));
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (uint64_t n = 1; clock_ns(CLOCK_MONOTONIC) < end_ns; n++) {
		for (int i = 0; i < 64; i++)
			set(pair, tid, n * 64 + (uint64_t)i);
		burn(10000);
		usleep(PAUSE_US);
		if (n % 8)
			continue;
		__atomic_store_n(find_slot(), NULL, __ATOMIC_RELEASE);
		burn(10000);
	}
	__atomic_store_n(find_slot(), NULL, __ATOMIC_RELEASE);
	free(pair);
}

static void *run_early(void *arg)
{
	pthread_barrier_wait(&opened);
	write_ids();
	return arg;
}

static void *run_late(void *arg)
{
	write_ids();
	return arg;
}

static void *run_unset(void *arg)
{
	while (clock_ns(CLOCK_MONOTONIC) < end_ns) {
		burn(20000);
		usleep(PAUSE_US);
	}
	return arg;
}

int main(int argc, char **argv)
{
	static struct ctx_payload payload;
	pthread_t early, late, unset;

	if (argc < 4) {
		fputs(usage, stderr);
		return 2;
	}
	style = argv[2][0];
	pthread_barrier_init(&opened, NULL, 2);
	if (pthread_create(&early, NULL, run_early, NULL))
		return 1;
#ifdef TLS_OPENS
	if (argc < 5)
		return 2;
	open_library(argv[4]);
#endif
	ctx_describe(&payload, argv[1], NULL, 0);
	(void)ctx_publish(NULL, &payload);
	end_ns = clock_ns(CLOCK_MONOTONIC) +
		 strtoull(argv[3], NULL, 10) * 1000000000;
	pthread_barrier_wait(&opened);
	if (pthread_create(&late, NULL, run_late, NULL) ||
	    pthread_create(&unset, NULL, run_unset, NULL))
		return 1;
	write_ids();
	pthread_join(early, NULL);
	pthread_join(late, NULL);
	pthread_join(unset, NULL);
	return 0;
}

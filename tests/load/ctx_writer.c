/* SPDX-License-Identifier: MIT */
/*
 * A process that publishes trace context and says where: for each of two
 * threads a line "tid thread-pointer slot record" in hex, then it waits for
 * the end of its input. Built from this one file in three ways:
 *
 *	-DCTX_SLOT -DCTX_MAIN	the variable in the executable (the default)
 *	-DCTX_MAIN -DCTX_LINKED	linked to a library
 *	-DCTX_SLOT -shared	that library
 *
 * With an argument the main program loads the library of that name. With
 * "NAME again" it unloads it and loads it once more, so that the module's ID
 * is another generation's.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctx_publish.h"

#if !defined(CTX_SLOT) && !defined(CTX_MAIN)
#define CTX_SLOT
#define CTX_MAIN
#define CTX_LINKED
#endif

void **ctx_slot(void);

#ifdef CTX_SLOT
__attribute__((visibility("default"))) __thread void *otel_thread_ctx_v1;

__attribute__((visibility("default"))) void **ctx_slot(void)
{
	return &otel_thread_ctx_v1;
}
#endif

#ifdef CTX_MAIN

static void **(*find_slot)(void);
static pthread_barrier_t both_ready;

static void attach(struct ctx_record *record, uint8_t fill)
{
	uint64_t pointer;

	memset(record->trace_id, fill, sizeof(record->trace_id));
	memset(record->span_id, fill, sizeof(record->span_id));
	record->valid = 1;
	*find_slot() = record;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	printf("%d %lx %lx %lx\n", gettid(), (unsigned long)pointer,
	       (unsigned long)find_slot(), (unsigned long)record);
	fflush(stdout);
}

static void *run_thread(void *arg)
{
	static struct ctx_record record;

	(void)arg;
	attach(&record, 0xbb);
	pthread_barrier_wait(&both_ready);
	pause();
	return NULL;
}

static void load(const char *path, int is_again)
{
	void *library = dlopen(path, RTLD_NOW);

	if (library && is_again) {
		find_slot = (void **(*)(void))dlsym(library, "ctx_slot");
		(void)find_slot();
		dlclose(library);
		library = dlopen(path, RTLD_NOW);
	}
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	find_slot = (void **(*)(void))dlsym(library, "ctx_slot");
}

#if !defined(CTX_LINKED) && !defined(CTX_SLOT)
/* Only there so that a program that loads the library links without it. */
__attribute__((weak)) void **ctx_slot(void);
#endif

int main(int argc, char **argv)
{
	static struct ctx_payload payload;
	static struct ctx_record record;
	pthread_t thread;
	char byte;

	if (argc > 1)
		load(argv[1], argc > 2);
	else
		find_slot = ctx_slot;
	pthread_barrier_init(&both_ready, NULL, 2);
	attach(&record, 0xaa);
	if (pthread_create(&thread, NULL, run_thread, NULL))
		return 1;
	pthread_barrier_wait(&both_ready);
	ctx_describe(&payload, "ctx", NULL, 0);
	(void)ctx_publish(NULL, &payload);
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
#endif

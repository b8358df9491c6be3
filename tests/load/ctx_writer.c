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
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

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

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, flags;
	uint16_t attrs_size;
} __attribute__((aligned(8)));

static void attach(struct record *record, uint8_t fill)
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
	static struct record record;

	(void)arg;
	attach(&record, 0xbb);
	pthread_barrier_wait(&both_ready);
	pause();
	return NULL;
}

struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_ns;
	const void *payload;
};

/* { resource { service.name: ctx }, { schema_version: tlsdesc_v1_dev } } */
static const char payload[] = "\x0a\x17\x0a\x15"
			      "\x0a\x0cservice.name\x12\x05\x0a\x03"
			      "ctx"
			      "\x12\x2e\x0a\x1athreadlocal.schema_version"
			      "\x12\x10\x0a\x0etlsdesc_v1_dev";

static void publish(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct timespec now;
	struct header *header;

	if (fd < 0 || ftruncate(fd, 4096))
		exit(1);
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (header == MAP_FAILED || madvise(header, 4096, MADV_DONTFORK))
		exit(1);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	header->payload_size = sizeof(payload) - 1;
	header->payload = payload;
	clock_gettime(CLOCK_BOOTTIME, &now);
	__atomic_store_n(&header->published_ns,
			 (uint64_t)now.tv_sec * 1000000000 +
				 (uint64_t)now.tv_nsec,
			 __ATOMIC_SEQ_CST);
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
	static struct record record;
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
	publish();
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
#endif

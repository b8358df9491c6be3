/* SPDX-License-Identifier: MIT */
/* The publisher as a profiler sees it, by a decoder of our own: the variable,
 * the bytes behind it, a mapping found in /proc/self/maps. */
#ifndef T_TOOLS_PUBLISHER_H
#define T_TOOLS_PUBLISHER_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/publisher/otel-thread-ctx.h"

static const uint8_t trace_a[16] = { 0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3,
				     0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d,
				     0x0e, 0x0e, 0x47, 0x36 };
static const uint8_t span_a[8] = { 0x00, 0xf0, 0x67, 0xaa,
				   0x0b, 0xa9, 0x02, 0xb7 };

#define TRACE_A "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN_A  "00f067aa0ba902b7"
/* The record of the calling thread, NULL if none. */
static inline const uint8_t *attached(void)
{
	const uint8_t *const *slot = dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1");

	assert_non_null(slot);
	return *slot;
}

static inline int detach(void **state)
{
	(void)state;
	otc_clear();
	return 0;
}

/* ---- the process context */

struct context_header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_ns;
	uint64_t payload;
};

static inline const struct context_header *find_mapping(int *found)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const struct context_header *header = NULL;
	char line[512];

	*found = 0;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "[anon_shmem:OTEL_CTX]") &&
		    !strstr(line, "[anon:OTEL_CTX]") &&
		    !strstr(line, "/memfd:OTEL_CTX"))
			continue;
		header = (const void *)(uintptr_t)strtoull(line, NULL, 16);
		++*found;
	}
	fclose(maps);
	return header;
}

struct bytes {
	const uint8_t *at;
	size_t size;
};

static inline uint64_t take_varint(struct bytes *from)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		assert_true(from->size > 0);
		value |= (uint64_t)(*from->at & 0x7f) << shift;
		from->size--;
		if (!(*from->at++ & 0x80))
			return value;
	}
	fail_msg("varint too long");
	return 0;
}

/* The n-th field of that number; all of our messages that hold others or text
 * are wire type 2. */
static inline struct bytes field(struct bytes message, unsigned int number,
				 int n)
{
	while (message.size > 0) {
		uint64_t key = take_varint(&message);
		struct bytes value = { NULL, (size_t)take_varint(&message) };

		assert_int_equal(key & 7, 2);
		assert_true(value.size <= message.size);
		value.at = message.at;
		message.at += value.size;
		message.size -= value.size;
		if (key >> 3 == number && n-- == 0)
			return value;
	}
	return (struct bytes){ NULL, 0 };
}

static inline void assert_text(struct bytes got, const char *want)
{
	assert_non_null(got.at);
	assert_int_equal(got.size, strlen(want));
	assert_memory_equal(got.at, want, got.size);
}

/* The value of an attribute of the process's: an AnyValue. */
static inline struct bytes find_attribute(struct bytes payload, const char *key)
{
	struct bytes pair, name;

	for (int n = 0;; n++) {
		pair = field(payload, 2, n);
		if (!pair.at)
			return pair;
		name = field(pair, 1, 0);
		if (name.size == strlen(key) &&
		    !memcmp(name.at, key, name.size))
			return field(pair, 2, 0);
	}
}

/* What this process publishes, and that it is one mapping in order. */
static inline struct bytes published_payload(void)
{
	const struct context_header *header;
	struct bytes payload;
	struct timespec now;
	int found;

	header = find_mapping(&found);
	assert_int_equal(found, 1);
	assert_memory_equal(header->signature, "OTEL_CTX", 8);
	assert_int_equal(header->version, 2);
	clock_gettime(CLOCK_BOOTTIME, &now);
	assert_in_range(header->published_ns, 1,
			(uint64_t)(now.tv_sec + 1) * 1000000000);
	payload.at = (const uint8_t *)(uintptr_t)header->payload;
	payload.size = header->payload_size;
	return payload;
}

/* Run check in a child made by fork, which starts without a context. */
static inline void in_child(void (*check)(void))
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		check();
		_exit(0); /* a failed assertion ends in exit status 1 or more */
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A profiler interrupts a thread and reads, on that thread's CPU, the pointer
 * otel_thread_ctx_v1 and the record behind it. So there is no other CPU to
 * order for: what counts is the order of this thread's own stores, which
 * volatile and signal fences keep.
 *
 * The record lives in thread-local memory like the pointer to it: nothing to
 * allocate, nothing to free when the thread ends. It is changed in place
 * under its valid byte; the pointer is NULL or this record, never another.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* madvise, syscall; also where -std=c11 hides them */
#endif
#include "otel-thread-ctx.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Thread-local memory is reached behind a real call only: on x86-64, glibc
 * before 2.40 is reported to clobber vector registers on the way there. */
#define FUNCTION __attribute__((noinline))
#define EXPORTED __attribute__((visibility("default"), weak, used))

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Readers match the development name today; the final one is "tls_v1". */
#ifndef OTC_SCHEMA_VERSION
#define OTC_SCHEMA_VERSION "tlsdesc_v1_dev"
#endif

/* Newer than the headers of a supported libc. */
#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif
#define MEMFD_CLOEXEC       0x1U
#define MEMFD_ALLOW_SEALING 0x2U
#define MEMFD_NOEXEC_SEAL   0x8U

/* The layout is the standard's: no padding, attributes right behind. */
struct record {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid; /* 1: the rest may be read */
	uint8_t trace_flags;
	uint16_t attrs_size; /* host byte order */
	uint8_t attrs[36];
};
_Static_assert(offsetof(struct record, valid) == 24, "OTEP 4947");
_Static_assert(offsetof(struct record, attrs) == 28, "OTEP 4947");
_Static_assert(sizeof(struct record) == 64, "one cache line");

/*
 * The name that profilers look up. Weak, so that a vendor's copy in the same
 * program and ours become one variable instead of a link error.
 */
EXPORTED _Thread_local volatile struct record *volatile otel_thread_ctx_v1;

static _Thread_local _Alignas(64) volatile struct record thread_record;

enum {
	NAME_MAX_BYTES = 255,
	PAYLOAD_OFFSET = 64, /* in the mapping, behind the header */
	MAPPING_BYTES = 1024,
};

struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	_Atomic uint64_t published_ns; /* boot; 0: being changed */
	uint64_t payload;
};
_Static_assert(sizeof(struct header) == 32, "OTEP 4719");

static struct header *published; /* NULL: this process publishes nothing */

/*
 * The child has the parent's thread-local memory: without this it would seem
 * to work on the parent's request as soon as it publishes.
 */
static void on_fork_in_child(void)
{
	otel_thread_ctx_v1 = NULL;
	published = NULL; /* the mapping itself is not inherited */
}

static uint8_t *put_head(uint8_t *at, uint8_t field, size_t size)
{
	/* wire type 2, length-delimited; sizes here need at most two bytes */
	*at++ = (uint8_t)(field << 3 | 2);
	if (size >= 0x80)
		*at++ = (uint8_t)(size | 0x80);
	*at++ = (uint8_t)(size >= 0x80 ? size >> 7 : size);
	return at;
}

static uint8_t *put_text(uint8_t *at, uint8_t field, const char *text)
{
	size_t size = strlen(text);

	at = put_head(at, field, size);
	memcpy(at, text, size);
	return at + size;
}

static size_t text_size(const char *text)
{
	size_t size = strlen(text);

	return size + (size >= 0x80 ? 3 : 2);
}

/* KeyValue { 1: key, 2: AnyValue { 1: text } } */
static size_t pair_size(const char *key, const char *text)
{
	size_t value = text_size(text);

	return text_size(key) + value + (value >= 0x80 ? 3 : 2);
}

static uint8_t *put_pair(uint8_t *at, uint8_t field, const char *key,
			 const char *text)
{
	at = put_head(at, field, pair_size(key, text));
	at = put_text(at, 1, key);
	at = put_head(at, 2, text_size(text));
	return put_text(at, 1, text);
}

/*
 * ProcessContext { 1: Resource { 1: service.name },
 *                  2: threadlocal.schema_version }
 */
static size_t put_payload(uint8_t *payload, const char *service_name)
{
	uint8_t *at = payload;
	size_t pair = pair_size("service.name", service_name);

	at = put_head(at, 1, pair + (pair >= 0x80 ? 3 : 2));
	at = put_pair(at, 1, "service.name", service_name);
	at = put_pair(at, 2, "threadlocal.schema_version", OTC_SCHEMA_VERSION);
	return (size_t)(at - payload);
}

/*
 * A private mapping that can be told by its name in /proc/PID/maps: of a
 * memfd, which has one on every kernel, else anonymous and named by prctl.
 */
static void *map_context(bool *is_named)
{
	unsigned int flags = MEMFD_CLOEXEC | MEMFD_ALLOW_SEALING;
	long fd = syscall(SYS_memfd_create, "OTEL_CTX",
			  flags | MEMFD_NOEXEC_SEAL);
	void *map = MAP_FAILED;

	*is_named = false;
	if (fd < 0)
		fd = syscall(SYS_memfd_create, "OTEL_CTX", flags);
	if (fd >= 0) {
		if (ftruncate((int)fd, MAPPING_BYTES) == 0)
			map = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE, (int)fd, 0);
		close((int)fd);
		*is_named = map != MAP_FAILED;
	}
	if (map == MAP_FAILED)
		map = mmap(NULL, MAPPING_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return map;
}

static int publish(void *map, bool is_named, const char *service_name)
{
	struct header *header = map;
	uint8_t *payload = (uint8_t *)map + PAYLOAD_OFFSET;
	struct timespec now;

	if (madvise(map, MAPPING_BYTES, MADV_DONTFORK) != 0 ||
	    clock_gettime(CLOCK_BOOTTIME, &now) != 0)
		return -errno;

	header->version = 2;
	header->payload_size = (uint32_t)put_payload(payload, service_name);
	header->payload = (uint64_t)(uintptr_t)payload;
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
	/* last: a reader that sees a time may read all the rest */
	atomic_thread_fence(memory_order_seq_cst);
	atomic_store(&header->published_ns,
		     (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);

	/* also a notice to profilers that watch this call, so not optional
	 * where the mapping has a name already */
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)map,
		  (unsigned long)MAPPING_BYTES, "OTEL_CTX") != 0 &&
	    !is_named)
		return -errno;
	published = header;
	return 0;
}

/* There may be only one context per process; a vendor's agent may have it. */
static bool somebody_publishes(void)
{
	static const char *const names[] = { "[anon_shmem:OTEL_CTX]",
					     "[anon:OTEL_CTX]",
					     "/memfd:OTEL_CTX" };
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[512];

	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			found |= strstr(line, names[i]) != NULL;
	}
	fclose(maps);
	return found;
}

FUNCTION int otc_init(const char *service_name)
{
	static bool has_handler;
	bool is_named;
	void *map;
	int rc;

	if (!service_name || strlen(service_name) > NAME_MAX_BYTES)
		return -EINVAL;
	if (published || otel_thread_ctx_v1 || somebody_publishes())
		return -EBUSY;
	if (!has_handler) {
		rc = pthread_atfork(NULL, NULL, on_fork_in_child);
		if (rc != 0)
			return -rc;
		has_handler = true;
	}
	map = map_context(&is_named);
	if (map == MAP_FAILED)
		return -errno;
	rc = publish(map, is_named, service_name);
	if (rc < 0)
		munmap(map, MAPPING_BYTES);
	return rc;
}

static void write_record(const uint8_t trace_id[16], const uint8_t span_id[8],
			 uint8_t flags)
{
	volatile struct record *r = &thread_record;

	r->valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	for (int i = 0; i < 16; i++)
		r->trace_id[i] = trace_id[i];
	for (int i = 0; i < 8; i++)
		r->span_id[i] = span_id[i];
	r->trace_flags = flags;
	r->attrs_size = 0;
	atomic_signal_fence(memory_order_seq_cst);
	r->valid = 1;
	atomic_signal_fence(memory_order_seq_cst);
	otel_thread_ctx_v1 = r;
}

FUNCTION void otc_clear(void)
{
	otel_thread_ctx_v1 = NULL;
}

#else /* nobody reads contexts here */

static void write_record(const uint8_t trace_id[16], const uint8_t span_id[8],
			 uint8_t flags)
{
	(void)trace_id;
	(void)span_id;
	(void)flags;
}

int otc_init(const char *service_name)
{
	(void)service_name;
	return -ENOTSUP;
}

void otc_clear(void)
{
}

#endif

static bool is_zero(const uint8_t *id, size_t size)
{
	uint8_t bits = 0;

	for (size_t i = 0; i < size; i++)
		bits |= id[i];
	return bits == 0;
}

FUNCTION int otc_set(const uint8_t trace_id[16], const uint8_t span_id[8],
		     uint8_t flags)
{
	if (is_zero(trace_id, 16) || is_zero(span_id, 8)) {
		otc_clear();
		return -EINVAL;
	}
	write_record(trace_id, span_id, flags);
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Stops at the first character that is no digit, so never reads past a NUL. */
static bool parse_hex(const char *text, uint8_t *out, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

FUNCTION int otc_set_hex(const char *trace_id, const char *span_id,
			 uint8_t flags)
{
	uint8_t trace[16], span[8];

	if (!trace_id || !parse_hex(trace_id, trace, 16) || trace_id[32] ||
	    !span_id || !parse_hex(span_id, span, 8) || span_id[16]) {
		otc_clear();
		return -EINVAL;
	}
	return otc_set(trace, span, flags);
}

/* version-trace_id-span_id-flags; only versions above 0 may go on after a
 * further '-', and version ff is none. */
static bool parse_traceparent(const char *text, uint8_t trace[16],
			      uint8_t span[8], uint8_t *flags)
{
	uint8_t version;

	if (!text || !parse_hex(text, &version, 1) || text[2] != '-' ||
	    !parse_hex(text + 3, trace, 16) || text[35] != '-' ||
	    !parse_hex(text + 36, span, 8) || text[52] != '-' ||
	    !parse_hex(text + 53, flags, 1) || version == 0xff)
		return false;
	return text[55] == '\0' || (version > 0 && text[55] == '-');
}

FUNCTION int otc_set_traceparent(const char *value)
{
	uint8_t trace[16], span[8], flags;

	if (!parse_traceparent(value, trace, span, &flags)) {
		otc_clear();
		return -EINVAL;
	}
	return otc_set(trace, span, flags & 3);
}

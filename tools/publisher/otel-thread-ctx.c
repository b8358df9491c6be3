/* SPDX-License-Identifier: MIT */
/*
 * A profiler interrupts a thread and reads, on that thread's CPU, the pointer
 * otel_thread_ctx_v1 and the record behind it. So there is no other CPU to
 * order for: what counts is the order of this thread's own stores, which
 * volatile and signal fences keep.
 *
 * A thread's own record lives in thread-local memory like the pointer to it:
 * nothing to allocate, nothing to free when the thread ends. Records are
 * changed in place under their valid byte; attributes are appended, and exist
 * when attrs_size says so. The pointer is NULL or the record in use. A record
 * that another publisher attached is replaced, never written to.
 *
 * Written in what C11 and C++11 have in common, with builtins of gcc and clang
 * in place of <stdatomic.h>, which C++ lacks.
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

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
#define PER_THREAD         __thread /* no wrapper function, unlike thread_local */
#define CHECK(claim, text) static_assert(claim, text)
#else
#define PER_THREAD         _Thread_local
#define CHECK(claim, text) _Static_assert(claim, text)
#endif

/* Readers match the development name today; the final one is "tls_v1". */
#ifndef OTC_SCHEMA_VERSION
#define OTC_SCHEMA_VERSION "tlsdesc_v1_dev"
#endif

/* Newer than the headers of a supported libc. */
#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

typedef volatile struct otc_record record_t;

CHECK(offsetof(struct otc_record, valid) == 24, "OTEP 4947");
CHECK(offsetof(struct otc_record, attrs_size) == 26, "OTEP 4947");
CHECK(offsetof(struct otc_record, attrs) == 28, "OTEP 4947");

#ifdef __cplusplus
extern "C" {
#endif
/*
 * The name that profilers look up. Weak, so that a vendor's copy in the same
 * program and ours become one variable instead of a link error.
 */
EXPORTED PER_THREAD record_t *volatile otel_thread_ctx_v1;
#ifdef __cplusplus
}
#endif

static PER_THREAD struct {
	struct otc_record own;
	struct otc_record *swapped_in; /* borrowed; NULL: own is in use */
} thread __attribute__((aligned(64)));

/* ---- the process context */

enum {
	MEMFD_CLOEXEC = 1,
	MEMFD_ALLOW_SEALING = 2,
	MEMFD_NOEXEC_SEAL = 8,
	/* All keys at their longest, 10 bytes around each, and the rest. */
	PAYLOAD_BYTES = OTC_KEYS_MAX * (OTC_KEY_MAX + 10) + 1024,
	PAYLOAD_OFFSET = 64, /* in the mapping, behind the header */
	MAPPING_BYTES = PAYLOAD_OFFSET + 2 * PAYLOAD_BYTES
};

/* OTEP 4719 */
struct header {
	char signature[8];
	uint32_t version;
	uint32_t payload_size;
	uint64_t published_ns; /* boot; 0: being changed */
	uint64_t payload;
};
CHECK(sizeof(struct header) == 32, "OTEP 4719");

/* Under the lock, but that published is also read without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct header *published; /* NULL: this process publishes nothing */
static char service[OTC_NAME_MAX + 1];
static char *keys[OTC_KEYS_MAX]; /* kept for good; so is the copy in a child */
static int n_keys;

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
}

static void leave_lock(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * The child has the parent's thread-local memory: without this it would seem
 * to work on the parent's request as soon as it publishes.
 */
static void after_fork_in_child(void)
{
	otel_thread_ctx_v1 = NULL;
	thread.own.valid = 0;
	thread.swapped_in = NULL;
	__atomic_store_n(&published, (struct header *)NULL, __ATOMIC_RELAXED);
	leave_lock(); /* the mapping is not inherited */
}

static int handlers_rc;

static void install_handlers(void)
{
	handlers_rc =
		-pthread_atfork(take_lock, leave_lock, after_fork_in_child);
}

/* Only with the handlers: without them a child could find the lock taken, and
 * its parent's context in its threads. */
static int lock_safely(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install_handlers);
	if (!handlers_rc)
		take_lock();
	return handlers_rc;
}

/* Protobuf, written from its end to its start: so the length of each part is
 * known when its turn comes. */
struct payload {
	uint8_t *start; /* what there is of room below at */
	uint8_t *at;
};

static void put(struct payload *to, const void *bytes, size_t size)
{
	if ((size_t)(to->at - to->start) < size)
		abort(); /* PAYLOAD_BYTES is wrong */
	to->at -= size;
	memcpy(to->at, bytes, size);
}

static void put_varint(struct payload *to, uint64_t value)
{
	uint8_t bytes[10];
	size_t size = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[size++] = (uint8_t)(value | 0x80);
	bytes[size++] = (uint8_t)value;
	put(to, bytes, size);
}

/* What was put since at was end becomes the content of a field. */
static void close_field(struct payload *to, const uint8_t *end, unsigned field)
{
	put_varint(to, (uint64_t)(end - to->at));
	put_varint(to, field << 3 | 2);
}

static void put_text(struct payload *to, unsigned field, const char *text)
{
	const uint8_t *end = to->at;

	put(to, text, strlen(text));
	close_field(to, end, field);
}

/* KeyValue { 1: key, 2: AnyValue }, whose value was put since end */
static void close_pair(struct payload *to, const uint8_t *end, unsigned field,
		       const char *key)
{
	close_field(to, end, 2);
	put_text(to, 1, key);
	close_field(to, end, field);
}

static void put_pair(struct payload *to, unsigned field, const char *key,
		     const char *text)
{
	const uint8_t *end = to->at;

	put_text(to, 1, text); /* AnyValue { 1: string } */
	close_pair(to, end, field, key);
}

/* AnyValue { 5: ArrayValue { 1: AnyValue { 1: string } } } */
static void put_key_map(struct payload *to)
{
	const uint8_t *end = to->at;

	for (int i = n_keys; i-- > 0;) {
		const uint8_t *value = to->at;

		put_text(to, 1, keys[i]);
		close_field(to, value, 1);
	}
	close_field(to, end, 5);
	close_pair(to, end, 2, "threadlocal.attribute_key_map");
}

static uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

/*
 * Where the variable is a part of the executable it has the same offset from
 * every thread's pointer. Saying so lets a reader find it where a stripped
 * static program has no symbol; no part of the OTEPs. The block of the
 * executable is what the ELF TLS ABI puts next to the thread pointer: below
 * it on x86-64, above it on aarch64.
 */
static bool has_fixed_offset(int64_t *out)
{
	const Elf64_Phdr *segment = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long left = segment ? getauxval(AT_PHNUM) : 0;
	int64_t size;

	*out = (int64_t)((uintptr_t)&otel_thread_ctx_v1 - thread_pointer());
	for (; left > 0 && segment->p_type != PT_TLS; left--)
		segment++;
	if (!left)
		return false;
	size = (int64_t)(segment->p_memsz + segment->p_align);
#if defined(__x86_64__)
	return *out < 0 && *out >= -size;
#else
	return *out >= 0 && *out < size + 16;
#endif
}

/* AnyValue { 3: int64 } */
static void put_offset(struct payload *to)
{
	const uint8_t *end = to->at;
	int64_t offset;

	if (!has_fixed_offset(&offset))
		return;
	put_varint(to, (uint64_t)offset);
	put_varint(to, 3 << 3);
	close_pair(to, end, 2, "weft.thread_ctx.tp_offset");
}

/* ProcessContext { 1: Resource { 1: KeyValue }, 2: KeyValue }. */
static void put_context(struct payload *to)
{
	const uint8_t *end;

	put_offset(to);
	if (n_keys)
		put_key_map(to);
	put_pair(to, 2, "threadlocal.schema_version", OTC_SCHEMA_VERSION);
	end = to->at;
	put_pair(to, 1, "service.name", service);
	close_field(to, end, 1);
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

/*
 * Write the payload that the header does not point to, then make it the one.
 * A reader that copied the other meanwhile sees that published_ns changed.
 */
static int publish(struct header *header, bool is_named)
{
	uint8_t *low = (uint8_t *)header + PAYLOAD_OFFSET;
	uint8_t *high = low + PAYLOAD_BYTES;
	bool low_is_read = header->payload && header->payload < (uintptr_t)high;
	struct payload to = { low_is_read ? high : low, NULL };
	uint64_t before = header->published_ns, now;
	struct timespec t;

	if (clock_gettime(CLOCK_BOOTTIME, &t) != 0)
		return -errno;
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	to.at = to.start + PAYLOAD_BYTES;
	put_context(&to);

	__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	header->version = 2;
	header->payload = (uintptr_t)to.at;
	header->payload_size = (uint32_t)(to.start + PAYLOAD_BYTES - to.at);
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
	/* last: a reader that sees a time may read all the rest */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&header->published_ns, now > before ? now : before + 1,
			 __ATOMIC_SEQ_CST);

	/* also a notice to profilers that watch this call, so not optional
	 * where the mapping has a name already */
	if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)header,
		  (unsigned long)MAPPING_BYTES, "OTEL_CTX") != 0 &&
	    !is_named)
		return -errno;
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

/* Under the lock. */
static int start_publishing(void)
{
	bool is_named;
	void *map = map_context(&is_named);
	int rc;

	if (map == MAP_FAILED)
		return -errno;
	rc = madvise(map, MAPPING_BYTES, MADV_DONTFORK) != 0 ? -errno : 0;
	if (!rc)
		rc = publish((struct header *)map, is_named);
	if (rc)
		munmap(map, MAPPING_BYTES);
	else
		__atomic_store_n(&published, (struct header *)map,
				 __ATOMIC_RELAXED);
	return rc;
}

FUNCTION int otc_init(const char *service_name)
{
	int rc;

	if (!service_name || strlen(service_name) > OTC_NAME_MAX)
		return -EINVAL;
	if (otel_thread_ctx_v1)
		return -EBUSY;
	rc = lock_safely();
	if (rc)
		return rc;
	rc = -EBUSY;
	if (!published && !somebody_publishes()) {
		memcpy(service, service_name, strlen(service_name) + 1);
		rc = start_publishing();
	}
	leave_lock();
	return rc;
}

/* Under the lock. */
static int add_key(const char *name)
{
	int at = 0;

	while (at < n_keys && strcmp(keys[at], name) != 0)
		at++;
	if (at < n_keys)
		return at;
	if (n_keys == OTC_KEYS_MAX)
		return -ENOSPC;
	keys[at] = strdup(name);
	if (!keys[at])
		return -ENOMEM;
	n_keys++;
	/* It is named already, so this can only fail where the clock does. */
	if (published && publish(published, true) != 0) {
		free(keys[--n_keys]);
		return -EINVAL;
	}
	return at;
}

FUNCTION int otc_key(const char *name)
{
	int rc;

	if (!name || !*name || strlen(name) > OTC_KEY_MAX)
		return -EINVAL;
	rc = lock_safely();
	if (rc)
		return rc;
	rc = add_key(name);
	leave_lock();
	return rc;
}

/* ---- the thread context */

static record_t *in_use(void)
{
	return thread.swapped_in ? thread.swapped_in : &thread.own;
}

static void write_record(const uint8_t trace_id[16], const uint8_t span_id[8],
			 uint8_t flags)
{
	record_t *r = in_use();

	r->valid = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (int i = 0; i < 16; i++)
		r->trace_id[i] = trace_id[i];
	for (int i = 0; i < 8; i++)
		r->span_id[i] = span_id[i];
	r->trace_flags = flags;
	r->attrs_size = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = r;
}

FUNCTION void otc_clear(void)
{
	otel_thread_ctx_v1 = NULL;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	in_use()->valid = 0;
}

/* Readers take what attrs_size covers, so it is raised last. */
FUNCTION int otc_attr(int key, const void *value, size_t size)
{
	record_t *r = in_use();
	uint16_t at = r->attrs_size;

	if (!r->valid || !__atomic_load_n(&published, __ATOMIC_RELAXED))
		return -ENOENT;
	if (key < 0 || key >= __atomic_load_n(&n_keys, __ATOMIC_RELAXED) ||
	    size > OTC_VALUE_MAX || (size && !value))
		return -EINVAL;
	if (at + 2 + size > OTC_ATTRS_BYTES)
		return -ENOSPC;
	r->attrs[at++] = (uint8_t)key;
	r->attrs[at++] = (uint8_t)size;
	for (size_t i = 0; i < size; i++)
		r->attrs[at++] = ((const uint8_t *)value)[i];
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	r->attrs_size = at;
	return 0;
}

FUNCTION struct otc_record *otc_swap(struct otc_record *record)
{
	struct otc_record *before = thread.swapped_in;
	record_t *r;

	thread.swapped_in = record;
	r = in_use();
	otel_thread_ctx_v1 = r->valid ? r : NULL;
	return before;
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

int otc_key(const char *name)
{
	(void)name;
	return -ENOTSUP;
}

int otc_attr(int key, const void *value, size_t size)
{
	(void)key;
	(void)value;
	(void)size;
	return -ENOTSUP;
}

struct otc_record *otc_swap(struct otc_record *record)
{
	(void)record;
	return NULL;
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

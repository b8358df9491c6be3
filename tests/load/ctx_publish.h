/* SPDX-License-Identifier: MIT */
/*
 * A process context (OTEP 4719) for loads, put together by hand so that tests
 * can say what is in it, and IDs that say who wrote them:
 *
 *	trace ID  process (4 bytes), thread (4), number (8), each big-endian
 *	span ID   the number again
 *
 * So a sample with an ID that is another thread's, or torn, gives it away.
 */
#ifndef CTX_PUBLISH_H
#define CTX_PUBLISH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "burn.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA           0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* OTEP 4947; attrs hold entries {key, length, bytes}. */
struct ctx_record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, flags;
	uint16_t attrs_size;
	uint8_t attrs[612];
} __attribute__((aligned(8)));

struct ctx_header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_ns;
	const void *payload;
};

/* A payload that grows; its parts are shorter than 16 kB each. */
struct ctx_payload {
	uint8_t bytes[16384];
	size_t size;
};

static inline void ctx_put_head(struct ctx_payload *out, int field, size_t size)
{
	out->bytes[out->size++] = (uint8_t)(field << 3 | 2);
	if (size > 127)
		out->bytes[out->size++] = (uint8_t)(size | 0x80);
	out->bytes[out->size++] = (uint8_t)(size > 127 ? size >> 7 : size);
}

static inline void ctx_put(struct ctx_payload *out, int field, const void *data,
			   size_t size)
{
	ctx_put_head(out, field, size);
	memcpy(out->bytes + out->size, data, size);
	out->size += size;
}

/* KeyValue { 1: key, 2: AnyValue { field: value } } as the given field. */
static inline void ctx_put_pair(struct ctx_payload *out, int field,
				const char *key, int value_field,
				const void *value, size_t size)
{
	struct ctx_payload *any = calloc(2, sizeof(*any)), *pair = any + 1;

	ctx_put(any, value_field, value, size);
	ctx_put(pair, 1, key, strlen(key));
	ctx_put(pair, 2, any->bytes, any->size);
	ctx_put(out, field, pair->bytes, pair->size);
	free(any);
}

/* The payload of a service whose records have attributes of these keys. */
static inline void ctx_describe(struct ctx_payload *out, const char *service,
				const char *const *keys, size_t n_keys)
{
	static const char schema[] = "tlsdesc_v1_dev";
	struct ctx_payload *part = calloc(2, sizeof(*part)), *array = part + 1;

	out->size = 0;
	ctx_put_pair(part, 1, "service.name", 1, service, strlen(service));
	ctx_put_pair(part, 1, "deployment.environment.name", 1, "test", 4);
	ctx_put(out, 1, part->bytes, part->size);
	ctx_put_pair(out, 2, "threadlocal.schema_version", 1, schema,
		     sizeof(schema) - 1);
	for (size_t i = 0; i < n_keys; i++) {
		part->size = 0;
		ctx_put(part, 1, keys[i], strlen(keys[i]));
		ctx_put(array, 1, part->bytes, part->size);
	}
	if (n_keys)
		ctx_put_pair(out, 2, "threadlocal.attribute_key_map", 5,
			     array->bytes, array->size);
	free(part);
}

static inline void ctx_name(struct ctx_header *header)
{
	(void)prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, 4096, "OTEL_CTX");
}

static inline void ctx_stamp(struct ctx_header *header)
{
	__atomic_store_n(&header->published_ns, clock_ns(CLOCK_BOOTTIME),
			 __ATOMIC_SEQ_CST);
}

/* Publish, or with a header publish anew. Ends the program if it cannot. */
static inline struct ctx_header *ctx_publish(struct ctx_header *header,
					     const struct ctx_payload *payload)
{
	int fd;

	if (!header) {
		fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, 4096))
			exit(1);
		header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			      fd, 0);
		close(fd);
		if (header == MAP_FAILED ||
		    madvise(header, 4096, MADV_DONTFORK))
			exit(1);
	}
	__atomic_store_n(&header->published_ns, 0, __ATOMIC_SEQ_CST);
	memcpy(header->signature, "OTEL_CTX", 8);
	header->version = 2;
	header->payload = payload->bytes;
	header->payload_size = (uint32_t)payload->size;
	ctx_stamp(header);
	ctx_name(header);
	return header;
}

static inline void ctx_put_number(uint8_t *out, uint64_t number, int bytes)
{
	for (int i = bytes; i--; number >>= 8)
		out[i] = (uint8_t)number;
}

/* Write IDs, with a while between the halves, so that who reads them in the
 * middle of it sees it. */
static inline void ctx_sign(volatile struct ctx_record *record, uint32_t pid,
			    uint32_t tid, uint64_t number)
{
	uint8_t id[24];

	ctx_put_number(id, pid, 4);
	ctx_put_number(id + 4, tid, 4);
	ctx_put_number(id + 8, number, 8);
	ctx_put_number(id + 16, number, 8);
	for (int i = 0; i < 16; i++)
		record->trace_id[i] = id[i];
	for (volatile int i = 0; i < 100; i++)
		;
	for (int i = 0; i < 8; i++)
		record->span_id[i] = id[16 + i];
}

#endif

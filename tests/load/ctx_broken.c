/* SPDX-License-Identifier: MIT */
/*
 * A process whose trace context is broken in one way, named by its argument;
 * "good" is in none. Prints a line when it is there, then waits for the end of
 * its input.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((visibility("default"), used)) __thread void *otel_thread_ctx_v1;

struct record {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid, flags;
	uint16_t attrs_size;
};

struct header {
	char signature[8];
	uint32_t version, payload_size;
	uint64_t published_ns;
	const void *payload;
};

/* { schema_version: tlsdesc_v1_dev } */
static const char payload[] = "\x12\x2e\x0a\x1athreadlocal.schema_version"
			      "\x12\x10\x0a\x0etlsdesc_v1_dev";
static const char other_schema[] = "\x12\x2e\x0a\x1athreadlocal.schema_version"
				   "\x12\x10\x0a\x0enodejs_v1\x1b[31m";

static void publish(const char *mode)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
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
	header->published_ns = 1;
	if (!strcmp(mode, "garbage"))
		memset(header, 0x55, 4096);
	else if (!strcmp(mode, "version"))
		header->version = 1;
	else if (!strcmp(mode, "far"))
		header->payload = (const void *)8;
	else if (!strcmp(mode, "changing"))
		header->published_ns = 0;
	else if (!strcmp(mode, "schema"))
		header->payload = other_schema;
}

static void attach(const char *mode)
{
	static struct record record __attribute__((aligned(8)));
	char *pointer = (char *)&record;

	memset(record.trace_id, 0xab, sizeof(record.trace_id));
	memset(record.span_id, 0xcd, sizeof(record.span_id));
	record.valid = 1;
	if (!strcmp(mode, "idle"))
		return;
	if (!strcmp(mode, "half"))
		memset(record.span_id, 0, sizeof(record.span_id));
	else if (!strcmp(mode, "torn"))
		record.valid = 0;
	else if (!strcmp(mode, "odd"))
		pointer++;
	else if (!strcmp(mode, "wild"))
		pointer = (char *)16;
	otel_thread_ctx_v1 = pointer;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "good";
	char byte;

	if (strcmp(mode, "none"))
		publish(mode);
	attach(mode);
	printf("ready\n");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * A process whose trace context is broken in one way, named by its argument;
 * "good" is in none. Prints a line when it is there, then waits for the end of
 * its input.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctx_publish.h"

__attribute__((visibility("default"), used)) __thread void *otel_thread_ctx_v1;

static void publish(const char *mode)
{
	static const char other[] = "nodejs_v1\x1b[31m";
	static struct ctx_payload payload;
	struct ctx_header *header;

	if (strcmp(mode, "schema"))
		ctx_describe(&payload, "broken", NULL, 0);
	else
		ctx_put_pair(&payload, 2, "threadlocal.schema_version", 1,
			     other, sizeof(other) - 1);
	header = ctx_publish(NULL, &payload);
	if (!strcmp(mode, "garbage"))
		memset(header, 0x55, 4096);
	else if (!strcmp(mode, "version"))
		header->version = 1;
	else if (!strcmp(mode, "far"))
		header->payload = (const void *)8;
	else if (!strcmp(mode, "changing"))
		header->published_ns = 0;
}

static void attach(const char *mode)
{
	static struct ctx_record record;
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

/* SPDX-License-Identifier: MIT */
/*
 * The process that receives spans while we record, over OTLP/HTTP
 * (https://opentelemetry.io/docs/specs/otlp/#otlphttp): POST /v1/traces, JSON
 * or protobuf, gzipped or not. What comes is from anybody who reaches the
 * port, so the process has no rights, a limit of memory, and hands on nothing
 * but rows.
 *
 * Answers: 200 when the spans are handed on (some may be refused: partial
 * success); 400 what cannot be read, with the place; 404, 405, 415; 413 over
 * 64 MiB, packed or unpacked, or over 256 MiB as rows; 429 with Retry-After
 * while we cannot keep up.
 */
#ifndef WEFT_OTLP_SERVER_H
#define WEFT_OTLP_SERVER_H

#include <stdint.h>

#include "store/weft.h"

enum {
	OTLP_BODY_MAX = 64 << 20, /* bytes of a request, packed or unpacked */
	OTLP_CONNECTIONS_MAX = 64,
	OTLP_IDLE_SECONDS = 15, /* a connection that says nothing is closed */
	/* What one message may hold. A body's spans are far fewer; their text
	 * can be more, as a resource's attributes stand in each of its spans.
	 */
	OTLP_SPANS_MAX = 4 << 20,
	OTLP_TEXT_MAX = 256 << 20
};

struct otlp_server {
	int fd; /* messages come from it; -1: none */
	int pid;
};

/* Is it ADDRESS:PORT in numbers? Names are not looked up. */
bool otlp_server_is_address(const char *address);

/* Begins each message; n struct store_span and text_size bytes follow. */
struct otlp_message {
	uint64_t n, text_size;
	uint64_t rejected; /* left out for their IDs */
	/* Connections closed for others since the last message: all, or
	 * their memory, were taken. */
	uint64_t times_full;
};

/*
 * Listen at HOST:PORT (numbers; [HOST]:PORT for IPv6) and fork the process.
 * Call while single-threaded. It ends when fd is closed. Returns 0, or a
 * negative errno with err filled: -EINVAL an address that is none,
 * -EADDRINUSE, ...
 */
int otlp_server_fork(struct otlp_server *server, const char *address,
		     struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Spans as OpenTelemetry programs send them (OTLP, traces v1): JSON or
 * protobuf, from a file or over the network, so from anybody. Decoded into
 * plain rows. https://opentelemetry.io/docs/specs/otlp/
 *
 * A span without a usable trace ID or span ID is left out and counted; what
 * is not OTLP, as a list that is a number, fails as a whole.
 */
#ifndef WEFT_OTLP_H
#define WEFT_OTLP_H

#include <jansson.h>

#include "store/store.h"

enum {
	OTLP_NAME_MAX = 1024, /* bytes of a name or service; cut beyond */
	OTLP_ATTRIBUTES_MAX = 65536, /* of JSON; beyond: one that says so */
	OTLP_DEPTH_MAX = 32          /* of values in values; null beyond */
};

/* Zero is an empty list. */
struct otlp_spans {
	struct store_span *spans; /* owned; texts are offsets into text */
	size_t n, room;
	char *text; /* owned */
	size_t text_size, text_room;
	size_t text_max; /* of text_size; 0: 4 GiB */
	uint64_t rejected;
	size_t n_before; /* spans before the first of them */
	char why[96];    /* the first was; "" if none */
	char where[512]; /* it was: "line 3, span 2"; "" if none */
	uint64_t others; /* batches of other signals: metrics, logs */
};

void otlp_release(struct otlp_spans *spans);

/*
 * Add the spans of one message: a TracesData (or an export request, which is
 * the same), in JSON also an array of them. place is put before what err says
 * ("line 3"); "" is fine. Returns 0, -EPROTO (not OTLP; err says where),
 * -E2BIG or -ENOMEM; then spans are as they were.
 */
int otlp_read_json(struct otlp_spans *spans, const char *text, size_t size,
		   const char *place, struct weft_err *err) MUST_CHECK;
int otlp_read_proto(struct otlp_spans *spans, const uint8_t *bytes, size_t size,
		    const char *place, struct weft_err *err) MUST_CHECK;

/* ---- What the two decoders share. */

/* One span, as its sender puts it. Strings are borrowed, NULL: absent. */
struct otlp_raw {
	const uint8_t *trace_id, *span_id, *parent_id;
	size_t trace_id_size, span_id_size, parent_id_size;
	const char *name;
	uint32_t kind, status;
	uint64_t start_ns, end_ns;
	json_t *attributes; /* borrowed; a JSON object */
};

/* What of a resource goes with each of its spans. */
struct otlp_resource {
	json_t *kept; /* owned; a JSON object */
	const char *service;
};

/* Take a resource's attributes (a JSON object, consumed; NULL: out of
 * memory). Returns 0 or -ENOMEM. */
int otlp_resource_take(struct otlp_resource *resource, json_t *attributes);
void otlp_resource_release(struct otlp_resource *resource);

/* Returns 0 (also where it was rejected and counted), -E2BIG or -ENOMEM. */
int otlp_add(struct otlp_spans *spans, const struct otlp_resource *resource,
	     const struct otlp_raw *raw);

/* A JSON string of bytes that may be no UTF-8: what is not reads '?'. NULL:
 * out of memory. */
json_t *otlp_string(const char *text, size_t size);

/* Where a list was, and back to it. */
struct otlp_mark {
	size_t n, text_size;
	uint64_t rejected, others;
	bool has_why;
};
struct otlp_mark otlp_mark(const struct otlp_spans *spans);
void otlp_back_to(struct otlp_spans *spans, struct otlp_mark mark);

/* A message is read: if its is the first span that was left out, say where
 * that is. */
void otlp_say_where(struct otlp_spans *spans, struct otlp_mark before,
		    const char *place);

#endif

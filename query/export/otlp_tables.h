/* SPDX-License-Identifier: MIT */
/*
 * The dictionary of OTLP profiles: tables that all profiles of a message refer
 * to by index, each thing once. Element 0 of each is the zero value, which
 * means "not set" (opentelemetry/proto/profiles/v1development, v1.11.0).
 *
 * Entries go to a temporary file as they are made, for a message says its
 * length before its content. Memory: 4 bytes for each frame and stack, and the
 * distinct strings, attributes and links.
 */
#ifndef WEFT_OTLP_TABLES_H
#define WEFT_OTLP_TABLES_H

#include "query/export/export.h"

struct otlp_tables;

/* x is borrowed. Returns 0 with *out owned by the caller; as all below, else
 * a negative errno with err filled. */
int otlp_tables_open(struct otlp_tables **out, const struct export *x,
		     struct weft_err *err) MUST_CHECK;
void otlp_tables_close(struct otlp_tables *t);

/* Each gives the index of a thing, which is added if it is new. Text is made
 * safe (weft_sanitize). */
int otlp_string(struct otlp_tables *t, const char *text, int32_t *out,
		struct weft_err *err) MUST_CHECK;
int otlp_attribute_text(struct otlp_tables *t, const char *key,
			const char *text, int32_t *out,
			struct weft_err *err) MUST_CHECK;
int otlp_attribute_int(struct otlp_tables *t, const char *key, int64_t value,
		       int32_t *out, struct weft_err *err) MUST_CHECK;
int otlp_stack(struct otlp_tables *t, const struct profile_sample *s,
	       int32_t *out, struct weft_err *err) MUST_CHECK;

/* 0, no link, unless both IDs are there. */
int otlp_link(struct otlp_tables *t, const unsigned char *trace,
	      const unsigned char *span, int32_t *out,
	      struct weft_err *err) MUST_CHECK;

/* A new attribute of several texts. */
int otlp_attribute_list(struct otlp_tables *t, const char *key,
			char *const *texts, size_t n, int32_t *out,
			struct weft_err *err) MUST_CHECK;

/* Write the dictionary as the field of the request that holds it. */
int otlp_tables_write(struct otlp_tables *t, FILE *to,
		      struct weft_err *err) MUST_CHECK;

#endif

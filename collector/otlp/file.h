/* SPDX-License-Identifier: MIT */
/* Spans from a file, as programs and the OpenTelemetry Collector write them. */
#ifndef WEFT_OTLP_FILE_H
#define WEFT_OTLP_FILE_H

#include "collector/otlp/otlp.h"

enum otlp_form {
	OTLP_AUTO, /* by the first bytes */
	OTLP_JSON, /* one document, or one on each line */
	OTLP_PROTO /* one message, or several, each after its length in 4 bytes
		      (the Collector's file exporter) */
};

/*
 * Add what a file holds, gzipped or not; path "-" is standard input. *is_cut:
 * the last line or message is incomplete, as it is where its writer still
 * writes, and was left out; or the gzip around it lacks its end. Returns as
 * otlp_read_json(), and what reading the file returned; then nothing was added.
 */
int otlp_read_file(struct otlp_spans *spans, const char *path,
		   enum otlp_form form, bool *is_cut,
		   struct weft_err *err) MUST_CHECK;

#endif

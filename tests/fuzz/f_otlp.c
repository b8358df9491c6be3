/* SPDX-License-Identifier: MIT */
#include "collector/otlp/otlp.h"
#include "tests/fuzz/fuzz.h"

/* The first byte says which form the rest is in. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct otlp_spans spans = { 0 };
	struct weft_err err;
	int rc;

	if (!size)
		return 0;
	if (*data & 1)
		rc = otlp_read_json(&spans, (const char *)data + 1, size - 1,
				    "", &err);
	else
		rc = otlp_read_proto(&spans, data + 1, size - 1, "", &err);
	if (rc && spans.n)
		abort(); /* nothing half-read */
	for (size_t i = 0; i < spans.n; i++) {
		if (spans.spans[i].name >= spans.text_size + !spans.text_size ||
		    spans.spans[i].attributes >= spans.text_size)
			abort();
	}
	otlp_release(&spans);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "collector/label_names.h"

/* By hand-written code mostly; Polar Signals; Datadog has spaces; Grafana's
 * profile_id is a span's. */
static const char in_use[] = "trace_id,otel.traceid,trace id,traceid:"
			     "span_id,span id,otel.spanid,profile_id";

/* Take names up to the end, or one of ends. Returns where that is, or NULL. */
static const char *take(const char *text, const char *ends,
			__u64 (*out)[WEFT_LABEL_BYTES / 8])
{
	for (int i = 0; i < WEFT_LABEL_NAMES; i++) {
		size_t size = strcspn(text, ",:");

		if (!size || size > WEFT_LABEL_BYTES)
			return NULL;
		memcpy(out[i], text, size);
		text += size;
		if (!*text || strchr(ends, *text))
			return text;
		if (*text++ != ',')
			return NULL;
	}
	return NULL;
}

const char *label_names_parse(const char *text, struct weft_label_names *out)
{
	*out = (struct weft_label_names){ 0 };
	if (!strcmp(text, "off"))
		return NULL;
	text = take(text, ":", out->trace);
	if (text && *text == ':')
		text = take(text + 1, "", out->span);
	return text ? NULL
		    : "--go-labels takes up to 8 names of 16 bytes for each ID, as in trace_id,traceid:span_id, or off";
}

void label_names_default(struct weft_label_names *out)
{
	(void)label_names_parse(in_use, out);
}

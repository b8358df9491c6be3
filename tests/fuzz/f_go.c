/* SPDX-License-Identifier: MIT */
/* What a program of Go says of itself, and what its labels hold. */
#include <string.h>

#include "collector/context/go.h"
#include "tests/fuzz/fuzz.h"

#include "bpf/trace_id.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t text[ID_TEXT_BYTES] = { 0 }, out[ID_TRACE_BYTES];
	char version[CONTEXT_GO_VERSION_MAX];
	struct weft_go_layout layout;
	uint64_t pointer;

	if (!context_go_parse(data, size, version, &pointer))
		(void)!context_go_layout(version, &layout);
	if (size <= sizeof(text)) {
		memcpy(text, data, size);
		(void)id_parse_trace(text, size, out);
		(void)id_parse_span(text, size, out);
	}
	return 0;
}

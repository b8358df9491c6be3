/* SPDX-License-Identifier: MIT */
#include "collector/context/process.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_context context;
	struct context_header header;

	if (size >= CONTEXT_HEADER_SIZE)
		(void)context_parse_header(data, &header);
	if (size <= CONTEXT_PAYLOAD_MAX)
		context_decode(data, size, &context);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "collector/inspect/reply.h"
#include "tests/fuzz/fuzz.h"

/* The first byte says to which operation it answers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_request request = { .n_offsets = 2 };
	struct inspect_answer answer;
	void *bytes;

	if (!size)
		return 0;
	request.op = data[0] % WIRE_OP_END;
	bytes = malloc(size);
	if (!bytes)
		return 0;
	memcpy(bytes, data + 1, size - 1);
	if (!inspect_answer_decode(&answer, bytes, size - 1, &request))
		inspect_answer_release(&answer);
	free(bytes);
	return 0;
}

/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "collector/demangle.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char out[DEMANGLE_OUTPUT_MAX], *name = malloc(size + 1);
	size_t length;

	if (!name)
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	length = demangle(name, out);
	if (length && length != strlen(out))
		abort();
	free(name);
	return 0;
}

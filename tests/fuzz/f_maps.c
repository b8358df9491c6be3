/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "collector/inspect_proc.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);
	struct procfs_mapping mapping;

	if (!line)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	if (procfs_maps_parse(line, &mapping) &&
	    (mapping.start >= mapping.end ||
	     mapping.path_size != strlen(mapping.path)))
		abort();
	free(line);
	return 0;
}

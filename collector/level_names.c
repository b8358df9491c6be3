/* SPDX-License-Identifier: MIT */
#include "collector/level_names.h"

size_t level_names(struct frame_name out[INSPECT_LEVELS_MAX],
		   const struct frame_name *symbol,
		   const struct inspect_level *levels, size_t n)
{
	uint32_t depth = 0;

	for (size_t i = 0; i < n && depth < INSPECT_LEVELS_MAX; i++) {
		struct frame_name *name = &out[depth];

		*name = *symbol;
		if (i + 1 < n || !symbol->name) {
			name->name = levels[i].name;
			name->linkage_name = levels[i].linkage_name;
			name->source = "dwarf";
		}
		if (!name->name)
			continue;
		name->inline_depth = depth++;
		name->file = levels[i].file;
		name->line = levels[i].line;
		name->function_line = levels[i].function_line;
	}
	return depth;
}

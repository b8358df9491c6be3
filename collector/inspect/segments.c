/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "collector/inspect/places.h"

enum inspect_status inspect_op_segments(const struct request *request,
					struct reply *reply)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct elf_file file;
	size_t n;
	int rc = places_find(&file, request, NULL);

	if (rc)
		return inspect_to_status(rc);
	n = elf_file_segments(&file, segments);
	for (size_t i = 0; i < n && !rc; i++) {
		struct inspect_segment segment = {
			.offset = segments[i].offset,
			.size = segments[i].file_size,
			.address = segments[i].vaddr,
		};

		if ((segments[i].flags & PF_X) && segment.size)
			rc = reply_add(reply, &segment, sizeof(segment));
	}
	elf_file_close(&file);
	if (!rc && reply->n > INSPECT_SEGMENTS_MAX)
		return INSPECT_REFUSED;
	return inspect_to_status(rc);
}

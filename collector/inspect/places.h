/* SPDX-License-Identifier: MIT */
/* Files that a request names by places, within an inspector. */
#ifndef WEFT_INSPECT_PLACES_H
#define WEFT_INSPECT_PLACES_H

#include "collector/elf/debug.h"
#include "collector/inspect/ops.h"

/*
 * Open the file that a request is about: its first place, if it has any, else
 * as elf_file_find() does; which returns what. Close with elf_file_close().
 * If something lies at the place and cannot be used, the place's entry in
 * others says so (INSPECT_PLACES_MAX of them; NULL: it does not matter).
 */
int places_find(struct elf_file *file, const struct request *request,
		struct wire_other *others) MUST_CHECK;

/* Open place i, a debug file with the request's build ID. Close with
 * elf_debug_close(). */
int places_open_debug(struct elf_debug *debug, const struct request *request,
		      uint32_t i, struct wire_other *others) MUST_CHECK;

/*
 * Make a debug file that has to do translate offsets of the program: by its
 * own segments, or by those that the request tells, until the next request.
 * Returns whether it can; a file that is no debug file always can.
 */
bool places_set_offsets(struct elf_file *file, const struct request *request);

#endif

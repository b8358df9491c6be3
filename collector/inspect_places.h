/* SPDX-License-Identifier: MIT */
/* Files that a request names by places, within an inspector. */
#ifndef WEFT_INSPECT_PLACES_H
#define WEFT_INSPECT_PLACES_H

#include "collector/elf_debug.h"
#include "collector/inspect_ops.h"

/*
 * Open the file that a request is about: its first place, if it has any, else
 * as elf_file_find() does; which returns what. Close with elf_file_close().
 */
int places_find(struct elf_file *file,
		const struct request *request) MUST_CHECK;

/* Open place i, a debug file with the request's build ID. Close with
 * elf_debug_close(). */
int places_open_debug(struct elf_debug *debug, const struct request *request,
		      uint32_t i) MUST_CHECK;

/*
 * Whether the segments of a debug file are still those of the program, so
 * that they tell which address a file offset has: elfutils leaves them alone;
 * binutils and LLVM have them say that the file holds nothing of the code.
 */
bool places_has_offsets(const struct elf_file *file);

#endif

/* SPDX-License-Identifier: MIT */
/* What the operations that give names share, within an inspector. */
#ifndef WEFT_INSPECT_NAMES_H
#define WEFT_INSPECT_NAMES_H

#include "collector/elf_symbols.h"
#include "collector/inspect_ops.h"

/* The symbols of a file, kept for the next time. Borrowed until the next
 * call. Returns as symbols_load(). */
int inspect_load_symbols(const struct elf_file *file,
			 const struct symbols **out) MUST_CHECK;

/* Put a linker's name, and what it stands for, into a reply. Returns 0,
 * -E2BIG or -ENOMEM. */
int inspect_add_name(struct reply *reply, const char *name, size_t size,
		     struct wire_name *wire) MUST_CHECK;

#endif

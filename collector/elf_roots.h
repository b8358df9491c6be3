/* SPDX-License-Identifier: MIT */
/* Where in an ELF file a stack may end. */
#ifndef WEFT_ELF_ROOTS_H
#define WEFT_ELF_ROOTS_H

#include "collector/elf_symbols.h"

/*
 * Find the ranges of code that calls main or a thread's function, as file
 * offsets. Returns how many, or a negative errno.
 */
int elf_find_roots(const struct elf_file *file, const struct symbols *symbols,
		   struct inspect_range out[INSPECT_ROOTS_MAX]);

#endif

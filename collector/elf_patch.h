/* SPDX-License-Identifier: MIT */
/* Code that no unwind entry describes, but of which it is known how it calls:
 * where a program begins, and .init and .fini. */
#ifndef WEFT_ELF_PATCH_H
#define WEFT_ELF_PATCH_H

#include "bpf/wire.h"
#include "collector/elf_file.h"

enum {
	ELF_PATCHES_MAX = 8
};

struct elf_patch {
	uint64_t start, end; /* file offsets */
	struct weft_rule rule;
};

/* Find them, ascending and apart. Where unwind entries describe the same
 * code, these win. Returns how many. */
size_t elf_find_patches(const struct elf_file *file,
			struct elf_patch out[ELF_PATCHES_MAX]);

#endif

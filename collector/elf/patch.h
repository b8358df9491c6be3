/* SPDX-License-Identifier: MIT */
/* Code of which more is known than unwind entries say: where a program
 * begins, .init and .fini, and what linkers and the compiler add. */
#ifndef WEFT_ELF_PATCH_H
#define WEFT_ELF_PATCH_H

#include "bpf/wire.h"
#include "collector/elf/file.h"

enum {
	ELF_PATCHES_MAX = 32
};

struct elf_patch {
	uint64_t start, end; /* file offsets */
	struct weft_rule rule;
};

/*
 * Find them, ascending and apart. Where no entry describes the start, a
 * patch is good from there to the next that one does. Where one does: only
 * WEFT_RULE_END, for all of it. has_entries: there are unwind entries at all.
 * Returns how many.
 */
size_t elf_find_patches(const struct elf_file *file, bool has_entries,
			struct elf_patch out[ELF_PATCHES_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The unwind table of an ELF file, from .eh_frame (or .debug_frame where that
 * is all there is), in the blocks that the kernel program reads: the layout
 * stands in bpf/wire.h.
 */
#ifndef WEFT_ELF_TABLE_H
#define WEFT_ELF_TABLE_H

#include "collector/elf/file.h"

struct elf_table {
	uint32_t first_page, n_pages; /* of the file's code; n_pages 0: none */
	uint32_t rules_block;
	uint32_t n_blocks;
	uint32_t *words; /* owned; n_blocks * WEFT_TABLE_BLOCK_WORDS */
	/* What was found: for tests and messages. */
	uint32_t n_entries, n_rows, n_rules;
	uint32_t n_dropped;  /* entries that were bad, or of no known form */
	uint32_t n_bad_rows; /* rows whose rule is WEFT_RULE_BAD */
};

/*
 * Build the table of a file. Returns 0 (n_pages 0: it has no unwind entries),
 * -EFBIG (over a limit, of which INSPECT_TABLE_BLOCKS_MAX is one), -EPROTO
 * (nothing in it can be trusted) or -ENOMEM. Release with elf_table_release(),
 * also after a failure.
 */
int elf_table_build(struct elf_table *out,
		    const struct elf_file *file) MUST_CHECK;
void elf_table_release(struct elf_table *t);

/* The rule in force at a file offset: what the kernel program would find. */
struct weft_rule elf_table_find(const struct elf_table *t, uint64_t offset);

#endif

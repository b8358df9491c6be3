/* SPDX-License-Identifier: MIT */
/* The ranges that an ELF file's .eh_frame describes: where each function
 * begins and ends, also in a stripped file. */
#ifndef WEFT_ELF_FDE_H
#define WEFT_ELF_FDE_H

#include "collector/elf_file.h"

struct fde {
	uint64_t start, end; /* addresses in the file's own space */
	/* Some of its instructions look as if they made the return address
	 * undefined: the first function of a stack. To be confirmed. */
	bool may_be_first;
};

/*
 * Read all, ascending by start. Returns 0 (also where there is no .eh_frame),
 * -EFBIG, -EPROTO or -ENOMEM. *out is the caller's to free().
 */
int elf_read_fdes(const struct elf_file *file, struct fde **out,
		  size_t *n) MUST_CHECK;

#endif

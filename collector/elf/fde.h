/* SPDX-License-Identifier: MIT */
/*
 * The unwind entries of an ELF file: which code is described, and by which
 * program. From .eh_frame, or .debug_frame where that is all there is; also
 * in a stripped file.
 */
#ifndef WEFT_ELF_FDE_H
#define WEFT_ELF_FDE_H

#include "collector/elf/cursor.h"
#include "collector/elf/file.h"

/* What entries have in common. */
struct cie {
	uint64_t offset; /* in the section; entries name it by that */
	uint64_t code_align;
	int64_t data_align;
	uint32_t program, program_size; /* bytes of the section */
	uint8_t encoding;               /* of addresses: DW_EH_PE_... */
	bool is_sized;                  /* entries have augmentation data */
	bool is_signal;                 /* its frames were interrupted */
	bool is_known;                  /* false: its entries are dropped */
};

/* A range of code with a program of its own. */
struct fde {
	uint64_t start;  /* address in the file's own space */
	uint64_t offset; /* the same, as an offset in the file */
	uint32_t size;
	uint32_t program, program_size;
	uint32_t cie; /* index */
};

struct fdes {
	uint8_t *section; /* owned; section_size bytes */
	size_t section_size;
	uint64_t address; /* of the section */
	struct cie *cies; /* owned; ascending by offset */
	size_t n_cies, cies_room;
	struct fde *all; /* owned; in the section's order */
	size_t n, room;
	uint32_t n_dropped; /* not readable, or not of code that is loaded */
};

/*
 * Read all. Returns 0 (also where there are none), -EFBIG, -EPROTO or
 * -ENOMEM. Release with fdes_release(), also after a failure.
 */
int fdes_read(struct fdes *out, const struct elf_file *file) MUST_CHECK;
void fdes_release(struct fdes *fdes);

/* Take an encoded address; c reads the section. */
uint64_t fdes_take_address(const struct fdes *fdes, uint8_t encoding,
			   struct cursor *c);

#endif

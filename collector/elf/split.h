/* SPDX-License-Identifier: MIT */
/*
 * A unit that -gsplit-dwarf moved out of a program into a package.
 *
 * libdw 0.188 reads no packages, and joins a unit to its skeleton only where
 * it opens the unit's file itself, by the name in the program. So the unit is
 * read as a file of its own, which gets what it needs of the program: its
 * part of .debug_addr, and of .debug_ranges before DWARF 5. A unit alone has
 * base address 0, so its addresses are made relative to its skeleton's.
 */
#ifndef WEFT_ELF_SPLIT_H
#define WEFT_ELF_SPLIT_H

#include <elfutils/libdw.h>

#include "collector/elf/image.h"
#include "collector/elf/package.h"

/* What a program says of a unit that is elsewhere. */
struct elf_skeleton {
	uint64_t id;
	uint64_t base;                   /* address, that of its code */
	uint64_t addr_base, ranges_base; /* in the sections; UINT64_MAX: none */
};

/* Read the unit DIE of a skeleton. */
void elf_skeleton_read(struct elf_skeleton *out, Dwarf_Die *die);

struct elf_split {
	struct elf_image image;
	Dwarf *dwarf;  /* owned */
	Dwarf_Die die; /* of the unit; addresses are relative to the base */
};

/*
 * Find a skeleton's unit in the package, and open it. program has the
 * program's sections; of those that skeleton says where they begin, the
 * skeleton's end at addr_end and ranges_end, or with the section. Takes at
 * most max bytes. Returns as elf_package_read(), and -EPROTO. Close with
 * elf_split_close(), which takes NULL.
 */
int elf_split_open(struct elf_split **out, const struct elf_image *program,
		   const struct elf_package *package,
		   const struct elf_skeleton *skeleton, uint64_t addr_end,
		   uint64_t ranges_end, uint64_t max) MUST_CHECK;
void elf_split_close(struct elf_split *split);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Functions, inlined ones too, and lines by address, from the DWARF of one
 * ELF file: versions 2 to 5, as libdw 0.188 reads them. Compressed sections
 * and what dwz moved to another file are read. What -gsplit-dwarf moved
 * elsewhere is read from a package (.dwp) where there is one, and from .dwo
 * files where the caller allows it.
 */
#ifndef WEFT_ELF_DWARF_H
#define WEFT_ELF_DWARF_H

#include "collector/elf/file.h"
#include "collector/elf/package.h"

/* Beyond these a file is as if it had no DWARF. */
#define ELF_DWARF_BYTES_MAX (512ULL << 20) /* of what is read of sections */
enum {
	ELF_DWARF_UNITS_MAX = 1 << 20,
	ELF_DWARF_RANGES_MAX = 4 << 20, /* of units and functions touched */
	ELF_DWARF_LEVELS_MAX = 32,      /* deeper inlining is not told */
};

struct elf_dwarf; /* independent of the files once open */

/*
 * Read the DWARF of a file; alt is the file that its .gnu_debugaltlink names,
 * NULL where it has none. Both are only borrowed for the call. With
 * follow_split, libdw opens the .dwo files that a unit names by an absolute
 * path: only for files whose owner we trust, for it opens what it is told.
 * Without, such units have lines but no functions.
 *
 * Returns 0, -ENOENT (no DWARF), -EFBIG (beyond a limit), -EPROTO, -ENOMEM,
 * or another negative errno. Close with elf_dwarf_close(), which takes NULL.
 */
int elf_dwarf_open(struct elf_dwarf **out, const struct elf_file *file,
		   const struct elf_file *alt, bool follow_split) MUST_CHECK;
void elf_dwarf_close(struct elf_dwarf *dwarf);

/* Whether -gsplit-dwarf moved something elsewhere. */
bool elf_dwarf_is_split(const struct elf_dwarf *dwarf);

/* Read functions of split units from this package, before anything is asked.
 * Consumes it. */
void elf_dwarf_set_package(struct elf_dwarf *dwarf,
			   struct elf_package *package);

/* Memory that it takes, about, for the caller's ceiling. Grows with use. */
size_t elf_dwarf_bytes(const struct elf_dwarf *dwarf);

/* A function at an address, or one that was inlined there. */
struct elf_dwarf_level {
	const char *linkage_name; /* borrowed until closed; NULL: none */
	const char *name;         /* likewise */
	const char *file;         /* likewise; NULL: not known */
	const char *dir;          /* likewise; where file is, if relative */
	uint32_t line;            /* in file, of the address; 0: not known */
	uint32_t function_line;   /* of its declaration, in file;
				     0: not known */
	uint64_t start;           /* outermost level: address; else 0 */
};

/*
 * What is at an address of the file, innermost first. Returns how many
 * levels; 0 if nothing is known. Code with lines but no function, as of
 * assembly, is one level without a name.
 */
size_t elf_dwarf_find(struct elf_dwarf *dwarf, uint64_t vaddr,
		      struct elf_dwarf_level out[ELF_DWARF_LEVELS_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A package of split DWARF (.dwp): what -gsplit-dwarf moved out of one
 * program, all of its units in one file, found by the ID that a unit's
 * skeleton in the program has. The formats: DWARF 5, section 7.3.5, and its
 * forerunner for DWARF 4, https://gcc.gnu.org/wiki/DebugFissionDWP.
 */
#ifndef WEFT_ELF_PACKAGE_H
#define WEFT_ELF_PACKAGE_H

#include "collector/elf/file.h"
#include "collector/elf/image.h"

/* Beyond these a package is as if it were not there. */
enum {
	ELF_PACKAGE_INDEX_MAX = 64 << 20,
	ELF_PACKAGE_STRINGS_MAX = 256 << 20,
};

struct elf_package; /* holds a descriptor of the file, and its strings */

/*
 * Read a package's index and strings. The file is borrowed for the call.
 * Returns 0, -ENOENT (no package), -EFBIG, -EPROTO, -ENOTSUP (compressed),
 * -ENOMEM, or another negative errno. Close with elf_package_close(), which
 * takes NULL.
 */
int elf_package_open(struct elf_package **out,
		     const struct elf_file *file) MUST_CHECK;
void elf_package_close(struct elf_package *package);

/* Memory that it takes. */
size_t elf_package_bytes(const struct elf_package *package);

/* The sections of one unit, as a .dwo file of its own would have them. */
struct elf_package_unit {
	struct elf_bytes part[ELF_IMAGE_PARTS]; /* owned */
};

/*
 * Copy the unit with this ID: at most max bytes. Of the package's strings, it
 * has those that it names by DW_FORM_strx and its like. Returns 0, -ENOENT
 * (it is not there), -EFBIG, -EPROTO, -ENOMEM, or another negative errno.
 * Release with elf_package_unit_release(), also after a failure.
 */
int elf_package_read(const struct elf_package *package, uint64_t id,
		     uint64_t max, struct elf_package_unit *out) MUST_CHECK;
void elf_package_unit_release(struct elf_package_unit *unit);

#endif

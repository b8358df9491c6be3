/* SPDX-License-Identifier: MIT */
/*
 * Where else the symbols of a mapped file may be: in .gnu_debugdata, within
 * the file; or in a debug file, which lies in some root under its build ID or
 * under the name in .gnu_debuglink. A debug file proves itself by the build
 * ID, else by the link's CRC.
 *
 * Its sections have the addresses of the mapped file, but what its segments
 * say of offsets means nothing: most of their bytes were left out.
 */
#ifndef WEFT_ELF_DEBUG_H
#define WEFT_ELF_DEBUG_H

#include "collector/elf/file.h"

/* Beyond these a source is as if it were not there. A request has 2 s and
 * 1 GiB for everything. */
enum {
	ELF_DEBUG_PACKED_MAX = 8 << 20,    /* .gnu_debugdata, as it is */
	ELF_DEBUG_UNPACKED_MAX = 32 << 20, /* and unpacked */
	ELF_DEBUG_UNPACK_MEMORY = 72 << 20,
	ELF_DEBUG_CRC_MAX = 128 << 20 /* a file that only its CRC proves */
};

struct elf_debug {
	struct elf_file file;
	void *image; /* owned; what file reads, if it is unpacked */
	char *path;  /* owned; in its root; NULL if it is unpacked */
};

/* The index of the section with the names of sections, for elf_strptr().
 * Returns 0, or -ENOENT: there is none that is safe to read. */
int elf_debug_section_names(const struct elf_file *file,
			    size_t *index) MUST_CHECK;

/*
 * All three return 0, -ENOENT (there is none), -ESTALE (it is not this
 * file's), -EFBIG (beyond a limit), or another negative errno. Close with
 * elf_debug_close().
 */

/* Unpack .gnu_debugdata. */
int elf_debug_unpack(struct elf_debug *out,
		     const struct elf_file *file) MUST_CHECK;

/* Open the file for this build ID in a root, a directory's descriptor. */
int elf_debug_find_id(struct elf_debug *out, const struct elf_file *file,
		      int root) MUST_CHECK;

/* Open what .gnu_debuglink names: beside path, the mapped file's in that
 * root, in .debug beside it, or in the tree under /usr/lib/debug. Where it
 * fails, and not with -ENOENT, passed is the path in the root of the first that
 * is there and cannot be used (NULL: it has none, or there is no memory), which
 * the caller frees. passed may be NULL. */
int elf_debug_find_link(struct elf_debug *out, const struct elf_file *file,
			int root, const char *path, char **passed) MUST_CHECK;

/*
 * Open what .gnu_debugaltlink of a file with DWARF names: the file for the
 * link's build ID in a root, or the link's path, which may be relative to
 * path, that of file in that root. The build ID proves it. What may be read
 * is up to the owner of the mapped file. Returns also -ENODATA: file has no
 * such link.
 */
int elf_debug_find_alt(struct elf_debug *out, const struct elf_file *file,
		       const struct elf_file *mapped, int root,
		       const char *path) MUST_CHECK;

/* Open the package of split DWARF beside path, as if one had appended ".dwp"
 * to it, in a root. Nothing proves it but the IDs of the units in it. What
 * may be read is up to the owner of the mapped file. */
int elf_debug_find_package(struct elf_debug *out, const struct elf_file *mapped,
			   int root, const char *path) MUST_CHECK;

void elf_debug_close(struct elf_debug *debug);

#endif

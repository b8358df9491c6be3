/* SPDX-License-Identifier: MIT */
/*
 * The debug sections of a file, alone in an ELF image in our memory, for
 * libdw.
 *
 * libdw is not given the file itself, for four reasons. What is mapped may be
 * cut, which would kill us, or written to after libdw has checked it. libdw
 * unpacks sections to whatever size they claim. It would read all debug
 * sections, of which those for variables and macros, half of the bytes, serve
 * no name. And an image without .gnu_debugaltlink and without a place in the
 * file system gives it no files to look for.
 */
#ifndef WEFT_ELF_IMAGE_H
#define WEFT_ELF_IMAGE_H

#include "collector/elf/file.h"

/* The sections that an image has. */
enum elf_image_part {
	ELF_IMAGE_INFO,
	ELF_IMAGE_ABBREV,
	ELF_IMAGE_LINE,
	ELF_IMAGE_LINE_STR,
	ELF_IMAGE_STR,
	ELF_IMAGE_STR_OFFSETS,
	ELF_IMAGE_ADDR,
	ELF_IMAGE_RANGES,
	ELF_IMAGE_RNGLISTS,
	ELF_IMAGE_PARTS
};

struct elf_bytes {
	uint8_t *data; /* NULL: none */
	size_t size;
};

struct elf_image {
	Elf *elf;       /* owned */
	uint8_t *bytes; /* owned; what elf reads */
	size_t size;
};

/*
 * Copy, and unpack, what tells functions and lines. Returns 0, -ENOENT (the
 * file has no .debug_info), -EFBIG (more than max bytes, by what headers
 * claim: nothing is unpacked before that is known), -ENOEXEC (not for this
 * machine), or another negative errno. The image does not need the file.
 */
int elf_image_make(struct elf_image *out, const struct elf_file *file,
		   uint64_t max) MUST_CHECK;

/*
 * The same from parts that lie in memory, borrowed for the call; for the
 * machine of another image. Returns 0, -ENOENT (no ELF_IMAGE_INFO), -EFBIG or
 * -ENOMEM.
 */
int elf_image_join(struct elf_image *out, const struct elf_image *like,
		   const struct elf_bytes part[ELF_IMAGE_PARTS],
		   uint64_t max) MUST_CHECK;

/* A part, borrowed from the image. */
struct elf_bytes elf_image_part(const struct elf_image *image,
				enum elf_image_part part);
void elf_image_release(struct elf_image *image);

#endif

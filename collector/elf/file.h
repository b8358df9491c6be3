/* SPDX-License-Identifier: MIT */
/*
 * A file that a target owns, opened so that it can neither block us nor act
 * (only regular files are opened for reading), and read as ELF with pread:
 * a mapped file that is cut while we read it would kill us.
 */
#ifndef WEFT_ELF_FILE_H
#define WEFT_ELF_FILE_H

#include "collector/inspect/proc.h"

#include <libelf.h>

/* The same file with the same content, as far as the file system says. */
struct file_key {
	uint64_t dev, inode, mtime_ns, size;
};

bool file_key_is_same(const struct file_key *x, const struct file_key *y);

/*
 * Open a regular file as a reference (O_PATH): nothing of it is read and no
 * driver sees it. Returns an fd, or a negative errno (-EINVAL: not a regular
 * file).
 */
int elf_open_reference(int dir, const char *path, int flags,
		       struct file_key *key);

/* The same for a path whose links, and "..", stay in a root (a directory's
 * descriptor), as they do for processes that have it for theirs. */
int elf_open_in_root(int root, const char *path, struct file_key *key);

/* A loaded segment. */
struct elf_segment {
	uint64_t vaddr, offset, file_size;
	uint32_t flags; /* PF_X ... */
};

struct elf_file {
	int fd;   /* owned */
	Elf *elf; /* owned */
	struct file_key key;
	/* Of a debug file, those of the program, if it does not have them
	 * itself; borrowed. */
	const struct elf_segment *told;
	size_t n_told;
};

/*
 * Open what a reference refers to, as ELF. The reference stays the caller's.
 * Returns 0, or a negative errno (-ENOEXEC: not ELF). Close with
 * elf_file_close().
 */
int elf_file_open(struct elf_file *file, int reference,
		  const struct file_key *key) MUST_CHECK;

/* The same over bytes in our memory, borrowed. */
int elf_file_open_memory(struct elf_file *file, void *image,
			 size_t size) MUST_CHECK;
void elf_file_close(struct elf_file *file);

/* Whether it is for this machine, so that addresses in it are ours to read:
 * 64-bit, our byte order, our instruction set. */
bool elf_file_is_native(const struct elf_file *file);

/* Read exactly size bytes of it. Returns 0, -EPROTO (there are fewer), or
 * another negative errno. */
int elf_file_read(const struct elf_file *file, void *out, uint64_t size,
		  uint64_t offset) MUST_CHECK;

/* The GNU build ID. Returns its size, 0 where there is none or it is longer
 * than INSPECT_BUILD_ID_MAX (as the kernel does). */
uint8_t elf_file_build_id(const struct elf_file *file,
			  uint8_t out[INSPECT_BUILD_ID_MAX]);

/* The same by sections, for files whose segments mean nothing. */
uint8_t elf_file_build_id_section(const struct elf_file *file,
				  uint8_t out[INSPECT_BUILD_ID_MAX]);

/*
 * Open the file that a request is about, by the ways that inspect_names()
 * and inspect_table() state. Returns 0, or a negative errno (-ESTALE: what is
 * there is another file).
 */
int elf_file_find(struct elf_file *file, const struct wire_request *request,
		  const char *path) MUST_CHECK;

enum {
	ELF_SEGMENTS_MAX = 64
};

/* PT_LOAD segments, its own or those it was told, at most ELF_SEGMENTS_MAX.
 * Returns how many. */
size_t elf_file_segments(const struct elf_file *file,
			 struct elf_segment out[ELF_SEGMENTS_MAX]);

/* Translate by the executable segment that covers it. */
bool elf_offset_to_vaddr(const struct elf_segment *segments, size_t n,
			 uint64_t offset, uint64_t *vaddr);
bool elf_vaddr_to_offset(const struct elf_segment *segments, size_t n,
			 uint64_t vaddr, uint64_t *offset);

/* Read what lies at vaddr before the file runs: size bytes, all of them of one
 * segment in the file. Returns as elf_file_read(). */
int elf_read_vaddr(const struct elf_file *file,
		   const struct elf_segment *segments, size_t n, uint64_t vaddr,
		   void *out, uint64_t size) MUST_CHECK;

#endif

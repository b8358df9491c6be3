/* SPDX-License-Identifier: MIT */
/* The ELF files that a process has loaded. */
#ifndef WEFT_CONTEXT_MODULES_H
#define WEFT_CONTEXT_MODULES_H

#include "collector/elf/file.h"

enum {
	CONTEXT_MODULES_MAX = 1024
};

struct module {
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	uint64_t start, end; /* the mapping of file offset 0 */
	uint64_t low, high;  /* all that it spans */
	bool has_code;
};

enum libc_kind {
	LIBC_NONE,
	LIBC_GLIBC,
	LIBC_MUSL
};

struct modules {
	struct module module[CONTEXT_MODULES_MAX];
	size_t n;
	enum libc_kind libc;
	size_t libc_at, loader_at; /* of libc.so.6 and ld.so; n: none */
};

/* Read them from the mappings, in that order. Returns 0 or a negative
 * errno. */
int modules_read(struct modules *modules, const struct procfs *proc) MUST_CHECK;

/* What its file's addresses are to be raised by, for the process's; first_vaddr
 * is that of the file's first loaded segment. */
uint64_t module_bias(const struct module *module, uint64_t first_vaddr);

/* Open through the mapping of offset 0, as a reference. Returns an fd, or a
 * negative errno. */
int module_open_reference(const struct procfs *proc,
			  const struct module *module, struct file_key *key);

/* Find an object that it exports: its address in the process. Returns 0,
 * -ENOENT, or another negative errno. */
int module_find_object(const struct procfs *proc, const struct module *module,
		       const char *name, uint64_t *addr) MUST_CHECK;

#endif

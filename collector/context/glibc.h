/* SPDX-License-Identifier: MIT */
/*
 * What glibc's loader knows of the modules of a process, found as a debugger
 * does: libc.so.6 exports where in the loader's structures things are
 * (_thread_db_*: {bits, count, offset}, nptl_db/structs.def), the loader where
 * its structures start. All of it is the target's own files and memory.
 */
#ifndef WEFT_CONTEXT_GLIBC_H
#define WEFT_CONTEXT_GLIBC_H

#include "collector/context/modules.h"

/* Where the thread-local block of a loaded file is. */
struct glibc_block {
	bool is_static;
	uint64_t offset; /* between thread pointer and block, where static */
	uint64_t module; /* ID, where not */
};

/* Find the block of the file that is loaded with this bias. Returns 0, -ENOENT,
 * or another negative errno. */
int glibc_find_block(const struct procfs *proc, const struct modules *modules,
		     uint64_t bias, struct glibc_block *out) MUST_CHECK;

/* The generation of the vectors at which module was loaded: entries of older
 * vectors are another module's. Returns as above. */
int glibc_find_generation(const struct procfs *proc,
			  const struct modules *modules, uint64_t module,
			  uint32_t *out) MUST_CHECK;

#endif

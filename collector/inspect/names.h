/* SPDX-License-Identifier: MIT */
/* What operations share, within an inspector. */
#ifndef WEFT_INSPECT_NAMES_H
#define WEFT_INSPECT_NAMES_H

#include "collector/elf/symbols.h"
#include "collector/inspect/ops.h"

/* Forget what is kept of all files, or of that the lines, where memory is
 * short. */
void inspect_drop_kept(void);
void inspect_drop_lines(void);

/* Where files are looked for that belong to a mapped one, in this order. */
enum inspect_root {
	INSPECT_ROOT_PROCESS,
	INSPECT_ROOT_OURS,
	INSPECT_ROOTS
};

/* Call fn with a directory's descriptor (borrowed) for each root that there
 * is, until it returns true. Returns whether it did. */
typedef bool inspect_root_fn(void *ctx, int root);
bool inspect_try_roots(const struct request *request, inspect_root_fn *fn,
		       void *ctx);

/* Open our own vDSO: the same kernel gives every process the same image.
 * Returns 0 or a negative errno; close with elf_file_close(). */
int inspect_open_vdso(struct elf_file *out) MUST_CHECK;

/* Put a linker's name, and what it stands for, into a reply. Returns 0,
 * -E2BIG or -ENOMEM. */
int inspect_add_name(struct reply *reply, const char *name, size_t size,
		     struct wire_name *wire) MUST_CHECK;

#endif

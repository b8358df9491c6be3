/* SPDX-License-Identifier: MIT */
/*
 * The kernel's code: which of its binaries an address is in (the kernel
 * itself, a module, a BPF program), where in it, and the function's name.
 * From /proc/kallsyms and /proc/modules.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H

#include "collector/binary.h"

struct kernel;

/*
 * Read both files; they stay open, so that they can be read again when the
 * privilege to do so is gone. A kernel that hides its addresses is not an
 * error: kernel_is_hidden() tells.
 */
int kernel_open(struct kernel **out, struct binaries *binaries,
		struct weft_err *err) MUST_CHECK;
void kernel_close(struct kernel *k); /* NULL is fine */

bool kernel_is_hidden(const struct kernel *k);

struct kernel_place {
	struct binary *binary; /* borrowed from binaries */
	uint64_t offset;       /* from the binary's base */
	const char *name;      /* NULL: none; borrowed until the next refresh */
};

/* Never fails: an address that nothing covers is in the kernel itself, by its
 * distance from _stext, without a name. */
void kernel_find(struct kernel *k, uint64_t addr, struct kernel_place *out);

/* Read again if an address was not covered since the last call. */
void kernel_refresh(struct kernel *k);

#endif

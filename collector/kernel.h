/* SPDX-License-Identifier: MIT */
/*
 * The kernel's code: which of its binaries an address is in (the kernel
 * itself, a module, a BPF program), where in it, and the function's name.
 * From /proc/kallsyms and /proc/modules, and, for what the kernel makes while
 * we record (BPF programs, trampolines), from the side-band, which says when.
 */
#ifndef WEFT_KERNEL_H
#define WEFT_KERNEL_H

#include "collector/binary.h"
#include "collector/sideband.h"

struct kernel;

/*
 * Read both files; they stay open, so that they can be read again when the
 * privilege to do so is gone. A kernel that hides its addresses is not an
 * error: kernel_is_hidden() tells. Open the side-band before: what comes
 * between would be missing.
 */
int kernel_open(struct kernel **out, struct binaries *binaries,
		struct weft_err *err) MUST_CHECK;
/* The same from files of that form; takes them over, fails or not.
 * modules_fd may be -1. */
int kernel_open_files(struct kernel **out, struct binaries *binaries,
		      int symbols_fd, int modules_fd,
		      struct weft_err *err) MUST_CHECK;
void kernel_close(struct kernel *k); /* NULL is fine */

bool kernel_is_hidden(const struct kernel *k);

/* Code came or went. */
void kernel_event(struct kernel *k, const struct sideband_event *event);

/* Side-band was lost: what is known now may be wrong. */
void kernel_distrust(struct kernel *k);

struct kernel_place {
	struct binary *binary; /* borrowed from binaries */
	uint64_t offset;       /* from the binary's base */
	const char *name;      /* NULL: none; borrowed until the next call */
};

/*
 * What was at addr between start_ns and end_ns (boot). Never fails: an address
 * that nothing covered, or more than one thing in turn, is in the kernel
 * itself, by its distance from _stext, without a name.
 */
void kernel_find(struct kernel *k, uint64_t addr, uint64_t start_ns,
		 uint64_t end_ns, struct kernel_place *out);

/*
 * An interval ended at now_ns, and its events are all told: read the files
 * again if modules came or went, side-band was lost, or an address was not
 * covered.
 */
void kernel_refresh(struct kernel *k, uint64_t now_ns);

/* Forget what ended before. */
void kernel_prune(struct kernel *k, uint64_t before_ns);

#endif

/* SPDX-License-Identifier: MIT */
/* Where a function is in a file that somebody else owns. */
#ifndef WEFT_MEASURE_SYMBOL_H
#define WEFT_MEASURE_SYMBOL_H

#include "store/weft.h"

struct measure_place {
	int fd;          /* of the file; the caller's to close */
	uint64_t offset; /* in the file, of the function */
	uint64_t size;   /* of the function in bytes; 0: not known */
};

/*
 * Find a function by its symbol. The file is read in a process of its own,
 * with a deadline and a limit of memory: it may be crafted. Call while
 * single-threaded. Returns 0; -ENOENT (no such file or function: err suggests
 * the nearest, or says that the file is stripped); -ENOTUNIQ (several have
 * that name); -ENOEXEC (not for this machine); -ETIMEDOUT.
 */
int measure_symbol(const char *path, const char *symbol,
		   struct measure_place *out, struct weft_err *err) MUST_CHECK;

#endif

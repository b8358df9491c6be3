/* SPDX-License-Identifier: MIT */
/* Names as people wrote them, from names as linkers see them. */
#ifndef WEFT_DEMANGLE_H
#define WEFT_DEMANGLE_H

#include <stddef.h>

enum {
	DEMANGLE_INPUT_MAX = 16384,
	DEMANGLE_OUTPUT_MAX = 4096
};

/*
 * Demangle a C++ or Rust name. A piece of compiler bookkeeping that differs
 * from build to build (".llvm.123", the hash of a Rust name) is left out; one
 * that says which part of the function it is (".cold", ".part.0") stays.
 * Returns the length of out, or 0 where the name is no different, not
 * mangled after all, or beyond a limit.
 */
size_t demangle(const char *name, char out[DEMANGLE_OUTPUT_MAX]);

#endif

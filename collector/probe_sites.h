/* SPDX-License-Identifier: MIT */
/*
 * Where probes go: the functions of an ELF file, and the probes that programs
 * have built in (USDT). The file is anybody's, so a process of its own, with
 * few rights, a limit of memory and a deadline, opens and reads it.
 *
 * USDT notes:
 * https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 */
#ifndef WEFT_PROBE_SITES_H
#define WEFT_PROBE_SITES_H

#include "store/weft.h"

enum {
	PROBE_SITES_MAX = 64
};

struct probe_site {
	uint64_t offset;    /* in the file */
	uint64_t semaphore; /* in the file: while probed, not 0; 0: has none */
};

struct probe_sites {
	struct probe_site site[PROBE_SITES_MAX];
	uint32_t n;
};

/* Where a function of a file begins, as an offset in the file, by its linkage
 * name. -ENOENT: it has no such function; err names the nearest, or says that
 * the file is stripped. -EINVAL: it has several. */
int probe_sites_of_function(const char *path, const char *symbol,
			    uint64_t *offset, struct weft_err *err) MUST_CHECK;

/* All places of one probe. Likewise; -E2BIG: they are more than that many. */
int probe_sites_of_usdt(const char *path, const char *provider,
			const char *name, struct probe_sites *out,
			struct weft_err *err) MUST_CHECK;

/* Print the functions of a file, or its USDT probes as PROVIDER:NAME, one a
 * line, sorted. Returns 0, -ENODATA where there are none, or what failed. */
int probe_sites_print_functions(const char *path,
				struct weft_err *err) MUST_CHECK;
int probe_sites_print_usdt(const char *path, struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The programs of unwind entries: from DW_CFA_... instructions to rows, each
 * a rule that the kernel program can follow.
 */
#ifndef WEFT_ELF_CFI_H
#define WEFT_ELF_CFI_H

#include "bpf/wire.h"
#include "collector/elf/fde.h"

enum {
	CFI_PROGRAM_MAX = 65536, /* bytes; honest ones have up to 22,200 */
	/* Of one entry: a row takes two instructions. Honest: 7,400. */
	CFI_ROWS_MAX = CFI_PROGRAM_MAX / 2,
	CFI_REMEMBERED_MAX = 16,
};

struct cfi_row {
	uint64_t offset; /* in the file; the rule holds from here on */
	struct weft_rule rule;
};

/* The rows of one entry, ascending; no two neighbours have one rule. */
struct cfi_rows {
	size_t n;
	struct cfi_row row[CFI_ROWS_MAX];
};

/*
 * Run the program of an entry. Returns 0, -EPROTO (the program is bad) or
 * -EFBIG (over a limit); out then holds nothing of use.
 */
int cfi_run(struct cfi_rows *out, const struct fdes *fdes,
	    const struct fde *fde) MUST_CHECK;

#endif

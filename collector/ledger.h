/* SPDX-License-Identifier: MIT */
/*
 * The ledger as it is stored: the kernel's entries and the collector's, by
 * the names of the contract, and the identities that they must satisfy.
 */
#ifndef WEFT_LEDGER_H
#define WEFT_LEDGER_H

#include "bpf/wire.h"
#include "collector/batch.h"
#include "store/weft.h"

/* Those that the kernel counts come first, as in enum weft_ledger_entry. */
enum ledger_entry {
	LEDGER_STORED = WEFT_KERNEL_ENTRIES,
	LEDGER_LOST_DISCARDED,
	LEDGER_LOST_COUNTS_DISCARDED,
	LEDGER_TRUNCATED,
	LEDGER_BROKEN,
	LEDGER_AMBIGUOUS_MAP,
	LEDGER_PROBE_DEFERRED,
	LEDGER_THROTTLED,
	LEDGER_CONTEXT_FAILING,
	/* Of detail samples: attributes not stored, by why; samples of whose
	 * attributes some were not read. */
	LEDGER_ATTRIBUTES_REFUSED,
	LEDGER_ATTRIBUTES_UNKNOWN,
	LEDGER_ATTRIBUTES_TRUNCATED,
	LEDGER_TABLE_PENDING, /* samples whose stack ended where the unwind
				 table of a file was being built */
	LEDGER_TABLE_REFUSED, /* files whose unwind table found no room */
	LEDGER_JIT_NOT_READ,  /* samples with JIT code that the perf map was not
				 read for in time */
	LEDGER_DUE,
	LEDGER_NOT_RUN,
	LEDGER_ENTRIES
};

/* Names by entry; those of unused slots are "reserved_N". */
extern const char *const ledger_names[LEDGER_ENTRIES];
extern const char *const context_source_names[WEFT_SOURCE_COUNT];
extern const char *const context_status_names[WEFT_CTX_COUNT];
extern const char *const walk_end_names[WEFT_END_COUNT];

/* Make every entry present for an event, and add what the kernel counted. */
int ledger_add_kernel(struct batch *b, uint32_t event,
		      const struct weft_ledger *kernel) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* OTEP 4947: where a process's threads keep the pointer to their record. */
#ifndef WEFT_CONTEXT_TLS_H
#define WEFT_CONTEXT_TLS_H

#include "collector/context/elf.h"
#include "collector/context/modules.h"

/* The variable of the OTEP. */
#define CONTEXT_VARIABLE "otel_thread_ctx_v1"

/*
 * Find up to WEFT_MAX_CONTEXT_SLOTS places of the variable name (borrowed for
 * good: it is remembered by files): in the executable first, then in the order
 * of the mappings, which modules were read from. Sets *state to FOUND (slots in
 * *entry, whose process and source are the caller's to set), NO_SYMBOL or
 * UNRESOLVED.
 */
void context_find_slots(const struct procfs *proc,
			const struct modules *modules, const char *name,
			struct weft_context_entry *entry,
			enum inspect_context_state *state);

/* Use the offset that a process tells of itself. False for one that cannot
 * be; *entry is then as it was. */
bool context_use_offset(struct weft_context_entry *entry, int64_t tp_offset);

/* Offset of an executable's own variable from the thread pointer; false where
 * the numbers cannot be. */
bool context_executable_offset(const struct tls_variable *variable,
			       int64_t *out);

/* What a TLS descriptor's argument is, given the words behind it. */
enum tls_argument {
	TLS_ARGUMENT_UNKNOWN,
	TLS_ARGUMENT_OFFSET,  /* from the thread pointer */
	TLS_ARGUMENT_POINTER, /* to {module, offset, generation} */
};

/* words: what argument points at, or NULL where that is not readable.
 * is_inside: it points into the module's own mappings. */
enum tls_argument context_classify_argument(uint64_t argument,
					    const uint64_t words[2],
					    bool is_inside);

#endif

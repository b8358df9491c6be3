/* SPDX-License-Identifier: MIT */
/* Go programs: by which version they were built, and where their threads keep
 * the labels of the goroutine that runs (runtime/pprof). */
#ifndef WEFT_CONTEXT_GO_H
#define WEFT_CONTEXT_GO_H

#include "collector/elf/file.h"

enum {
	CONTEXT_GO_VERSION_MAX = 64
};

/*
 * The version that a file was built by, "go1.19.8", as .go.buildinfo has it
 * (the format is debug/buildinfo's in Go). Returns 0, -ENOENT (not built by
 * Go), or -EPROTO (it says that it was, but not how).
 */
int context_go_version(const struct elf_file *file,
		       char out[CONTEXT_GO_VERSION_MAX]) MUST_CHECK;

/*
 * Parse the start of .go.buildinfo, as far as it stands by itself (Go 1.18 and
 * later). Returns 0, -EPROTO, or -ENOTSUP: out is "", and the version's string
 * header is at the address that *pointer is set to.
 */
int context_go_parse(const uint8_t *bytes, size_t size,
		     char out[CONTEXT_GO_VERSION_MAX],
		     uint64_t *pointer) MUST_CHECK;

/* Where labels are in that version. Returns 0, or -ENOTSUP: not known. */
int context_go_layout(const char *version,
		      struct weft_go_layout *out) MUST_CHECK;

/*
 * Fill an entry for a process whose executable was built by Go: source, slot,
 * layout. *state is FOUND, NO_MAPPING (not built by Go), UNSUPPORTED (a
 * version that is not known) or UNRESOLVED (its threads' own variable was not
 * found). Returns 0, or a negative errno where /proc did not let us look.
 */
int context_find_go(const struct procfs *proc, struct weft_context_entry *entry,
		    enum inspect_context_state *state) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* Attaching to places in programs and libraries. */
#ifndef WEFT_UPROBE_H
#define WEFT_UPROBE_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct bpf_uprobe_opts;

/*
 * Attach to the instruction at offset of the file at path, in all processes,
 * now and later. NULL with errno, of which uprobe_is_refused() tells that the
 * kernel cannot probe that instruction: also where no process has it mapped.
 * The caller destroys the link.
 */
struct bpf_link *uprobe_attach(const struct bpf_program *program,
			       const char *path, uint64_t offset,
			       const struct bpf_uprobe_opts *opts);

/* Whether this errno of uprobe_attach() is about the instruction. */
bool uprobe_is_refused(int code);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The kernel program's walk over user frames, built for user space from the
 * same bpf/unwind.h: over a process that is stopped, with tables built by the
 * collector's own elf_table_build().
 */
#ifndef WEFT_TESTS_UNWIND_DOUBLE_H
#define WEFT_TESTS_UNWIND_DOUBLE_H

#include <sys/types.h>
#include <sys/user.h>

#include "bpf/wire.h"

/* What is mapped executable in a process. */
struct double_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t dev;
	bool is_file, is_vdso;
	struct weft_table table;
	char path[256];
};

struct double_maps {
	struct double_mapping *all; /* owned */
	size_t n;
};

/* Read /proc/PID/maps and build the tables that are not built yet. Returns
 * false where the process is gone. */
bool double_read_maps(struct double_maps *maps, pid_t pid);
void double_release_maps(struct double_maps *maps);

/* The words of a table's block, for who wants to publish it. */
const uint32_t *double_block(const struct weft_table *table, uint32_t block);
uint32_t double_blocks(const struct weft_table *table);

struct double_stack {
	uint64_t address[WEFT_MAX_USER_FRAMES]; /* as the kernel stores them */
	uint32_t n;
	enum weft_walk_end end;
};

/* Walk the stack of a stopped thread from its registers. */
void double_walk(struct double_stack *out, const struct double_maps *maps,
		 pid_t pid, const struct user_regs_struct *regs,
		 bool in_syscall);

#endif

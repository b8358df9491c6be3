/* SPDX-License-Identifier: MIT */
/* From a process and a thread pointer to the thread's record, as the kernel
 * program goes. */
#ifndef T_COLLECTOR_CONTEXT_H
#define T_COLLECTOR_CONTEXT_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/wire.h"
#include "collector/inspect/proc.h"

static inline bool read_memory(pid_t pid, uint64_t addr, void *out, size_t size)
{
	struct iovec local = { out, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static inline bool read_word(pid_t pid, uint64_t addr, uint64_t *out)
{
	return read_memory(pid, addr, out, sizeof(*out));
}

/* The walk of the kernel program. */
static inline uint64_t
find_slot(pid_t pid, const struct weft_context_entry *entry, uint64_t pointer)
{
	const struct weft_context_slot *slot = &entry->slot[0];
	uint64_t dtv, length, generation, block;

	if (!slot->module)
		return pointer + (uint64_t)slot->offset;
	assert_int_equal(entry->kind, WEFT_CONTEXT_DTV);
	assert_true(
		read_word(pid, pointer + (uint64_t)entry->dtv_offset, &dtv));
	assert_true(entry->is_glibc);
	assert_true(read_word(pid, dtv - 16, &length));
	assert_true(read_word(pid, dtv, &generation));
	assert_true(length >= slot->module);
	assert_true(generation >= slot->min_gen);
	assert_true(read_word(
		pid, dtv + (uint64_t)slot->module * entry->dtv_stride, &block));
	return block + (uint64_t)slot->offset;
}

static inline struct procfs open_process(pid_t pid)
{
	struct procfs proc = { .pid = (uint32_t)pid };
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc.dir >= 0);
	return proc;
}

#endif

/* SPDX-License-Identifier: MIT */
/* The map that OBI pins, through bpf(2) alone: LRU, by pid and tid. */
#ifndef OLDER_OBI_H
#define OLDER_OBI_H

#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/load/older/ids.h"

#define OBI_DIRECTORY "/sys/fs/bpf/otel"
#define OBI_PIN       OBI_DIRECTORY "/traces_ctx_v1"

static int obi_call(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static inline int obi_pin(uint32_t value_bytes)
{
	union bpf_attr attr = { 0 };
	int fd;

	attr.map_type = BPF_MAP_TYPE_LRU_HASH;
	attr.key_size = 8;
	attr.value_size = value_bytes;
	attr.max_entries = 16384;
	fd = obi_call(BPF_MAP_CREATE, &attr);
	if (fd < 0)
		return -1;
	mkdir(OBI_DIRECTORY, 0755);
	memset(&attr, 0, sizeof(attr));
	attr.bpf_fd = (uint32_t)fd;
	attr.pathname = (uintptr_t)OBI_PIN;
	return obi_call(BPF_OBJ_PIN, &attr);
}

static int obi_map;

static inline int obi_open(void)
{
	union bpf_attr attr = { .pathname = (uintptr_t)OBI_PIN };

	obi_map = obi_call(BPF_OBJ_GET, &attr);
	return obi_map;
}

/* Of this thread; with NULL remove what is there. */
static inline void obi_put(const struct ids *ids)
{
	uint8_t value[24];
	uint64_t key = (uint64_t)getpid() << 32 | (uint32_t)gettid();
	union bpf_attr attr = { .map_fd = (uint32_t)obi_map,
				.key = (uintptr_t)&key,
				.value = ids ? (uintptr_t)value : 0 };

	if (ids) {
		memcpy(value, ids->trace_bytes, 16);
		memcpy(value + 16, ids->span_bytes, 8);
	}
	if (obi_call(ids ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, &attr) &&
	    ids)
		exit(1);
}

#endif

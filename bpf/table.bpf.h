/* SPDX-License-Identifier: MIT */
/*
 * The unwind tables of files: which are known, and their blocks. Written by
 * the collector; this side asks for what it lacks.
 */
#ifndef WEFT_TABLE_BPF_H
#define WEFT_TABLE_BPF_H

#include "notice.bpf.h"
#include "wire.h"

/* What is known of each file. Full: files go without a table, which the
 * collector counts (table_refused). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEFT_TABLES_MAX);
	__type(key, struct weft_file_key);
	__type(value, struct weft_table);
} tables SEC(".maps");

/* By slot: the blocks of one file's table. */
struct table_blocks {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, WEFT_TABLE_BLOCK_WORDS * sizeof(__u32));
};

struct table_blocks no_table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WEFT_TABLES_MAX);
	__type(key, __u32);
	__array(values, struct table_blocks);
} table_slots SEC(".maps") = { .values = { &no_table } };

static __always_inline const __u32 *unwind_block(const struct weft_table *t,
						 __u32 block)
{
	__u32 slot = t->slot;
	void *blocks = bpf_map_lookup_elem(&table_slots, &slot);

	return blocks ? bpf_map_lookup_elem(blocks, &block) : NULL;
}

/* What is known of a file; asks for its table the first time. start and end
 * are those of its mapping in the current process. */
static __always_inline void table_of_file(const struct weft_file_key *file,
					  __u64 start, __u64 end, __u32 epoch,
					  struct weft_table *out)
{
	struct weft_table *known = bpf_map_lookup_elem(&tables, file);
	long rc;

	if (known) {
		known->used_epoch = epoch;
		*out = *known;
		return;
	}
	__builtin_memset(out, 0, sizeof(*out));
	out->state = WEFT_TABLE_PENDING;
	out->used_epoch = epoch;
	rc = bpf_map_update_elem(&tables, file, out, BPF_NOEXIST);
	if (rc == -KERN_E2BIG)
		out->state = WEFT_TABLE_NONE;
	if (rc)
		return; /* full, or another CPU was first */
	if (!notify_table(file, start, end, epoch))
		bpf_map_delete_elem(&tables, file);
}

#endif

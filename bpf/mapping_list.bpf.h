/* SPDX-License-Identifier: MIT */
/*
 * What processes have mapped executable, as the collector lists it: for
 * kernels whose own tree of mappings is not as mapping.bpf.h knows it. A
 * process is asked for with its first sample, and what it maps later is
 * known some milliseconds late.
 */
#ifndef WEFT_MAPPING_LIST_BPF_H
#define WEFT_MAPPING_LIST_BPF_H

#include "notice.bpf.h"
#include "wire.h"

/* Each list is replaced as a whole. Full: the collector leaves out processes,
 * and counts them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, WEFT_LISTS_MAX);
	__type(key, struct weft_identity);
	__type(value, struct weft_mapping_list);
} mapping_lists SEC(".maps");

/* Whose list was asked for. Full: the longest unused is forgotten and asked
 * for again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct weft_identity);
	__type(value, __u64);
} mappings_asked SEC(".maps");

static __always_inline void ask_for_mappings(struct task_struct *task,
					     const struct weft_identity *who,
					     __u32 epoch)
{
	ask_once(&mappings_asked, WEFT_NOTICE_MAPPINGS, task, who, epoch);
}

/* Changes with the list. 0: there is none. */
static __always_inline __u32
mapping_list_version(const struct weft_identity *who)
{
	const volatile struct weft_mapping_list *list =
		bpf_map_lookup_elem(&mapping_lists, who);

	return list ? list->version : 0;
}

/* The last mapping that begins at or below an address, else the first. The
 * search comes down from n, because the verifier follows all values of a
 * number that begins with 0. */
static __always_inline const struct weft_listed *
mapping_list_search(const struct weft_mapping_list *list, __u64 address)
{
	const __u32 mask = WEFT_LISTED_MAX - 1;
	__u32 above = list->n;

	for (__u32 step = WEFT_LISTED_MAX / 2; step; step /= 2) {
		if (above >= step &&
		    list->mapping[(above - step) & mask].start > address)
			above -= step;
	}
	above--;
	barrier_var(above);
	return &list->mapping[above & mask];
}

/* The mapping at an address. False: none is known. */
static __always_inline bool mapping_list_find(const struct weft_identity *who,
					      __u64 address,
					      struct weft_listed *out)
{
	const struct weft_mapping_list *list =
		bpf_map_lookup_elem(&mapping_lists, who);
	__u32 version;

	if (!list)
		return false;
	version = *(const volatile __u32 *)&list->version;
	*out = *mapping_list_search(list, address);
	if (address < out->start || address >= out->end)
		return false;
	/* A list that was replaced may become another's while we read it; its
	 * version is written first. */
	return *(const volatile __u32 *)&list->version == version;
}

#endif

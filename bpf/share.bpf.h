/* SPDX-License-Identifier: MIT */
/*
 * How much of the epoch's tables a process has taken, so that one that makes
 * new stacks without end cannot keep others out: nobody may take more than is
 * then left. One takes half at most, the next half of the rest; of k that flood
 * at the same pace each an equal part, and such a part stays free. (Dynamic
 * thresholds: Choudhury and Hahne, IEEE/ACM Transactions on Networking 6(2),
 * 1998, with alpha = 1.) Only what is new to a table comes here.
 */
#ifndef WEFT_SHARE_BPF_H
#define WEFT_SHARE_BPF_H

#include "wire.h"

/* By epoch and table: the sum, then one for each hash of a pid. Whoever comes
 * first in an epoch clears what an older one left. */
struct weft_share {
	__u32 epoch;
	__u32 taken;
};

enum share_table {
	SHARE_STACKS,
	SHARE_COUNTS,
	SHARE_TABLES
};

enum {
	SHARE_PID_BITS = 12,
	SHARE_SLOTS = 1 + (1 << SHARE_PID_BITS),
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEFT_EPOCHS *SHARE_TABLES *SHARE_SLOTS);
	__type(key, __u32);
	__type(value, struct weft_share);
} shares SEC(".maps");

static __always_inline struct weft_share *
share_at(__u32 epoch, enum share_table table, __u32 slot)
{
	__u32 at =
		((epoch % WEFT_EPOCHS) * SHARE_TABLES + table) * SHARE_SLOTS +
		slot;
	struct weft_share *s = bpf_map_lookup_elem(&shares, &at);

	if (s && s->epoch != epoch) {
		s->taken = 0;
		s->epoch = epoch;
	}
	return s;
}

/* Keyed, so that nobody can choose whose share to use up. */
static __always_inline __u32 share_slot_of(__u32 pid)
{
	__u32 factor = config.hash_key[0][0][0] | 1;

	return 1 + ((pid * factor) >> (32 - SHARE_PID_BITS));
}

/* Not static, as shape_attribute(): the verifier looks at it once. Returns
 * whether the process has as much of the table as is left. */
__noinline int share_is_used_up(__u32 epoch, __u32 table, __u32 pid)
{
	__u32 room = table == SHARE_STACKS ? config.max_stacks
					   : 2 * config.max_stacks;
	struct weft_share *all, *own;

	if (table >= SHARE_TABLES)
		return 0;
	all = share_at(epoch, table, 0);
	own = share_at(epoch, table, share_slot_of(pid));
	if (!all || !own || all->taken >= room)
		return 0; /* full: that the table itself says */
	return own->taken > room - all->taken;
}

/* One more element of the table is the process's. */
__noinline int share_take(__u32 epoch, __u32 table, __u32 pid)
{
	struct weft_share *all, *own;

	if (table >= SHARE_TABLES)
		return 0;
	all = share_at(epoch, table, 0);
	own = share_at(epoch, table, share_slot_of(pid));
	if (all && own) {
		__sync_fetch_and_add(&all->taken, 1);
		__sync_fetch_and_add(&own->taken, 1);
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Scratch of programs of probes. One of a user probe can be preempted by
 * another thread, those of tracepoints are interrupted by each other: each
 * claims what it writes to. Programs of all objects take from the same.
 */
#ifndef WEFT_SLOT_BPF_H
#define WEFT_SLOT_BPF_H

#include "shape.bpf.h"
#include "walk.bpf.h"

enum {
	CALL_SLOTS = WEFT_CALL_SLOTS
};

struct call_slot {
	struct walk walk; /* first */
	struct shape_scratch shape;
	__u32 is_claimed;
	__u32 pad;
};

/* CALL_SLOTS per CPU, set before load. None free: what it was for is lost, and
 * counted there. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_slot);
} call_scratch SEC(".maps");

static __always_inline struct call_slot *slot_claim(void)
{
	__u32 at = bpf_get_smp_processor_id() * CALL_SLOTS;

	for (int i = 0; i < CALL_SLOTS; i++, at++) {
		struct call_slot *slot =
			bpf_map_lookup_elem(&call_scratch, &at);

		if (slot &&
		    !__sync_val_compare_and_swap(&slot->is_claimed, 0, 1))
			return slot;
	}
	return NULL;
}

static __always_inline void slot_release(struct call_slot *slot)
{
	__sync_lock_test_and_set(&slot->is_claimed, 0);
}

#endif

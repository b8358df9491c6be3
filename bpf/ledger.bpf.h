/* SPDX-License-Identifier: MIT */
/*
 * The ledger's kernel half: one array of counters per CPU, epoch and event.
 * Every firing ends in tally(). Programs of probes can be preempted by, or
 * interrupt, one of the same event: they add with atomic operations.
 */
#ifndef WEFT_LEDGER_BPF_H
#define WEFT_LEDGER_BPF_H

#include "wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WEFT_EPOCHS *WEFT_MAX_EVENTS);
	__type(key, __u32);
	__type(value, struct weft_ledger);
} ledgers SEC(".maps");

static __always_inline struct weft_ledger *ledger_find(__u32 epoch, __u32 event)
{
	__u32 slot = (epoch % WEFT_EPOCHS) * WEFT_MAX_EVENTS +
		     event % WEFT_MAX_EVENTS;

	return bpf_map_lookup_elem(&ledgers, &slot);
}

static __always_inline void tally(struct weft_ledger *l,
				  enum weft_ledger_entry entry, __u64 value)
{
	l->entry[entry].count++;
	l->entry[entry].value += value;
}

static __always_inline void
tally_shared(struct weft_ledger *l, enum weft_ledger_entry entry, __u64 value)
{
	__sync_fetch_and_add(&l->entry[entry].count, 1);
	__sync_fetch_and_add(&l->entry[entry].value, value);
}

/* An event's counters, for what is used by programs of both kinds. */
struct page {
	struct weft_ledger *l;
	bool is_shared;
};

static __always_inline void note(struct page page, enum weft_ledger_entry entry,
				 __u64 value)
{
	if (page.is_shared)
		tally_shared(page.l, entry, value);
	else
		tally(page.l, entry, value);
}

#endif

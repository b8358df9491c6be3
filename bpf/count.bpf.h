/* SPDX-License-Identifier: MIT */
/*
 * Shape: the stack table and the counts, one pair per epoch. The collector
 * flips the epoch, waits for running programs, and empties the old pair, so
 * nothing is counted into a map that is being read.
 */
#ifndef WEFT_COUNT_BPF_H
#define WEFT_COUNT_BPF_H

#include "ledger.bpf.h"
#include "wire.h"

/* Sizes are set before load, from --max-stacks. A full stack table costs the
 * stack (stack_lost), a full count table the sample (lost_counts_full). */
struct stack_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct weft_stack_key);
	__type(value, struct weft_stack);
};

struct count_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, struct weft_count_key);
	__type(value, struct weft_count);
};

struct stack_map stacks_0 SEC(".maps"), stacks_1 SEC(".maps");
struct count_map counts_0 SEC(".maps"), counts_1 SEC(".maps");

/* Indexed by epoch. Updating a slot from user space returns only after the
 * programs that may still hold the old epoch have left. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WEFT_EPOCHS);
	__type(key, __u32);
	__array(values, struct stack_map);
} stack_epochs SEC(".maps") = { .values = { &stacks_0, &stacks_1 } };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, WEFT_EPOCHS);
	__type(key, __u32);
	__array(values, struct count_map);
} count_epochs SEC(".maps") = { .values = { &counts_0, &counts_1 } };

enum {
	KEPT_REMEMBERED = 256 /* power of 2 */
};

/* Stacks that a CPU has kept in an epoch: most samples are on one of few, and
 * to look it up in the table costs as much as ten frames. */
struct kept {
	__u32 epoch[KEPT_REMEMBERED];
	struct weft_stack_key key[KEPT_REMEMBERED];
};

/* Make sure that the epoch's table has the stack; else make the key "lost". */
static __always_inline void keep_stack(__u32 epoch, struct weft_stack_key *key,
				       const struct weft_stack *stack,
				       struct kept *kept, struct weft_ledger *l,
				       __u64 value)
{
	__u32 slot = epoch % WEFT_EPOCHS, at = key->word[1];
	void *map;
	long rc;

	at &= KEPT_REMEMBERED - 1;
	barrier_var(at);
	at &= KEPT_REMEMBERED - 1;
	if (kept->key[at].word[0] == key->word[0] &&
	    kept->key[at].word[1] == key->word[1] && kept->epoch[at] == epoch)
		return;
	map = bpf_map_lookup_elem(&stack_epochs, &slot);
	rc = !map ? -KERN_E2BIG
	     : bpf_map_lookup_elem(map, key)
		     ? 0
		     : bpf_map_update_elem(map, key, stack, BPF_NOEXIST);
	if (rc && rc != -KERN_EEXIST) {
		*key = (struct weft_stack_key){ 0 };
		tally(l, WEFT_STACK_LOST, value);
		return;
	}
	kept->key[at] = *key;
	kept->epoch[at] = epoch;
}

/* Bump the count of key. Returns true if that was possible; else the ledger
 * says why not. */
static __always_inline bool count(__u32 epoch, const struct weft_count_key *key,
				  struct weft_ledger *l, __u64 value)
{
	struct weft_count first = { .count = 1, .value = value };
	__u32 slot = epoch % WEFT_EPOCHS;
	void *map = bpf_map_lookup_elem(&count_epochs, &slot);
	struct weft_count *c;
	long rc;

	if (!map) {
		tally(l, WEFT_LOST_BUSY, value);
		return false;
	}
	c = bpf_map_lookup_elem(map, key);
	if (c) {
		c->count++;
		c->value += value;
	} else {
		rc = bpf_map_update_elem(map, key, &first, BPF_NOEXIST);
		if (rc == -KERN_EEXIST) /* another CPU made it just now */
			c = bpf_map_lookup_elem(map, key);
		if (rc && !c) {
			tally(l,
			      rc == -KERN_E2BIG ? WEFT_LOST_COUNTS_FULL
						: WEFT_LOST_BUSY,
			      value);
			return false;
		}
		if (c) {
			c->count++;
			c->value += value;
		}
	}
	tally(l, WEFT_COUNTED, value);
	return true;
}

#endif

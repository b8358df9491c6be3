/* SPDX-License-Identifier: MIT */
/*
 * Shape: the stack table and the counts, one pair per epoch. The collector
 * flips the epoch, waits for running programs, and empties the old pair, so
 * nothing is counted into a map that is being read.
 */
#ifndef WEFT_COUNT_BPF_H
#define WEFT_COUNT_BPF_H

#include "ledger.bpf.h"
#include "share.bpf.h"
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
	__uint(type, BPF_MAP_TYPE_HASH);
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

/* By CPU and epoch, CPU's first; sized before load. Only the programs of perf
 * events, of which the kernel runs one at a time on a CPU, count here. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WEFT_EPOCHS);
	__type(key, __u32);
	__type(value, struct weft_recents);
} recent_counts SEC(".maps");

enum put_outcome {
	PUT_STACK,      /* the table has it */
	PUT_FULL,       /* or its memory was not to be had at once */
	PUT_OVER_SHARE, /* the process has its share of the table */
};

/* Make sure that the epoch's table has the stack of a process; else the key is
 * now that of lost stacks. */
static __always_inline enum put_outcome
put_stack(__u32 epoch, __u32 pid, struct weft_stack_key *key,
	  const struct weft_stack *stack)
{
	__u32 slot = epoch % WEFT_EPOCHS;
	void *map = bpf_map_lookup_elem(&stack_epochs, &slot);
	enum put_outcome outcome = PUT_FULL;
	long rc;

	if (map && bpf_map_lookup_elem(map, key))
		return PUT_STACK;
	if (share_is_used_up(epoch, SHARE_STACKS, pid)) {
		outcome = PUT_OVER_SHARE;
		map = NULL;
	}
	rc = map ? bpf_map_update_elem(map, key, stack, BPF_NOEXIST)
		 : -KERN_E2BIG;
	if (!rc)
		share_take(epoch, SHARE_STACKS, pid);
	if (!rc || rc == -KERN_EEXIST)
		return PUT_STACK;
	*key = (struct weft_stack_key){ 0 };
	return outcome;
}

/* The same, for a count that is new: it takes its share, too. */
static __always_inline void keep_stack(__u32 epoch, struct weft_count_key *key,
				       const struct weft_stack *stack,
				       struct page page, __u64 value)
{
	__u32 pid = key->process.pid;
	enum put_outcome outcome = PUT_OVER_SHARE;

	if (share_is_used_up(epoch, SHARE_COUNTS, pid))
		key->stack = (struct weft_stack_key){ 0 };
	else
		outcome = put_stack(epoch, pid, &key->stack, stack);
	if (outcome == PUT_STACK)
		return;
	note(page, WEFT_STACK_LOST, value);
	if (outcome == PUT_OVER_SHARE)
		note(page, WEFT_STACK_OVER_SHARE, value);
}

static __always_inline bool add_to_table(void *map,
					 const struct weft_count_key *key,
					 const struct weft_count *more)
{
	struct weft_count *c = bpf_map_lookup_elem(map, key);

	if (!c)
		return false;
	__sync_fetch_and_add(&c->count, more->count);
	__sync_fetch_and_add(&c->value, more->value);
	return true;
}

/* Count in the epoch's table. A key that is there has its stack there, too;
 * stack NULL: it has none. False: the ledger says why not. */
static __always_inline bool count_in_table(void *map, __u32 epoch,
					   struct weft_count_key *key,
					   const struct weft_stack *stack,
					   struct page page, __u64 value)
{
	const struct weft_count once = { .count = 1, .value = value };
	long rc;

	if (add_to_table(map, key, &once))
		return true;
	if (stack)
		keep_stack(epoch, key, stack, page, value);
	rc = bpf_map_update_elem(map, key, &once, BPF_NOEXIST);
	if (!rc)
		share_take(epoch, SHARE_COUNTS, key->process.pid);
	/* Another CPU was first, or the key is now that of lost stacks. */
	if (!rc || (rc == -KERN_EEXIST && add_to_table(map, key, &once)))
		return true;
	note(page, rc == -KERN_E2BIG ? WEFT_LOST_COUNTS_FULL : WEFT_LOST_BUSY,
	     value);
	return false;
}

static __always_inline bool is_same_count(const struct weft_count_key *a,
					  const struct weft_count_key *b)
{
	return a->stack.word[0] == b->stack.word[0] &&
	       a->stack.word[1] == b->stack.word[1] &&
	       a->process.start_ns == b->process.start_ns &&
	       a->process.pid == b->process.pid &&
	       a->process.exec_seq == b->process.exec_seq &&
	       a->event == b->event && a->attribute == b->attribute;
}

static __always_inline struct weft_recent *
recent_of(__u32 epoch, const struct weft_count_key *key)
{
	__u32 at =
		bpf_get_smp_processor_id() * WEFT_EPOCHS + epoch % WEFT_EPOCHS;
	struct weft_recents *all = bpf_map_lookup_elem(&recent_counts, &at);
	__u32 slot = key->stack.word[1] ^ key->process.pid ^ key->attribute;

	if (!all)
		return NULL;
	slot &= WEFT_RECENT_COUNTS - 1;
	barrier_var(slot);
	return &all->recent[slot & (WEFT_RECENT_COUNTS - 1)];
}

/*
 * Bump the count of key, whose stack is given. Returns true if that was
 * possible; else the ledger says why not. The key's stack becomes "lost" where
 * there is no room for it.
 */
static __always_inline bool count(__u32 epoch, struct weft_count_key *key,
				  const struct weft_stack *stack,
				  struct weft_ledger *l, __u64 value)
{
	struct weft_recent *r = recent_of(epoch, key);
	struct page page = { .l = l };
	__u32 slot = epoch % WEFT_EPOCHS;
	void *map;

	if (r && is_same_count(&r->key, key)) {
		r->count.count++;
		r->count.value += value;
		tally(l, WEFT_COUNTED, value);
		return true;
	}
	map = bpf_map_lookup_elem(&count_epochs, &slot);
	/* The table has each recent key from the first, so that what is
	 * counted beside it always has a place there. */
	if (!map || !r ||
	    (r->count.count && !add_to_table(map, &r->key, &r->count))) {
		tally(l, WEFT_LOST_BUSY, value); /* cannot be */
		return false;
	}
	r->count = (struct weft_count){ 0 };
	if (!count_in_table(map, epoch, key, stack, page, value))
		return false;
	r->key = *key;
	tally(l, WEFT_COUNTED, value);
	return true;
}

/* The same for programs that others of the same CPU may interrupt, or that
 * interrupt others: each counts in the table. stack as count_in_table(). */
static __always_inline bool count_shared(__u32 epoch,
					 struct weft_count_key *key,
					 const struct weft_stack *stack,
					 struct page page, __u64 value)
{
	__u32 slot = epoch % WEFT_EPOCHS;
	void *map = bpf_map_lookup_elem(&count_epochs, &slot);

	if (!map) {
		note(page, WEFT_LOST_BUSY, value); /* cannot be */
		return false;
	}
	if (!count_in_table(map, epoch, key, stack, page, value))
		return false;
	note(page, WEFT_COUNTED, value);
	return true;
}

#endif

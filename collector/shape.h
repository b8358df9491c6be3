/* SPDX-License-Identifier: MIT */
/*
 * Shape as it comes out of the kernel: the counts and stacks of one epoch,
 * summed over CPUs. Plain data; filled by probe_drain().
 */
#ifndef WEFT_SHAPE_H
#define WEFT_SHAPE_H

#include "bpf/wire.h"
#include "store/weft.h"

struct shape_count {
	struct weft_count_key key;
	uint64_t count, value;
};

struct shape_stack {
	struct weft_stack_key key;
	uint16_t n_kernel, n_user;
	uint8_t user_end; /* enum weft_walk_end */
	bool kernel_truncated;
	bool user_leaf_exact;
	size_t first; /* index into addresses: kernel, then user; leaf first */
};

struct shape_value {
	uint32_t number; /* weft_count_key.attribute */
	struct weft_shape_value value;
};

struct shape {
	struct shape_value *values; /* owned; of all intervals so far */
	size_t n_values, values_room;
	struct shape_count *counts; /* owned */
	size_t n_counts, counts_room;
	struct shape_stack *stacks; /* owned; ascending by key when sealed */
	size_t n_stacks, stacks_room;
	uint64_t *addresses; /* owned */
	size_t n_addresses, addresses_room;
};

/* Add rows. -ENOMEM. */
int shape_add_count(struct shape *s, const struct weft_count_key *key,
		    uint64_t count, uint64_t value) MUST_CHECK;
int shape_add_stack(struct shape *s, const struct weft_stack_key *key,
		    const struct weft_stack *stack) MUST_CHECK;

/* Read the values that counts may have, from their map. Returns 0 or a negative
 * errno. */
int shape_read_values(struct shape *s, int fd) MUST_CHECK;

/* NULL: none of that number. */
const struct weft_shape_value *shape_find_value(const struct shape *s,
						uint32_t number);

/* Order the stacks, once all are in, so that shape_find() works. */
void shape_seal(struct shape *s);

/* NULL: no such stack; it was lost. */
const struct shape_stack *shape_find(const struct shape *s,
				     const struct weft_stack_key *key);

void shape_release(struct shape *s);

#endif

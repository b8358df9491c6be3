/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/shape.h"

int shape_add_count(struct shape *s, const struct weft_count_key *key,
		    uint64_t count, uint64_t value)
{
	if (GROW(s->counts, s->n_counts + 1, s->counts_room))
		return -ENOMEM;
	s->counts[s->n_counts++] = (struct shape_count){
		.key = *key,
		.count = count,
		.value = value,
	};
	return 0;
}

int shape_add_stack(struct shape *s, const struct weft_stack_key *key,
		    const struct weft_stack *stack)
{
	size_t n = (size_t)stack->n_kernel + stack->n_user;

	if (n > WEFT_MAX_FRAMES)
		return -EPROTO;
	if (GROW(s->stacks, s->n_stacks + 1, s->stacks_room) ||
	    GROW(s->addresses, s->n_addresses + n, s->addresses_room))
		return -ENOMEM;
	s->stacks[s->n_stacks++] = (struct shape_stack){
		.key = *key,
		.n_kernel = stack->n_kernel,
		.n_user = stack->n_user,
		.user_end = stack->user_end,
		.kernel_truncated = stack->kernel_truncated,
		.user_leaf_exact = stack->user_leaf_exact,
		.first = s->n_addresses,
	};
	memcpy(s->addresses + s->n_addresses, stack->address,
	       n * sizeof(*s->addresses));
	s->n_addresses += n;
	return 0;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct shape_stack *x = a, *y = b;

	return memcmp(&x->key, &y->key, sizeof(x->key));
}

void shape_seal(struct shape *s)
{
	if (s->n_stacks)
		qsort(s->stacks, s->n_stacks, sizeof(*s->stacks),
		      compare_stacks);
}

const struct shape_stack *shape_find(const struct shape *s,
				     const struct weft_stack_key *key)
{
	struct shape_stack wanted = { .key = *key };

	if (!s->n_stacks)
		return NULL;
	return bsearch(&wanted, s->stacks, s->n_stacks, sizeof(*s->stacks),
		       compare_stacks);
}

int shape_read_values(struct shape *s, int fd)
{
	struct weft_shape_value key, *from = NULL;

	while (!bpf_map_get_next_key(fd, from, &key)) {
		if (s->n_values >= WEFT_SHAPE_VALUES_MAX)
			return 0;
		if (GROW(s->values, s->n_values + 1, s->values_room))
			return -ENOMEM;
		s->values[s->n_values].value = key;
		if (!bpf_map_lookup_elem(fd, &key,
					 &s->values[s->n_values].number))
			s->n_values++;
		from = &key;
	}
	return 0;
}

const struct weft_shape_value *shape_find_value(const struct shape *s,
						uint32_t number)
{
	for (size_t i = 0; i < s->n_values; i++) {
		if (s->values[i].number == number)
			return &s->values[i].value;
	}
	return NULL;
}

void shape_release(struct shape *s)
{
	free(s->counts);
	free(s->stacks);
	free(s->addresses);
	free(s->values);
	*s = (struct shape){ 0 };
}

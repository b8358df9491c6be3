/* SPDX-License-Identifier: MIT */
/*
 * One attribute of the thread's record as a part of what is counted: its value
 * by a number. Values are few or they are refused: what is told apart here is
 * multiplied with the stacks.
 */
#ifndef WEFT_SHAPE_BPF_H
#define WEFT_SHAPE_BPF_H

#include "context.bpf.h"
#include "notice.bpf.h"
#include "shared.bpf.h"
#include "wire.h"

/* value -> its number, from 1; never emptied. Full: shape_by_full. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WEFT_SHAPE_VALUES_MAX);
	__type(key, struct weft_shape_value);
	__type(value, __u32);
} shape_values SEC(".maps");

enum {
	SHAPE_READ_MAX = 612, /* so much the OTEP allows */
	SHAPE_ENTRIES_MAX = 32,
	SHAPE_MASK = 1023,
};

struct shape_scratch {
	__u8 bytes[SHAPE_MASK + 1];
	struct weft_shape_value value;
};

/* One per CPU, set before load; the timer's program's own. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct shape_scratch);
} shape_scratches SEC(".maps");

/* Find the last entry of a key. Returns where its value begins, 0: none. */
static __always_inline __u32 find_attribute(const struct shape_scratch *s,
					    __u32 n, __u8 number, __u32 *size)
{
	__u32 at = 0, found = 0;

	for (int i = 0; i < SHAPE_ENTRIES_MAX; i++) {
		__u32 length;

		if (at + 2 > n)
			break;
		length = s->bytes[(at + 1) & SHAPE_MASK];
		if (at + 2 + length > n)
			break;
		if (s->bytes[at & SHAPE_MASK] == number) {
			found = at + 2;
			*size = length;
		}
		at += 2 + length;
	}
	return found;
}

/* The number of the value in s->value; 0: it is refused. No process may take
 * more than half of all. */
static __always_inline __u32 number_of_value(struct weft_context_entry *e,
					     struct shape_scratch *s)
{
	__u32 *known = bpf_map_lookup_elem(&shape_values, &s->value);
	__u32 number;

	if (known)
		return *known;
	if (shared.shape_values_made >= WEFT_SHAPE_VALUES_MAX ||
	    e->shape_made >= WEFT_SHAPE_VALUES_MAX / 2)
		return 0;
	number = __sync_fetch_and_add(&shared.shape_values_made, 1) + 1;
	if (number <= WEFT_SHAPE_VALUES_MAX &&
	    !bpf_map_update_elem(&shape_values, &s->value, &number,
				 BPF_NOEXIST)) {
		e->shape_made++;
		return number;
	}
	/* Another CPU was first. */
	known = bpf_map_lookup_elem(&shape_values, &s->value);
	return known ? *known : 0;
}

/* The value in the record at that address. */
static __always_inline __u32 shape_of_record(struct weft_context_entry *e,
					     struct shape_scratch *s,
					     __u64 record)
{
	struct otel_record r;
	__u32 n, found, size = 0, number;

	if (record & 1 ||
	    bpf_probe_read_user(&r, sizeof(r), (const void *)record) ||
	    r.valid != 1)
		return 0;
	n = r.attrs_size;
	if (n > SHAPE_READ_MAX)
		n = SHAPE_READ_MAX;
	if (!n || bpf_probe_read_user(s->bytes, n,
				      (const void *)(record + sizeof(r))))
		return 0;
	found = find_attribute(s, n, e->shape_number - 1, &size);
	if (!found || !size)
		return 0;
	if (size > WEFT_SHAPE_VALUE_BYTES)
		return WEFT_SHAPE_OTHER;
	__builtin_memset(&s->value, 0, sizeof(s->value));
	s->value.size = size;
	bpf_probe_read_kernel(s->value.bytes, size,
			      &s->bytes[found & SHAPE_MASK]);
	number = number_of_value(e, s);
	return number ? number : WEFT_SHAPE_OTHER;
}

/* What the current thread's record says, as a number; 0: nothing. Not static,
 * so that the verifier looks at its loops once and not for each way that leads
 * here; for its sake pointers are checked, too. */
__noinline __u32 shape_attribute(struct shape_scratch *s,
				 const struct weft_identity *who, __u32 epoch)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 tp = task->thread.fsbase, record;
	struct weft_context_entry *e;
	__u32 pid, found = 0;
	__u8 status;

	if (!s || !who || kern_is_worker(task))
		return 0;
	pid = who->pid;
	e = bpf_map_lookup_elem(&context_entries, &pid);
	if (!e || !is_entry_of(e, who)) {
		ask_for_context(task, who, epoch);
		return 0;
	}
	if (!e->shape_number || !tp)
		return 0;
	for (int i = 0; i < WEFT_MAX_CONTEXT_SLOTS && i < e->n_slots; i++) {
		__u64 address = slot_address(e, &e->slot[i], tp, &status);

		if (address &&
		    !bpf_probe_read_user(&record, sizeof(record),
					 (const void *)address) &&
		    record)
			found = shape_of_record(e, s, record);
		if (found)
			break;
	}
	/* As in read_context(): else it may be of another attribute. */
	return is_entry_of(e, who) ? found : 0;
}

/* The same, for the timer's program. */
static __always_inline __u32 shape_of_tick(const struct weft_identity *who,
					   __u32 epoch)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct shape_scratch *s = bpf_map_lookup_elem(&shape_scratches, &cpu);

	return s ? shape_attribute(s, who, epoch) : 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What measures take of the thread. Examples: a few of the events of each
 * bucket are sent with their thread, its trace context, and its stack, as
 * samples in detail are. And keys: the stack itself, an attribute of the
 * context. Tables, contexts, scratch and the ring are those of the sampler.
 */
#ifndef WEFT_EXAMPLE_BPF_H
#define WEFT_EXAMPLE_BPF_H

#include "count.bpf.h"
#include "detail.bpf.h"
#include "measure_wire.h"
#include "slot.bpf.h"

/* What of an event an example is made of. */
struct chosen {
	__u32 epoch, bucket;
	__u64 value;
	const struct measure_key *key;
};

/* False: it did not get through. */
static __always_inline bool submit_example(struct task_struct *task,
					   const struct chosen *c,
					   const struct weft_stack_key *stack)
{
	struct weft_identity who = identity_of(task);
	struct measure_example *e =
		bpf_ringbuf_reserve(&samples, sizeof(*e), 0);

	if (!e)
		return false;
	sample_describe(&e->sample, task, &who);
	if (wants_context(&e->sample))
		ask_for_context(task, &who, c->epoch);
	e->sample.kind = WEFT_RECORD_EXAMPLE;
	e->sample.epoch = c->epoch;
	e->sample.boot_ns = bpf_ktime_get_boot_ns();
	e->sample.cpu = bpf_get_smp_processor_id();
	e->sample.stack = *stack;
	e->sample.value = c->value;
	e->sample.event = plan.number;
	e->bucket = c->bucket;
	e->pad = 0;
	e->key = *c->key;
	bpf_ringbuf_submit(e, wake_flag());
	return true;
}

static __always_inline bool send_example(void *ctx, bool in_kernel,
					 const struct chosen *c)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_slot *slot = slot_claim();
	struct weft_stack_key key;

	if (!slot)
		return false;
	key = walk(ctx, in_kernel, ctx, task, &slot->walk, c->epoch);
	put_stack(c->epoch, task->tgid, &key, &slot->walk.stack);
	slot_release(slot);
	return submit_example(task, c, &key);
}

/* Functions of their own: most events are not chosen, and entry points that
 * are not loaded bring no copy. */
static __noinline int send_from_kernel(void *ctx, const struct chosen *c)
{
	return send_example(ctx, true, c);
}

static __noinline int send_from_user(void *ctx, const struct chosen *c)
{
	return send_example(ctx, false, c);
}

/* The parts of a key that are of the thread: its stack, and an attribute of its
 * context. False: there is no scratch for that. */
static __always_inline bool put_thread(void *ctx, bool in_kernel, __u32 epoch,
				       struct measure_key *key)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct weft_identity who = identity_of(task);
	struct call_slot *slot = slot_claim();
	struct weft_stack_key stack;
	__u32 at = plan.stack_at - 1;

	if (!slot)
		return false;
	if (plan.stack_at && at <= MEASURE_KEY_WORDS - 4) {
		stack = walk(ctx, in_kernel, ctx, task, &slot->walk, epoch);
		put_stack(epoch, who.pid, &stack, &slot->walk.stack);
		key->word[at] = who.start_ns;
		key->word[at + 1] = (__u64)who.exec_seq << 32 | who.pid;
		key->word[at + 2] = stack.word[0];
		key->word[at + 3] = stack.word[1];
	}
	at = plan.attribute_at - 1;
	if (plan.attribute_at && at < MEASURE_KEY_WORDS)
		key->word[at] = shape_attribute(&slot->shape, &who, epoch);
	slot_release(slot);
	return true;
}

static __noinline int put_from_kernel(void *ctx, __u32 epoch,
				      struct measure_key *key)
{
	return put_thread(ctx, true, epoch, key);
}

static __noinline int put_from_user(void *ctx, __u32 epoch,
				    struct measure_key *key)
{
	return put_thread(ctx, false, epoch, key);
}

#endif

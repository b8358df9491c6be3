/* SPDX-License-Identifier: MIT */
/*
 * Calls: tracepoints, functions of programs and of the kernel, probes that
 * programs have built in. Every call is counted; a random part has its stack
 * taken, and of those a random part goes on as detail.
 *
 * Scratch is claimed (slot.bpf.h), and the ledger is added to with atomic
 * operations.
 */
#ifndef WEFT_CALL_BPF_H
#define WEFT_CALL_BPF_H

#include "count.bpf.h"
#include "detail.bpf.h"
#include "slot.bpf.h"
#include "target.bpf.h"

/* Most calls may end here: one look-up, four additions. */
static __always_inline void count_call(__u32 epoch, struct weft_count_key *key,
				       struct page page)
{
	key->stack = (struct weft_stack_key){ { 0, WEFT_KEY_NOT_TAKEN } };
	if (count_shared(epoch, key, NULL, page, 1))
		note(page, WEFT_PASSED_OVER, 1);
}

static __always_inline void count_stack(void *ctx, bool in_kernel,
					struct task_struct *task, __u32 epoch,
					struct weft_count_key *key,
					struct page page)
{
	struct call_slot *slot = slot_claim();

	if (!slot) {
		note(page, WEFT_LOST_BUSY, 1);
		return;
	}
	key->stack = walk(ctx, in_kernel, ctx, task, &slot->walk, epoch);
	if (count_shared(epoch, key, &slot->walk.stack, page, 1))
		send_detail(epoch, task, key, page, 1);
	slot_release(slot);
}

static __always_inline int take_call(void *ctx, bool in_kernel, __u32 event)
{
	__u32 epoch = current_epoch;
	struct task_struct *task = bpf_get_current_task_btf();
	struct page page = { ledger_find(epoch, event), true };
	struct weft_count_key key = { .event = event };

	if (!page.l || !started_ns || stopped_ns)
		return 0; /* nothing is recorded */
	note(page, WEFT_FIRED, 1);
	if (!task->pid) {
		note(page, WEFT_IDLE, 1);
		return 0;
	}
	if (!is_target(task)) {
		note(page, WEFT_FILTERED, 1);
		return 0;
	}
	key.process = identity_of(task);
	if (bpf_get_prandom_u32() >
	    config.event[event % WEFT_MAX_EVENTS].stack_chance)
		count_call(epoch, &key, page);
	else
		count_stack(ctx, in_kernel, task, epoch, &key, page);
	return 0;
}

static __noinline int take_kernel_call(void *ctx, __u32 event)
{
	return take_call(ctx, true, event);
}

/* The cookie is the event's number. */
SEC("?uprobe")
int on_uprobe(struct pt_regs *ctx)
{
	return take_call(ctx, false, bpf_get_attach_cookie(ctx));
}

/* One per event: the kernel counts by program which runs it left out. */
#define KERNEL_CALL(n)                           \
	SEC("?raw_tp")                           \
	int on_raw_##n(void *ctx)                \
	{                                        \
		return take_kernel_call(ctx, n); \
	}                                        \
	SEC("?tracepoint")                       \
	int on_tracepoint_##n(void *ctx)         \
	{                                        \
		return take_kernel_call(ctx, n); \
	}                                        \
	SEC("?kprobe")                           \
	int on_kprobe_##n(struct pt_regs *ctx)   \
	{                                        \
		return take_kernel_call(ctx, n); \
	}

KERNEL_CALL(0)
KERNEL_CALL(1)
KERNEL_CALL(2)
KERNEL_CALL(3)
KERNEL_CALL(4)
KERNEL_CALL(5)
KERNEL_CALL(6)
KERNEL_CALL(7)
_Static_assert(WEFT_MAX_EVENTS == 8, "one of each for each event");

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Taking the stack: kernel frames by the kernel's own walk, user frames by
 * frame pointer from the registers with which the thread last was in user
 * mode, and the key that names the result.
 */
#ifndef WEFT_WALK_BPF_H
#define WEFT_WALK_BPF_H

#include "wire.h"

enum {
	WALK_FIRST_PAGE = 4096,
	/* A frame larger than this is none: the register held something else.
	 * Reading where it points may fail, which costs more than a walk. */
	WALK_FRAME_MAX = 4 << 20
};

struct walk {
	struct weft_stack *stack;
	__u64 frame_pointer;
	__u64 below; /* the stack pointer, then the frame before */
	__u32 n;     /* frames in the stack so far, kernel's included */
	__u32 end;   /* enum weft_walk_end */
};

struct hash {
	const struct weft_stack *stack;
	__u64 lane[2];
};

/* Index i bounded for the verifier; frames are never that many. The barrier
 * keeps the compiler from testing one copy of i and using another. */
static __always_inline __u32 frame_slot(__u32 i)
{
	barrier_var(i);
	return i < WEFT_MAX_FRAMES ? i : WEFT_MAX_FRAMES - 1;
}

static __always_inline long walk_end(struct walk *w, enum weft_walk_end end)
{
	w->end = end;
	return 1;
}

/* One frame: [fp] is the caller's frame pointer, [fp + 8] the address to
 * which this function returns. The stack grows down, so callers lie above. */
static long walk_step(__u32 i, struct walk *w)
{
	__u64 frame[2];

	if (w->frame_pointer == 0)
		return walk_end(w, WEFT_END_ROOT);
	if (w->frame_pointer < WALK_FIRST_PAGE)
		return walk_end(w, WEFT_END_LOW);
	if (w->frame_pointer % 8)
		return walk_end(w, WEFT_END_UNALIGNED);
	if (w->frame_pointer - w->below > WALK_FRAME_MAX)
		return walk_end(w, WEFT_END_NOT_ABOVE);
	if (bpf_probe_read_user(frame, sizeof(frame),
				(const void *)w->frame_pointer))
		return walk_end(w, WEFT_END_FAULT);
	if (!frame[1])
		return walk_end(w, WEFT_END_NO_RETURN);

	w->stack->address[frame_slot(w->n)] = frame[1];
	w->n++;
	w->below = w->frame_pointer + sizeof(frame);
	w->frame_pointer = frame[0];
	return 0;
}

static __always_inline bool in_user_mode(const struct bpf_perf_event_data *ctx)
{
	return ctx->regs.cs & 3;
}

static __always_inline void walk_kernel(struct bpf_perf_event_data *ctx,
					struct weft_stack *s)
{
	long size = bpf_get_stack(ctx, s->address,
				  WEFT_MAX_KERNEL_FRAMES * sizeof(__u64), 0);

	if (size < 0)
		size = 0;
	s->n_kernel = size / sizeof(__u64);
	s->kernel_truncated = s->n_kernel == WEFT_MAX_KERNEL_FRAMES;
}

/* pc, fp, sp: where the thread was, or will go on, in user mode. */
static __always_inline void walk_user(struct weft_stack *s, __u64 pc, __u64 fp,
				      __u64 sp)
{
	struct walk w = {
		.stack = s,
		.frame_pointer = fp,
		.below = sp,
		.n = s->n_kernel,
		.end = WEFT_END_DEPTH,
	};

	s->address[frame_slot(w.n)] = pc;
	w.n++;
	bpf_loop(WEFT_MAX_USER_FRAMES, walk_step, &w, 0);
	s->n_user = w.n - s->n_kernel;
	if (s->n_user > WEFT_MAX_USER_FRAMES) {
		s->n_user = WEFT_MAX_USER_FRAMES;
		w.end = WEFT_END_DEPTH;
	}
	s->user_end = w.end;
}

static __always_inline void walk(struct bpf_perf_event_data *ctx,
				 struct task_struct *task, struct weft_stack *s)
{
	struct pt_regs regs;

	s->n_kernel = 0;
	s->n_user = 0;
	s->user_end = WEFT_END_NO_USER;
	s->kernel_truncated = 0;
	s->user_leaf_exact = 1;
	s->pad = 0;

	if (in_user_mode(ctx)) {
		if (config.user_stacks)
			walk_user(s, ctx->regs.rip, ctx->regs.rbp,
				  ctx->regs.rsp);
		return;
	}
	if (config.kernel_stacks)
		walk_kernel(ctx, s);
	/* Workers of io_uring have a user's memory, but no user registers. */
	if (!config.user_stacks || !task->mm ||
	    task->flags &
		    (KERN_PF_KTHREAD | KERN_PF_IO_WORKER | KERN_PF_USER_WORKER))
		return;
	if (bpf_probe_read_kernel(&regs, sizeof(regs),
				  (const void *)bpf_task_pt_regs(task)))
		return;
	/* In a system call the saved address is the one after `syscall`. */
	s->user_leaf_exact = (long)regs.orig_rax < 0;
	walk_user(s, regs.rip, regs.rbp, regs.rsp);
}

/*
 * The key: NH of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999), two
 * lanes with independent random keys per position. Two different stacks get
 * the same key with probability 2^-64, whoever chose them.
 */
static __always_inline void hash_word(struct hash *h, __u32 i, __u64 word)
{
	const volatile __u32(*key)[2] =
		config.hash_key[i & (WEFT_HASH_WORDS - 1)];
	__u32 low = word, high = word >> 32;

	for (int lane = 0; lane < 2; lane++)
		h->lane[lane] +=
			(__u64)(low + key[lane][0]) * (high + key[lane][1]);
}

static long hash_step(__u32 i, struct hash *h)
{
	hash_word(h, i + 1, h->stack->address[frame_slot(i)]);
	return 0;
}

static __always_inline struct weft_stack_key
stack_key(const struct weft_stack *s)
{
	struct hash h = { .stack = s };
	__u64 shape = s->n_kernel | (__u64)s->n_user << 16 |
		      (__u64)s->user_end << 32 |
		      (__u64)s->user_leaf_exact << 40;

	hash_word(&h, 0, shape);
	bpf_loop(s->n_kernel + s->n_user, hash_step, &h, 0);
	/* All zero is taken: "stack lost". */
	return (struct weft_stack_key){ { h.lane[0] | 1, h.lane[1] } };
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Taking the stack: kernel frames by the kernel's own walk, user frames from
 * the registers with which the thread last was in user mode, and the key that
 * names the result.
 */
#ifndef WEFT_WALK_BPF_H
#define WEFT_WALK_BPF_H

#include "mapping.bpf.h"
#include "shared.bpf.h"
#include "unwind.h"
#include "wire.h"

/*
 * The key: NH of UMAC (Black, Halevi, Krawczyk, Krovetz, Rogaway 1999), two
 * lanes with independent random keys per position. Two different stacks get
 * the same key with probability 2^-64, whoever chose them.
 */
struct hash {
	__u64 lane[2];
};

enum {
	/* Reading so much of the stack at a time costs little more than
	 * reading a word, and has the next frames too. Power of 2. */
	WINDOW_WORDS = 128,
	PAGE_MASK = 4095,
	RULES_CACHED = 4096, /* power of 2 */
	RULE_OFFSET_BITS = 40
};

/* A rule found before. A place in a file's code never changes its rule; that
 * of another table has another serial. */
struct cached_rule {
	__u64 place; /* serial << RULE_OFFSET_BITS | offset */
	struct weft_rule rule;
};

/* What one CPU writes and remembers on the way; used by one program at one
 * level of nesting. */
struct walk {
	struct unwind unwind; /* first: a step is given its address */
	struct hash hash;
	__u32 n; /* frames in the stack so far, kernel's included */
	struct weft_stack stack;
	bool has_registers; /* below */
	struct unwind_registers registers;
	__u64 window_start; /* address of the stack memory below */
	__u32 window_bytes; /* 0: none was read */
	__u64 window[WINDOW_WORDS];
	struct mappings mappings;
	struct cached_rule rules[RULES_CACHED];
};
_Static_assert(sizeof(struct walk) < WEFT_SCRATCH_BYTES,
	       "as the collector adds it up, with what goes with it");

/* Index i bounded for the verifier; frames are never that many. The barrier
 * keeps the compiler from testing one copy of i and using another. */
static __always_inline __u32 frame_slot(__u32 i)
{
	barrier_var(i);
	return i < WEFT_MAX_FRAMES ? i : WEFT_MAX_FRAMES - 1;
}

static __always_inline void hash_word(struct hash *h, __u32 i, __u64 word)
{
	const volatile __u32(*key)[2] =
		config.hash_key[i & (WEFT_HASH_WORDS - 1)];
	__u32 low = word, high = word >> 32;

	for (int lane = 0; lane < 2; lane++)
		h->lane[lane] +=
			(__u64)(low + key[lane][0]) * (high + key[lane][1]);
}

/* What unwind.h wants. */
static __always_inline bool unwind_read(void *to, __u32 size, __u64 from)
{
	return !bpf_probe_read_user(to, size, (const void *)from);
}

static __always_inline bool unwind_read_stack(struct unwind *u, __u64 *words,
					      __u32 n, __u64 from)
{
	struct walk *w = (struct walk *)u;
	__u64 at = from - w->window_start;
	__u32 bytes = PAGE_MASK + 1 - (from & PAGE_MASK), slot;

	if (from % 8)
		return unwind_read(words, n * sizeof(*words), from);
	if (w->window_bytes < n * sizeof(*words) ||
	    at > w->window_bytes - n * sizeof(*words)) {
		/* Not into the next page, which may not be there. */
		if (bytes < n * sizeof(*words))
			return unwind_read(words, n * sizeof(*words), from);
		if (bytes > sizeof(w->window))
			bytes = sizeof(w->window);
		w->window_bytes = 0;
		if (!unwind_read(w->window, bytes, from))
			return false;
		w->window_start = from;
		w->window_bytes = bytes;
		at = 0;
	}
	slot = at / 8;
	for (__u32 i = 0; i < n; i++) {
		barrier_var(slot);
		words[i] = w->window[slot & (WINDOW_WORDS - 1)];
		slot++;
	}
	return true;
}

static __always_inline bool unwind_find_place(struct unwind *u, __u64 address)
{
	struct mapping *m =
		mapping_find(&((struct walk *)u)->mappings, address);

	if (!m)
		return false;
	u->place = m->place;
	return true;
}

static __always_inline bool unwind_rule(struct unwind *u, __u64 offset,
					struct weft_rule *rule)
{
	__u64 place = (__u64)u->place.table.serial << RULE_OFFSET_BITS | offset;
	__u64 slot = (place ^ place >> 12 ^ place >> RULE_OFFSET_BITS) &
		     (RULES_CACHED - 1);
	struct cached_rule *c;

	/* It would read as a place of another table. */
	if (offset >> RULE_OFFSET_BITS)
		return unwind_find(&u->place.table, offset, rule);
	barrier_var(slot);
	c = &((struct walk *)u)->rules[slot & (RULES_CACHED - 1)];
	if (c->place == place) {
		*rule = c->rule;
		return true;
	}
	if (!unwind_find(&u->place.table, offset, rule))
		return false;
	c->place = place;
	c->rule = *rule;
	return true;
}

static __always_inline struct unwind_registers *
unwind_registers(struct unwind *u)
{
	struct walk *w = (struct walk *)u;

	/* Only odd rules need them all. */
	if (!w->has_registers)
		bpf_probe_read_kernel(
			w->registers.pt, sizeof(w->registers.pt),
			(void *)bpf_task_pt_regs(bpf_get_current_task_btf()));
	w->has_registers = true;
	return &w->registers;
}

static __always_inline void unwind_push(struct unwind *u, __u64 address)
{
	struct walk *w = (struct walk *)u;

	w->stack.address[frame_slot(w->n)] = address;
	w->n++;
	hash_word(&w->hash, w->n, address);
}

/* Steps of loops: their context must lie on the stack. */
static long walk_step(__u32 i, struct walk **w)
{
	return unwind_step(i, &(*w)->unwind);
}

static long hash_step(__u32 i, struct walk **w)
{
	hash_word(&(*w)->hash, i + 1, (*w)->stack.address[frame_slot(i)]);
	return 0;
}

static __always_inline void walk_kernel(void *ctx, struct walk *w)
{
	struct weft_stack *s = &w->stack;
	long size = bpf_get_stack(ctx, s->address,
				  WEFT_MAX_KERNEL_FRAMES * sizeof(__u64), 0);

	if (size < 0)
		size = 0;
	s->n_kernel = size / sizeof(__u64);
	s->kernel_truncated = s->n_kernel == WEFT_MAX_KERNEL_FRAMES;
	w->n = s->n_kernel;
	bpf_loop(w->n, hash_step, &w, 0);
}

/* In a system call the saved address is the one after `syscall`. But execve()
 * leaves by the first instruction of a program, and a signal that comes at
 * the end of a call by that of its handler. */
static __always_inline bool is_after_syscall(long call, __u64 pc)
{
	const __u8 syscall_instruction[2] = { 0x0f, 0x05 };
	__u8 code[2];

	return call >= 0 &&
	       unwind_read(code, sizeof(code), pc - sizeof(code)) &&
	       code[0] == syscall_instruction[0] &&
	       code[1] == syscall_instruction[1];
}

/* Where the thread will go on in user mode: its registers lie at the top of
 * its kernel stack. Returns its code segment. */
static __always_inline __u16 walk_from_kernel(struct task_struct *task,
					      struct unwind *u)
{
	const struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	__u16 code_segment = 0;

	bpf_probe_read_kernel(&code_segment, sizeof(code_segment), &regs->cs);
	u->pc = regs->rip;
	u->sp = regs->rsp;
	u->rbp = regs->rbp;
	u->rbx = regs->rbx;
	u->is_after = is_after_syscall(regs->orig_rax, u->pc);
	return code_segment;
}

static __always_inline __u16 walk_from_user(const struct pt_regs *regs,
					    struct unwind *u)
{
	u->pc = regs->rip;
	u->sp = regs->rsp;
	u->rbp = regs->rbp;
	u->rbx = regs->rbx;
	u->is_after = false;
	return regs->cs;
}

static __always_inline void walk_user(struct task_struct *task, struct walk *w,
				      __u32 epoch, __u16 code_segment)
{
	struct weft_stack *s = &w->stack;
	struct unwind *u = &w->unwind;

	u->end = WEFT_END_DEPTH;
	u->knows_all = true;
	s->user_leaf_exact = !u->is_after;
	if (code_segment == KERN_USER32_CS) {
		unwind_push(u, u->pc);
		u->end = WEFT_END_COMPAT;
	} else if (!memory_of(task, &w->mappings.memory, epoch)) {
		unwind_push(u, u->pc);
		u->end = WEFT_END_PENDING;
	} else {
		bpf_loop(WEFT_MAX_USER_FRAMES, walk_step, &w, 0);
	}
	s->n_user = w->n - s->n_kernel;
	s->user_end = u->end;
}

static __always_inline void walk_begin(struct walk *w, __u32 epoch,
				       bool in_kernel)
{
	struct weft_stack *s = &w->stack;

	__builtin_memset(&w->unwind, 0, sizeof(w->unwind));
	w->unwind.in_kernel = in_kernel;
	w->hash = (struct hash){ 0 };
	w->has_registers = false;
	w->window_bytes = 0;
	w->n = 0;
	w->mappings.epoch = epoch;
	w->mappings.generation = shared.table_changes;
	s->n_kernel = 0;
	s->n_user = 0;
	s->user_end = WEFT_END_NO_USER;
	s->kernel_truncated = 0;
	s->user_leaf_exact = 1;
	s->pad = 0;
}

/*
 * Take the current thread's stack into w->stack. in_kernel: it is there, and
 * ctx tells the kernel where; else regs are those of user mode. Returns the
 * stack's key.
 */
static __always_inline struct weft_stack_key walk(void *ctx, bool in_kernel,
						  const struct pt_regs *regs,
						  struct task_struct *task,
						  struct walk *w, __u32 epoch)
{
	const struct weft_stack *s = &w->stack;

	walk_begin(w, epoch, in_kernel);
	if (in_kernel && config.kernel_stacks)
		walk_kernel(ctx, w);
	/* Workers of io_uring have a user's memory, but no user registers. */
	if (config.user_stacks && task->mm &&
	    !(task->flags & KERN_PF_EXITING) && !kern_is_worker(task))
		walk_user(task, w, epoch,
			  in_kernel ? walk_from_kernel(task, &w->unwind)
				    : walk_from_user(regs, &w->unwind));
	hash_word(&w->hash, 0,
		  s->n_kernel | (__u64)s->n_user << 16 |
			  (__u64)s->user_end << 32 |
			  (__u64)s->user_leaf_exact << 40);
	/* All zero is taken: "stack lost". */
	return (struct weft_stack_key){ { w->hash.lane[0] | 1,
					  w->hash.lane[1] } };
}

#endif

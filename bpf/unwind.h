/* SPDX-License-Identifier: MIT */
/*
 * One frame to the next: from what is known of a frame (place, stack pointer,
 * and lazily rbp and rbx) to its caller, by the rule of its file's table,
 * else by frame pointer. The kernel program and its user-space double in the
 * tests are built from this file. Who includes it provides, before:
 *
 *   unwind_read()       copy of the process's memory; false: not readable
 *   unwind_read_stack() the same for one or two words of the stack, which lie
 *                       near each other from frame to frame
 *   unwind_find_place() set u->place to what is mapped executable at an
 *                       address; false: nothing is
 *   unwind_block()      a block of a place's table, NULL: not there
 *   unwind_rule()       unwind_find(), perhaps from memory
 *   unwind_registers()  scratch for all registers of a frame
 *   unwind_push()       take an address as a frame of the stack: of callers
 *                       always one byte after what they were executing
 */
#ifndef WEFT_UNWIND_H
#define WEFT_UNWIND_H

#include <stdbool.h>

#include "wire.h"

enum {
	/* A frame larger than this is none: the register held something else.
	 * Reading where it points may fail, which costs more than a walk. */
	UNWIND_FRAME_MAX = 4 << 20,
	UNWIND_LOST = 1, /* where no register can have been saved */
};

/* An executable mapping. */
struct unwind_place {
	__u64 start, end; /* addresses */
	__u64 bias;       /* add to an address for the file offset */
	struct weft_table table;
};

/* struct pt_regs and what a signal frame keeps, in 64-bit words. */
enum {
	UNWIND_PT_RBP = 4,
	UNWIND_PT_RBX = 5,
	UNWIND_PT_RIP = 16,
	UNWIND_PT_RSP = 19,
	UNWIND_PT_WORDS = 21,
	UNWIND_SIGNAL_OFFSET = 40, /* of the registers in struct ucontext */
	UNWIND_SIGNAL_WORDS = 17,
};

struct unwind_registers {
	__u64 pt[UNWIND_PT_WORDS];
	__u64 signal[UNWIND_SIGNAL_WORDS];
};

struct unwind {
	struct unwind_place place; /* of the last frame; end 0: none yet */
	__u64 pc, sp;
	__u64 rbp, rbx;
	/* Not 0: the register is saved there and was not read yet. */
	__u64 rbp_at, rbx_at;
	__u32 end;       /* enum weft_walk_end */
	bool is_after;   /* pc is the end of a call: what it is in, is the byte
			    before. A call can be a function's last word */
	bool knows_all;  /* all registers, as where a thread was interrupted */
	bool by_pointer; /* so the frame before was found */
	bool in_kernel;  /* the thread was interrupted in the kernel */
};

static __always_inline bool unwind_read(void *to, __u32 size, __u64 from);
static __always_inline bool unwind_read_stack(struct unwind *u, __u64 *words,
					      __u32 n, __u64 from);
static __always_inline bool unwind_find_place(struct unwind *u, __u64 address);
static __always_inline const __u32 *unwind_block(const struct weft_table *t,
						 __u32 block);
static __always_inline bool unwind_rule(struct unwind *u, __u64 offset,
					struct weft_rule *rule);
static __always_inline struct unwind_registers *
unwind_registers(struct unwind *u);
static __always_inline void unwind_push(struct unwind *u, __u64 address);

static __always_inline long unwind_end(struct unwind *u, enum weft_walk_end end)
{
	u->end = end;
	return 1;
}

/* The row in force: the last of n from first on that is not above the key.
 * Positions are absolute, because the verifier follows all values of a number
 * that begins with 0. */
static __always_inline __u32 unwind_search(const __u32 *rows, __u32 first,
					   __u32 n, __u32 key)
{
	const __u32 in_block = WEFT_TABLE_BLOCK_WORDS - 1;
	__u32 low = first, end = first + n;

	for (__u32 step = WEFT_TABLE_BLOCK_WORDS / 2; step; step /= 2) {
		if (low + step < end && rows[(low + step) & in_block] <= key)
			low += step;
	}
	return rows[low & in_block];
}

/* The rule for a byte of a file, by its offset; WEFT_RULE_NONE outside of what
 * the table describes. False: the table is gone. */
static __always_inline bool unwind_find(const struct weft_table *t,
					__u64 offset, struct weft_rule *rule)
{
	const __u32 in_block = WEFT_TABLE_BLOCK_WORDS - 1;
	__u64 page = (offset >> WEFT_TABLE_PAGE_BITS) - t->first_page;
	__u32 key = offset << WEFT_TABLE_ROW_SHIFT |
		    ((1 << WEFT_TABLE_ROW_SHIFT) - 1);
	__u32 at, first, n, number;
	const __u32 *words;

	if (page >= t->n_pages) {
		rule->kind = WEFT_RULE_NONE;
		return true;
	}
	at = page * 2;
	words = unwind_block(t, at / WEFT_TABLE_BLOCK_WORDS);
	if (!words)
		return false;
	first = words[at & in_block & ~1U];
	n = words[(at & in_block) | 1];
	words = unwind_block(t, first / WEFT_TABLE_BLOCK_WORDS);
	if (!words || !n)
		return false;
	number = unwind_search(words, first, n, key) & 0xffff;
	at = number * 2;
	words = unwind_block(t, t->rules_block + at / WEFT_TABLE_BLOCK_WORDS);
	if (!words)
		return false;
	__builtin_memcpy(rule, &words[at & in_block & ~1U], sizeof(*rule));
	return true;
}

/* Make sure of a register that a callee may have saved. */
static __always_inline bool unwind_load(struct unwind *u, __u64 *value,
					__u64 *saved_at)
{
	if (!*saved_at)
		return true;
	if (*saved_at == UNWIND_LOST) {
		u->end = WEFT_END_REGISTER;
		return false;
	}
	if (!unwind_read_stack(u, value, 1, *saved_at)) {
		u->end = WEFT_END_FAULT;
		return false;
	}
	*saved_at = 0;
	return true;
}

/* Under a signal handler: the kernel saved all registers. The stack may be
 * another one, so nothing is said of where the next frame lies. */
static __always_inline long unwind_signal(struct unwind *u)
{
	/* Words of pt_regs in the order of ucontext: r8 to r15, rdi, rsi, rbp,
	 * rbx, rdx, rax, rcx, rsp, rip
	 * (arch/x86/include/uapi/asm/sigcontext.h).
	 */
	static const __u8 word[UNWIND_SIGNAL_WORDS] = { 9,  8,  7,  6,  3, 2,
							1,  0,  14, 13, 4, 5,
							12, 10, 11, 19, 16 };
	struct unwind_registers *r = unwind_registers(u);

	if (!unwind_read(r->signal, sizeof(r->signal),
			 u->sp + UNWIND_SIGNAL_OFFSET))
		return unwind_end(u, WEFT_END_FAULT);
#pragma GCC unroll 17
	for (__u32 i = 0; i < UNWIND_SIGNAL_WORDS; i++)
		r->pt[word[i]] = r->signal[i];
	u->pc = r->pt[UNWIND_PT_RIP];
	u->sp = r->pt[UNWIND_PT_RSP];
	u->rbp = r->pt[UNWIND_PT_RBP];
	u->rbx = r->pt[UNWIND_PT_RBX];
	u->rbp_at = 0;
	u->rbx_at = 0;
	u->is_after = false;
	u->knows_all = true;
	u->by_pointer = false;
	return 0;
}

/* The canonical frame address. False: u->end says why there is none. */
static __always_inline bool unwind_cfa(struct unwind *u,
				       const struct weft_rule *rule, __u64 *cfa)
{
	__u64 base = u->sp;

	switch (rule->kind) {
	case WEFT_RULE_RSP:
	case WEFT_RULE_RSP_DEREF:
		break;
	case WEFT_RULE_PLT:
		*cfa = base + 8 + ((u->pc & 15) >= (__u32)rule->offset) * 8;
		return true;
	case WEFT_RULE_RBP:
	case WEFT_RULE_RBP_DEREF:
		if (!unwind_load(u, &u->rbp, &u->rbp_at))
			return false;
		base = u->rbp;
		break;
	case WEFT_RULE_RBX:
		if (!unwind_load(u, &u->rbx, &u->rbx_at))
			return false;
		base = u->rbx;
		break;
	case WEFT_RULE_REGISTER:
		if (!u->knows_all || rule->aux >= UNWIND_PT_WORDS) {
			u->end = WEFT_END_REGISTER;
			return false;
		}
		base = unwind_registers(u)->pt[rule->aux];
		break;
	default:
		u->end = WEFT_END_BAD_RULE;
		return false;
	}
	base += (__s64)rule->offset;
	if (rule->kind == WEFT_RULE_RBP_DEREF ||
	    rule->kind == WEFT_RULE_RSP_DEREF) {
		if (!unwind_read_stack(u, &base, 1, base)) {
			u->end = WEFT_END_FAULT;
			return false;
		}
		base += 8 * rule->aux;
	}
	*cfa = base;
	return true;
}

/* Where the caller will find a register that this frame may have saved. */
static __always_inline bool unwind_saved(struct unwind *u, __u8 saved,
					 __u64 cfa, __u64 *at)
{
	if (saved == WEFT_SAVED_NOT)
		return true;
	if (saved == WEFT_SAVED_AT_RBP) {
		if (!unwind_load(u, &u->rbp, &u->rbp_at))
			return false;
		*at = u->rbp;
	} else {
		*at = saved <= WEFT_SAVED_MAX ? cfa - 8ULL * saved
					      : UNWIND_LOST;
	}
	return true;
}

/* vfork() and the like take their return address off the stack. */
static __always_inline long unwind_held(struct unwind *u,
					const struct weft_rule *rule)
{
	if (!u->knows_all || rule->aux >= UNWIND_PT_WORDS)
		return unwind_end(u, WEFT_END_REGISTER);
	u->pc = unwind_registers(u)->pt[rule->aux];
	u->sp += (__s64)rule->offset;
	return 0;
}

static __always_inline long unwind_by_rule(struct unwind *u,
					   const struct weft_rule *rule)
{
	__u64 cfa, rbp_at, rbx_at, word[2];

	if (!unwind_cfa(u, rule, &cfa))
		return 1;
	if (cfa <= u->sp)
		return unwind_end(u, WEFT_END_NOT_ABOVE);
	rbp_at = u->rbp_at;
	rbx_at = u->rbx_at;
	if (!unwind_saved(u, rule->rbx, cfa, &rbx_at))
		return 1;
	if (rule->rbp == 2) {
		/* Beside the return address: one read takes both. */
		if (!unwind_read_stack(u, word, 2, cfa - sizeof(word)))
			return unwind_end(u, WEFT_END_FAULT);
		u->rbp = word[0];
		rbp_at = 0;
	} else {
		if (!unwind_saved(u, rule->rbp, cfa, &rbp_at))
			return 1;
		if (!unwind_read_stack(u, &word[1], 1, cfa - 8))
			return unwind_end(u, WEFT_END_FAULT);
	}
	u->rbp_at = rbp_at;
	u->rbx_at = rbx_at;
	u->by_pointer = false;
	u->sp = cfa;
	u->pc = word[1];
	return 0;
}

/* Whether a call ends at the address: a number that only looks like a return
 * address seldom has one before it. Or, for the last of a chain, a nop: Go has
 * its goroutines return to the second byte of runtime.goexit. */
static __always_inline bool unwind_is_return(__u64 address, bool is_last)
{
	enum {
		NOP = 0x90,
		CALL = 0xe8,     /* with four bytes of distance */
		INDIRECT = 0xff, /* with 2 in bits 3 to 5 of the next byte */
		SUBCODE_MASK = 0x38,
		SUBCODE = 0x10
	};
	__u8 code[7]; /* the longest that has no prefix */

	if (!unwind_read(code, sizeof(code), address - sizeof(code)))
		return false;
	return code[2] == CALL || (code[6] == NOP && is_last) ||
	       (code[5] == INDIRECT && (code[6] & SUBCODE_MASK) == SUBCODE) ||
	       (code[4] == INDIRECT && (code[5] & SUBCODE_MASK) == SUBCODE) ||
	       (code[3] == INDIRECT && (code[4] & SUBCODE_MASK) == SUBCODE) ||
	       (code[1] == INDIRECT && (code[2] & SUBCODE_MASK) == SUBCODE) ||
	       (code[0] == INDIRECT && (code[1] & SUBCODE_MASK) == SUBCODE);
}

/* [rbp] is the caller's frame pointer, [rbp + 8] the return address. The stack
 * grows down, so callers lie above. */
static __always_inline long unwind_by_frame_pointer(struct unwind *u)
{
	__u64 frame[2];

	if (!unwind_load(u, &u->rbp, &u->rbp_at))
		return 1;
	if (u->rbp == 0 && !u->knows_all)
		return unwind_end(u, WEFT_END_ROOT);
	if (u->rbp % 8 || u->rbp - u->sp > UNWIND_FRAME_MAX)
		return unwind_end(u, WEFT_END_NO_FRAME);
	if (!unwind_read_stack(u, frame, 2, u->rbp))
		return unwind_end(u, WEFT_END_FAULT);
	/* Where a chain begins there may be none: the register is also used
	 * for other things. One that began well goes on well. */
	if (!u->by_pointer && !frame[1])
		return unwind_end(u, WEFT_END_NO_FRAME);
	if (frame[1] && (!u->by_pointer || !frame[0]) &&
	    !unwind_is_return(frame[1], !frame[0]))
		return unwind_end(u, WEFT_END_NO_FRAME);
	u->by_pointer = true;
	u->sp = u->rbp + sizeof(frame);
	u->rbp = frame[0];
	u->pc = frame[1];
	u->rbx_at = UNWIND_LOST;
	return 0;
}

/* Take one frame and find its caller. Returns 1 at the end. */
static __always_inline long unwind_step(__u32 i, struct unwind *u)
{
	struct weft_rule rule = { 0 };
	__u64 address = u->pc - u->is_after;
	long is_over;

	if ((address < u->place.start || address >= u->place.end) &&
	    !unwind_find_place(u, address)) {
		if (i)
			return unwind_end(u, WEFT_END_NO_MAPPING);
		/* Executing, whatever we know; but in an execve() the old
		 * registers remain while the mappings are gone. */
		if (u->in_kernel)
			return unwind_end(u, WEFT_END_NO_USER);
		unwind_push(u, u->pc);
		return unwind_end(u, WEFT_END_NO_MAPPING);
	}
	if (u->place.table.state == WEFT_TABLE_READY &&
	    !unwind_rule(u, address + u->place.bias, &rule))
		u->place.table.state = WEFT_TABLE_PENDING;
	/* A signal's trampoline was not called either, but made to look so. */
	if (rule.kind == WEFT_RULE_SIGNAL)
		address = u->pc;
	unwind_push(u, i ? address + 1 : u->pc);
	if (u->place.table.state == WEFT_TABLE_PENDING)
		return unwind_end(u, WEFT_END_PENDING);
	if (rule.kind == WEFT_RULE_END)
		return unwind_end(u, WEFT_END_MARKED);
	if (rule.kind == WEFT_RULE_SIGNAL)
		return unwind_signal(u);
	if (rule.kind == WEFT_RULE_NONE)
		is_over = unwind_by_frame_pointer(u);
	else if (rule.kind == WEFT_RULE_HELD)
		is_over = unwind_held(u, &rule);
	else
		is_over = unwind_by_rule(u, &rule);
	if (is_over)
		return 1;
	u->is_after = true;
	u->knows_all = false;
	return u->pc ? 0 : unwind_end(u, WEFT_END_ROOT);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What is in the frame pointer's register: a list that looks like frames, in
 * code with a table and in code without; and the frame pointer of code that
 * was made at run time, between functions that keep none.
 */
#include "chain.h"

#include <string.h>
#include <sys/mman.h>

enum {
	NODES = 64
};

struct node {
	const struct node *next; /* where a caller's frame pointer would be */
	uint64_t value;          /* where a return address would be */
};

/* Walk the list n times around, with rbp. The second has no unwind entry, and
 * is long enough not to pass for padding. */
void chain_list_walk(const struct node *first, uint64_t n);
void chain_bare_walk(const struct node *first, uint64_t n);

/* clang-format off */
#define WALK_LIST(name, cfi)                         \
	__asm__(".text\n"                            \
		".globl " #name "\n"                 \
		".type " #name ", @function\n"       \
		".p2align 4\n"                       \
		#name ":\n"                          \
		cfi(".cfi_startproc\n")              \
		"push %rbp\n"                        \
		cfi(".cfi_def_cfa_offset 16\n"       \
		    ".cfi_offset %rbp, -16\n")       \
		"mov %rdi, %rbp\n"                   \
		"1: mov (%rbp), %rbp\n"              \
		"add 8(%rbp), %rax\n"                \
		"dec %rsi\n"                         \
		"jnz 1b\n"                           \
		"xor %eax, %eax\n"                   \
		"pop %rbp\n"                         \
		cfi(".cfi_restore %rbp\n"            \
		    ".cfi_def_cfa_offset 8\n")       \
		"ret\n"                              \
		cfi(".cfi_endproc\n")                \
		".skip 64, 0xcc\n"                   \
		".size " #name ", . - " #name "\n")
/* clang-format on */
#define WITH(text) text
#define WITHOUT(text)
WALK_LIST(chain_list_walk, WITH);
WALK_LIST(chain_bare_walk, WITHOUT);

/* A ring in rising order, as frames would be. */
ALWAYS_INLINE void join(struct node *node, uint64_t value)
{
	for (int i = 0; i < NODES; i++) {
		node[i].next = &node[(i + 1) % NODES];
		node[i].value = value;
	}
}

/* On the stack, where a frame would be, too. */
void chain_list(unsigned int n)
{
	struct node node[NODES];

	(void)n;
	join(node, (uintptr_t)chain_leaf);
	while (chain_goes_on())
		for (int i = 0; i < CHAIN_CALLS; i++)
			chain_list_walk(node, CHAIN_SHORT);
}

/* n = 0: far from the stack; 1: on it, with numbers; 2: on it, with addresses
 * of functions. */
void chain_bare(unsigned int n)
{
	static struct node far[NODES];
	struct node near[NODES];
	struct node *node = n ? near : far;

	join(node, n == 1 ? 12345 : (uintptr_t)chain_leaf);
	while (chain_goes_on())
		chain_bare_walk(node, CHAIN_LONG);
}

/* Long: before it has set up its frame nothing tells who called the code that
 * was made, and that must be no part of the time. */
FRAME static void chain_jit_callback(void)
{
	for (int i = 0; i < 100 * CHAIN_CALLS; i++)
		chain_leaf(CHAIN_SHORT);
}

void chain_jit(unsigned int n)
{
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5,
					0xff, 0xd7, 0x5d, 0xc3 };
	void (*run)(void (*callback)(void));
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	(void)n;
	if (page == MAP_FAILED)
		return;
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		return;
	memcpy(&run, &page, sizeof(run));
	while (chain_goes_on())
		run(chain_jit_callback);
}

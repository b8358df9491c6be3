/* SPDX-License-Identifier: MIT */
/*
 * A 64-bit program that spends its time in 32-bit code: it enters the code
 * segment of 32-bit programs by a far return and leaves it by a far jump. A
 * kernel has that segment also where it executes no 32-bit programs.
 *
 * code_32 [SECONDS]. Linked to lie below 4 GiB, where 32-bit code must.
 */
#include "burn.h"

static const char usage[] = "code_32 [SECONDS]";

void code_32_enter(uint32_t steps);

/*
 * Interrupts return to 32-bit code with the upper halves of registers as they
 * like: what the ABI wants back is kept, the stack pointer in memory. All of
 * the time goes into code_32_loop.
 */
__asm__(".text\n"
	".type code_32_enter, @function\n"
	".globl code_32_enter\n"
	"code_32_enter:\n"
	"	push %rbp\n"
	"	push %rbx\n"
	"	push %r12\n"
	"	push %r13\n"
	"	push %r14\n"
	"	push %r15\n"
	"	mov %rsp, code_32_stack(%rip)\n"
	"	mov %edi, %ecx\n"
	"	pushq $0x23\n" /* the segment of 32-bit programs */
	"	pushq $code_32_loop\n"
	"	lretq\n"
	"code_32_left:\n"
	"	mov code_32_stack(%rip), %rsp\n"
	"	pop %r15\n"
	"	pop %r14\n"
	"	pop %r13\n"
	"	pop %r12\n"
	"	pop %rbx\n"
	"	pop %rbp\n"
	"	ret\n"
	".size code_32_enter, . - code_32_enter\n"
	".code32\n"
	".type code_32_loop, @function\n"
	"code_32_loop:\n"
	"	dec %ecx\n"
	"	jnz code_32_loop\n"
	"	ljmp $0x33, $code_32_left\n" /* that of 64-bit ones */
	".size code_32_loop, . - code_32_loop\n"
	".code64\n"
	".local code_32_stack\n"
	".comm code_32_stack, 8, 8\n");

int main(int argc, char **argv)
{
	uint64_t seconds = argument(argc, argv, 1, 1, 3600, 2, usage);
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + seconds * 1000000000;

	while (clock_ns(CLOCK_MONOTONIC) < end)
		code_32_enter(10000000);
	return 0;
}

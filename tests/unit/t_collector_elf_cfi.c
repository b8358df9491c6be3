/* SPDX-License-Identifier: MIT */
/*
 * The programs of unwind entries: what rule each makes of each byte of code;
 * and, as an oracle, libdw over the libraries and programs that are here.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/skip.h"
#include "tests/unit/t_collector_elf_tried.h"

static void a_function_with_a_frame_is_described_at_each_byte(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\n"
		     "push %rbp\n" /* 1 byte */
		     ".cfi_def_cfa_offset 16\n.cfi_offset rbp, -16\n"
		     "mov %rsp, %rbp\n" /* 3 */
		     ".cfi_def_cfa_register rbp\n"
		     "push %rbx\n" /* 1 */
		     ".cfi_offset rbx, -24\n"
		     "nop\n"
		     ".cfi_remember_state\n"
		     "pop %rbx\n.cfi_restore rbx\n" /* 1 */
		     "leave\n"                      /* 1 */
		     ".cfi_restore rbp\n.cfi_def_cfa rsp, 8\n"
		     "ret\n" /* 1 */
		     ".cfi_restore_state\n"
		     "nop\n"
		     ".cfi_endproc\n");
	expect(&t, 0, 1, start);
	expect(&t, 1, 4,
	       (struct weft_rule){
		       .kind = WEFT_RULE_RSP, .offset = 16, .rbp = 2 });
	expect(&t, 4, 5,
	       (struct weft_rule){
		       .kind = WEFT_RULE_RBP, .offset = 16, .rbp = 2 });
	expect(&t, 5, 6,
	       (struct weft_rule){ .kind = WEFT_RULE_RBP,
				   .offset = 16,
				   .rbp = 2,
				   .rbx = 3 });
	expect(&t, 6, 7,
	       (struct weft_rule){ .kind = WEFT_RULE_RBP,
				   .offset = 16,
				   .rbp = 2,
				   .rbx = 3 });
	expect(&t, 7, 8,
	       (struct weft_rule){
		       .kind = WEFT_RULE_RBP, .offset = 16, .rbp = 2 });
	expect(&t, 8, 9, start);
	expect(&t, 9, 10,
	       (struct weft_rule){ .kind = WEFT_RULE_RBP,
				   .offset = 16,
				   .rbp = 2,
				   .rbx = 3 });
	expect(&t, 10, 40, none);
	assert_int_equal(t.table.n_entries, 1);
	assert_int_equal(t.table.n_dropped, 0);
	assert_int_equal(t.table.n_bad_rows, 0);
	done(&t);
}

static void where_a_register_is_saved_is_kept_or_lost(void **state)
{
	const struct {
		const char *text;
		struct weft_rule want;
	} cases[] = {
		{ ".cfi_offset rbp, -2016",
		  { .kind = WEFT_RULE_RSP, .offset = 8, .rbp = 252 } },
		{ ".cfi_offset rbp, -2024",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_LOST } },
		{ ".cfi_offset rbp, 16",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_LOST } },
		{ ".cfi_undefined rbx",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbx = WEFT_SAVED_LOST } },
		{ ".cfi_register rbx, r12",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbx = WEFT_SAVED_LOST } },
		{ ".cfi_offset rbx, -16; .cfi_same_value rbx",
		  { .kind = WEFT_RULE_RSP, .offset = 8 } },
		/* rbp at [rbp]; at [rbp - 8]; as a value. */
		{ ".cfi_escape 0x10,6,2,0x76,0",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_AT_RBP } },
		{ ".cfi_escape 0x10,6,3,0x76,0,0x96",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_AT_RBP } },
		{ ".cfi_escape 0x10,6,2,0x76,0x78",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_LOST } },
		{ ".cfi_escape 0x16,6,2,0x76,0",
		  { .kind = WEFT_RULE_RSP,
		    .offset = 8,
		    .rbp = WEFT_SAVED_LOST } },
		/* The return address elsewhere; rsp not the CFA. */
		{ ".cfi_offset rip, -16", { .kind = WEFT_RULE_BAD } },
		{ ".cfi_register rip, rcx",
		  { .kind = WEFT_RULE_HELD, .offset = 8, .aux = 11 } },
		{ ".cfi_offset rsp, -24", { .kind = WEFT_RULE_BAD } },
		{ ".cfi_val_offset rsp, 0",
		  { .kind = WEFT_RULE_RSP, .offset = 8 } },
		/* To be skipped: the size of arguments. */
		{ ".cfi_escape 0x2e,0x80,1",
		  { .kind = WEFT_RULE_RSP, .offset = 8 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[512];
		struct tried t;

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\nnop\n%s\nnop\n"
			      ".cfi_endproc\n",
			 cases[i].text);
		print_message("# %s\n", cases[i].text);
		try(&t, text);
		expect(&t, 0, 1, start);
		expect(&t, 1, 2, cases[i].want);
		done(&t);
	}
}

static void each_register_that_can_hold_a_frame_is_named(void **state)
{
	/* DWARF's number, the word of struct pt_regs. */
	const struct {
		const char *name;
		uint8_t word;
	} others[] = { { "rax", 10 }, { "rdx", 12 }, { "rcx", 11 },
		       { "rsi", 13 }, { "rdi", 14 }, { "r8", 9 },
		       { "r9", 8 },   { "r10", 7 },  { "r11", 6 },
		       { "r12", 3 },  { "r13", 2 },  { "r14", 1 },
		       { "r15", 0 } };
	char text[4096] = MARK ".cfi_startproc\nnop\n"
			       ".cfi_def_cfa rbx, 24\nnop\n";
	struct tried t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ".cfi_def_cfa %s, %zu\nnop\n", others[i].name, i);
	/* A register that is no address. */
	strncat(text, ".cfi_def_cfa xmm0, 8\nnop\n.cfi_endproc\n",
		sizeof(text) - strlen(text) - 1);
	try(&t, text);
	/* One that cannot be: the whole entry is bad. */
	expect(&t, 0, 1, bad);
	assert_int_equal(t.table.n_dropped, 1);
	done(&t);
	*strstr(text, ".cfi_def_cfa xmm0") = '\0';
	strncat(text, ".cfi_endproc\n", sizeof(text) - strlen(text) - 1);
	try(&t, text);
	expect(&t, 0, 1, start);
	expect(&t, 1, 2,
	       (struct weft_rule){ .kind = WEFT_RULE_RBX, .offset = 24 });
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		expect(&t, i + 2, i + 3,
		       (struct weft_rule){ .kind = WEFT_RULE_REGISTER,
					   .offset = (int32_t)i,
					   .aux = others[i].word });
	done(&t);
}

static void expressions_are_matched_by_form(void **state)
{
	const struct {
		const char *bytes; /* with their number */
		struct weft_rule want;
	} cases[] = {
		/* .plt: rsp + 8 + ((rip & 15) >= 11) * 8 */
		{ "11,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24,0x22",
		  { .kind = WEFT_RULE_PLT, .offset = 11 } },
		{ "11,0x77,8,0x80,0,0x3f,0x1a,0x3a,0x2a,0x33,0x24,0x22",
		  { .kind = WEFT_RULE_PLT, .offset = 10 } },
		/* lit16: what rip & 15 never reaches */
		{ "11,0x77,8,0x80,0,0x3f,0x1a,0x40,0x2a,0x33,0x24,0x22",
		  { .kind = WEFT_RULE_BAD } },
		{ "11,0x77,8,0x80,0,0x3e,0x1a,0x3b,0x2a,0x33,0x24,0x22",
		  { .kind = WEFT_RULE_BAD } },
		{ "10,0x77,8,0x80,0,0x3f,0x1a,0x3b,0x2a,0x33,0x24",
		  { .kind = WEFT_RULE_BAD } },
		/* A realigned stack: *(rbp - 8) */
		{ "3,0x76,0x78,6",
		  { .kind = WEFT_RULE_RBP_DEREF, .offset = -8 } },
		/* libcrypto: *(rsp + 128) + 8 */
		{ "6,0x77,0x80,1,6,0x23,8",
		  { .kind = WEFT_RULE_RSP_DEREF, .offset = 128, .aux = 1 } },
		{ "4,0x76,8,6,0x96",
		  { .kind = WEFT_RULE_RBP_DEREF, .offset = 8 } },
		{ "5,0x76,8,6,0x23,4", { .kind = WEFT_RULE_BAD } },
		{ "7,0x76,8,6,0x23,0x80,0x80,1", { .kind = WEFT_RULE_BAD } },
		/* No deref; of another register; nothing; something after. */
		{ "2,0x77,8", { .kind = WEFT_RULE_BAD } },
		{ "3,0x75,8,6", { .kind = WEFT_RULE_BAD } },
		{ "0", { .kind = WEFT_RULE_BAD } },
		{ "4,0x76,8,6,6", { .kind = WEFT_RULE_BAD } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[512];
		struct tried t;

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\nnop\n"
			      ".cfi_escape 0xf,%s\nnop\nnop\n"
			      ".cfi_def_cfa rsp, 8\nnop\n.cfi_endproc\n",
			 cases[i].bytes);
		print_message("# %s\n", cases[i].bytes);
		try(&t, text);
		expect(&t, 0, 1, start);
		expect(&t, 1, 3, cases[i].want);
		expect(&t, 3, 4, start);
		assert_int_equal(t.table.n_dropped, 0);
		assert_int_equal(t.table.n_bad_rows,
				 cases[i].want.kind == WEFT_RULE_BAD);
		done(&t);
	}
}

static void
a_register_after_an_expression_has_the_offset_from_before(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\nnop\n"
		     ".cfi_def_cfa_offset 24\nnop\n"
		     ".cfi_escape 0xf,6,0x77,0x80,1,6,0x23,8\nnop\n"
		     ".cfi_def_cfa_register rsp\nnop\n"
		     ".cfi_endproc\n");
	expect(&t, 1, 2,
	       (struct weft_rule){ .kind = WEFT_RULE_RSP, .offset = 24 });
	expect(&t, 2, 3,
	       (struct weft_rule){
		       .kind = WEFT_RULE_RSP_DEREF, .offset = 128, .aux = 1 });
	expect(&t, 3, 4,
	       (struct weft_rule){ .kind = WEFT_RULE_RSP, .offset = 24 });
	assert_int_equal(t.table.n_dropped, 0);
	done(&t);
}

static void a_realigned_frame_is_followed(void **state)
{
	struct tried t;

	(void)state;
	/* As gcc does it: r10 holds the frame until rbp can. */
	try(&t, MARK ".cfi_startproc\n"
		     "lea 8(%rsp), %r10\n" /* 5 bytes */
		     ".cfi_def_cfa r10, 0\n"
		     "and $-32, %rsp\n" /* 4 */
		     "push -8(%r10)\n"  /* 4 */
		     "push %rbp\n"      /* 1 */
		     "mov %rsp, %rbp\n" /* 3 */
		     ".cfi_escape 0x10,6,2,0x76,0\n"
		     "push %r10\n" /* 2 */
		     ".cfi_escape 0xf,3,0x76,0x78,6\n"
		     "nop\n"
		     ".cfi_endproc\n");
	expect(&t, 0, 5, start);
	expect(&t, 5, 17,
	       (struct weft_rule){ .kind = WEFT_RULE_REGISTER, .aux = 7 });
	expect(&t, 17, 19,
	       (struct weft_rule){ .kind = WEFT_RULE_REGISTER,
				   .aux = 7,
				   .rbp = WEFT_SAVED_AT_RBP });
	expect(&t, 19, 20,
	       (struct weft_rule){ .kind = WEFT_RULE_RBP_DEREF,
				   .offset = -8,
				   .rbp = WEFT_SAVED_AT_RBP });
	done(&t);
}

static void sixteen_states_are_remembered_and_no_more(void **state)
{
	struct tried t;

	(void)state;
	for (int n = 16; n <= 17; n++) {
		char text[512];

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\nnop\n"
			      ".rept %d\n.cfi_remember_state\n.endr\n"
			      ".cfi_def_cfa_offset 16\nnop\n"
			      ".rept %d\n.cfi_restore_state\n.endr\n"
			      "nop\n.cfi_endproc\n",
			 n, n);
		try(&t, text);
		assert_int_equal(t.table.n_dropped, n == 17);
		expect(&t, 0, 1, n == 17 ? bad : start);
		expect(&t, 1, 2,
		       n == 17 ? bad
			       : (struct weft_rule){ .kind = WEFT_RULE_RSP,
						     .offset = 16 });
		expect(&t, 2, 3, n == 17 ? bad : start);
		done(&t);
	}
	try(&t, MARK ".cfi_startproc\nnop\n.cfi_escape 0xb\n"
		     "nop\n.cfi_endproc\n");
	expect(&t, 0, 2, bad);
	done(&t);
}

/* A program that cannot be followed leaves code known to be described. */
static void a_bad_program_spoils_its_own_entry_only(void **state)
{
	const char *const bytes[] = {
		"0x3f",             /* no such instruction */
		"0x10,6,0x7f,0x76", /* cut: an expression is longer */
		"0xc,7,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0x80,0",
		"1,0,0xe8,0xff,0xff", /* back to another address */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
		char text[512];
		struct tried t;

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\n.cfi_escape %s\nnop\n"
			      ".cfi_endproc\n"
			      ".cfi_startproc\nnop\n.cfi_endproc\n",
			 bytes[i]);
		print_message("# %s\n", bytes[i]);
		try(&t, text);
		expect(&t, 0, 1, bad);
		expect(&t, 1, 2, start);
		assert_int_equal(t.table.n_dropped, 1);
		done(&t);
	}
}

/* What is said of other code is not said of this, nor of the hole. */
static void a_program_ends_with_its_code(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\n.cfi_escape 0x42,0xe,48,0x41,0xe,56\n"
		     "nop\nnop\n.cfi_endproc\n.skip 4\n"
		     ".cfi_startproc\nnop\n.cfi_endproc\n");
	expect(&t, 0, 7, start);
	assert_int_equal(t.table.n_dropped, 0);
	done(&t);
}

static void a_program_over_the_limit_is_bad(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\n.rept 22000\n"
		     "nop\n.cfi_def_cfa_offset 16\n"
		     "nop\n.cfi_def_cfa_offset 24\n"
		     ".endr\n.cfi_endproc\n"
		     ".cfi_startproc\nnop\n.cfi_endproc\n");
	assert_int_equal(t.table.n_dropped, 1);
	expect(&t, 0, 44000, bad);
	expect(&t, 44000, 44001, start);
	done(&t);
	/* Also where most of it does nothing. */
	for (int i = 0; i < 2; i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\nnop\n.rept %d\n"
			      ".cfi_escape 0x2e, 8\n.endr\n.cfi_endproc\n",
			 i ? 33000 : 32000);
		try(&t, text);
		expect(&t, 0, 1, i ? bad : start);
		done(&t);
	}
}

/* rip at rsp + 168: where the kernel puts it. */
#define IN_UCONTEXT ".cfi_escape 0x10,16,3,0x77,0xa8,1"

static void a_signal_frame_is_known_by_mark_and_form(void **state)
{
	const struct weft_rule signal = { .kind = WEFT_RULE_SIGNAL };
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\n.cfi_signal_frame\n"
		     ".cfi_escape 0xf,4,0x77,0xa0,1,6\n" IN_UCONTEXT "\n"
		     "nop\nnop\n.cfi_endproc\n"
		     ".skip 4\n"
		     /* The mark alone. */
		     ".cfi_startproc\n.cfi_signal_frame\n"
		     "nop\n.cfi_endproc\n.skip 4\n"
		     /* The form alone. */
		     ".cfi_startproc\n" IN_UCONTEXT "\n"
		     "nop\n.cfi_endproc\n");
	expect(&t, 0, 2, signal);
	/* Nothing runs on over what comes after it. */
	expect(&t, 2, 6, none);
	expect(&t, 6, 7, start);
	expect(&t, 7, 11, none);
	expect(&t, 11, 12, bad);
	done(&t);
}

static void an_undefined_return_address_ends_the_stack(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".cfi_startproc\nnop\n.cfi_undefined rip\n"
		     "nop\n.cfi_restore rip\nnop\n.cfi_endproc\n");
	expect(&t, 0, 1, start);
	expect(&t, 1, 2, end);
	expect(&t, 2, 3, start);
	done(&t);
}

static uint8_t oracle_saved(Dwarf_Frame *frame, int reg)
{
	Dwarf_Op memory[3], *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_register(frame, reg, memory, &ops, &n))
		return WEFT_SAVED_LOST;
	/* It takes rbx for a register that calls do not keep. */
	if (!n)
		return ops && reg != 3 ? WEFT_SAVED_LOST : WEFT_SAVED_NOT;
	if (n == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	    ops[1].atom == DW_OP_plus_uconst) {
		int64_t offset = (int64_t)ops[1].number;

		if (offset < 0 && offset % 8 == 0 &&
		    offset >= -8 * WEFT_SAVED_MAX)
			return (uint8_t)(-offset / 8);
	}
	/* An expression begins with the CFA on its stack. */
	if ((n == 2 || (n == 3 && ops[2].atom == DW_OP_nop)) &&
	    ops[1].atom == DW_OP_breg6 && !ops[1].number)
		return WEFT_SAVED_AT_RBP;
	return WEFT_SAVED_LOST;
}

/* Of struct pt_regs, by DWARF's numbers. */
static const uint8_t words[] = { 10, 12, 11, 5, 13, 14, 4, 19,
				 9,  8,  7,  6, 3,  2,  1, 0 };

static struct weft_rule oracle_cfa(Dwarf_Frame *frame)
{
	struct weft_rule rule = { .kind = WEFT_RULE_BAD };
	Dwarf_Op *ops = NULL;
	size_t n = 0;

	if (dwarf_frame_cfa(frame, &ops, &n) || !n)
		return bad;
	if (n == 1 && ops[0].atom == DW_OP_bregx && ops[0].number < 16) {
		rule.offset = (int32_t)ops[0].number2;
		rule.kind = ops[0].number == 7   ? WEFT_RULE_RSP
			    : ops[0].number == 6 ? WEFT_RULE_RBP
			    : ops[0].number == 3 ? WEFT_RULE_RBX
						 : WEFT_RULE_REGISTER;
		if (rule.kind == WEFT_RULE_REGISTER)
			rule.aux = words[ops[0].number];
	} else if (n == 9 && ops[0].atom == DW_OP_breg7 &&
		   ops[1].atom == DW_OP_breg16 && ops[8].atom == DW_OP_plus) {
		rule.kind = WEFT_RULE_PLT;
		rule.offset = ops[4].atom - DW_OP_lit0;
	} else if ((n == 2 || n == 3) && ops[1].atom == DW_OP_deref &&
		   (n == 2 || ops[2].atom == DW_OP_plus_uconst) &&
		   (ops[0].atom == DW_OP_breg6 || ops[0].atom == DW_OP_breg7)) {
		rule.kind = ops[0].atom == DW_OP_breg6 ? WEFT_RULE_RBP_DEREF
						       : WEFT_RULE_RSP_DEREF;
		rule.offset = (int32_t)ops[0].number;
		rule.aux = n == 3 ? (uint8_t)(ops[2].number / 8) : 0;
	}
	return rule;
}

/* Returns false where libdw knows nothing of the address. */
static bool ask_oracle(Dwarf_CFI *cfi, uint64_t address, struct weft_rule *out)
{
	Dwarf_Op memory[3], *ops = NULL;
	Dwarf_Frame *frame = NULL;
	bool is_signal = false;
	size_t n = 1;

	if (dwarf_cfi_addrframe(cfi, address, &frame))
		return false;
	(void)dwarf_frame_info(frame, NULL, NULL, &is_signal);
	*out = oracle_cfa(frame);
	out->rbp = oracle_saved(frame, 6);
	out->rbx = oracle_saved(frame, 3);
	assert_int_equal(dwarf_frame_register(frame, 16, memory, &ops, &n), 0);
	if (!n && ops)
		*out = end;
	else if (is_signal && n == 2 && ops[1].atom == DW_OP_breg7)
		*out = (struct weft_rule){ .kind = WEFT_RULE_SIGNAL };
	else if (out->kind == WEFT_RULE_RSP && n == 1 &&
		 ops[0].atom == DW_OP_regx && ops[0].number < 16) {
		out->kind = WEFT_RULE_HELD;
		out->aux = words[ops[0].number];
	} else if (oracle_saved(frame, 16) != 1 || out->kind == WEFT_RULE_BAD)
		*out = bad;
	free(frame);
	return true;
}

enum {
	ORACLE_ROWS = 4000 /* of a file: its cost is quadratic in an entry */
};

static void compare_with_oracle(const char *path)
{
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	struct weft_rule want;
	struct elf_table t;
	struct elf_file file;
	uint32_t seen = 0, asked = 0, every;
	uint64_t address, entry = 0;
	Dwarf_CFI *cfi;
	GElf_Ehdr ehdr;
	size_t n;

	assert_int_equal(built_open(&file, path), 0);
	assert_int_equal(elf_table_build(&t, &file), 0);
	assert_null(check_table(&t));
	cfi = dwarf_getcfi_elf(file.elf);
	assert_non_null(cfi);
	assert_non_null(gelf_getehdr(file.elf, &ehdr));
	n = elf_file_segments(&file, segments);
	(void)elf_vaddr_to_offset(segments, n, ehdr.e_entry, &entry);
	every = t.n_rows / ORACLE_ROWS + 1;
	for (uint32_t page = 0; page < t.n_pages; page++) {
		for (uint32_t i = 0; i < t.words[2 * page + 1]; i++) {
			uint32_t row = t.words[t.words[2 * page] + i];
			uint64_t offset =
				((uint64_t)t.first_page + page) * 4096 +
				(row >> WEFT_TABLE_ROW_SHIFT);
			struct weft_rule is = elf_table_find(&t, offset);

			if (seen++ % every ||
			    !elf_offset_to_vaddr(segments, n, offset,
						 &address) ||
			    !ask_oracle(cfi, address, &want))
				continue;
			asked++;
			/* Where a program begins we know more. */
			if (is.kind == WEFT_RULE_END && offset <= entry &&
			    elf_table_find(&t, entry).kind == WEFT_RULE_END)
				continue;
			expect_rule(is, want, address);
		}
	}
	print_message("# %s: %u of %u rows\n", path, asked, t.n_rows);
	assert_true(asked > 100);
	dwarf_cfi_end(cfi);
	elf_table_release(&t);
	elf_file_close(&file);
}

static void rows_are_those_of_libdw(void **state)
{
	const char *const paths[] = {
		"/lib64/ld-linux-x86-64.so.2",
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/bin/python3",
		"/lib64/libc.so.6",
		"/lib64/libcrypto.so.3",
	};
	int n = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (access(paths[i], R_OK))
			continue;
		compare_with_oracle(paths[i]);
		n++;
	}
	if (!n)
		SKIP_BECAUSE("none of the files is here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(a_function_with_a_frame_is_described_at_each_byte),
		BUILT_TEST(where_a_register_is_saved_is_kept_or_lost),
		BUILT_TEST(each_register_that_can_hold_a_frame_is_named),
		BUILT_TEST(expressions_are_matched_by_form),
		BUILT_TEST(
			a_register_after_an_expression_has_the_offset_from_before),
		BUILT_TEST(a_realigned_frame_is_followed),
		BUILT_TEST(sixteen_states_are_remembered_and_no_more),
		BUILT_TEST(a_bad_program_spoils_its_own_entry_only),
		BUILT_TEST(a_program_ends_with_its_code),
		BUILT_TEST(a_program_over_the_limit_is_bad),
		BUILT_TEST(a_signal_frame_is_known_by_mark_and_form),
		BUILT_TEST(an_undefined_return_address_ends_the_stack),
		BUILT_TEST(rows_are_those_of_libdw),
	};

	/* A watchdog, not a measure. */
	alarm(300);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

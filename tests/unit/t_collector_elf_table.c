/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables as a whole: which entries count, what holds between them and
 * where programs begin, and how rows are laid out.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/t_collector_elf_tried.h"

static void small_holes_are_bridged_and_larger_are_not(void **state)
{
	struct tried t;

	(void)state;
	for (int hole = 16; hole <= 17; hole++) {
		char text[512];

		snprintf(text, sizeof(text),
			 MARK ".cfi_startproc\nnop\n"
			      ".cfi_def_cfa_offset 48\nnop\n"
			      ".cfi_endproc\n.skip %d\n"
			      ".cfi_startproc\nnop\n.cfi_endproc\n",
			 hole);
		try(&t, text);
		expect(&t, 1, 2,
		       (struct weft_rule){ .kind = WEFT_RULE_RSP,
					   .offset = 48 });
		expect(&t, 2, 2 + (uint64_t)hole,
		       hole == 17 ? none
				  : (struct weft_rule){ .kind = WEFT_RULE_RSP,
							.offset = 48 });
		expect(&t, 2 + (uint64_t)hole, 3 + (uint64_t)hole, start);
		/* After the last entry nothing is known. */
		expect(&t, 3 + (uint64_t)hole, 8192, none);
		done(&t);
	}
}

/* e_entry at the label "first", after 20 bytes without an entry. */
#define WITH_ENTRY(before, after)                               \
	MARK ".cfi_startproc\nnop\n.cfi_endproc\n.skip 20\n"    \
	     ".globl first\n" before "first:\n.skip 30\n" after \
	     ".skip 20\n.cfi_startproc\nnop\n.cfi_endproc\n"

static void the_hole_where_a_program_begins_is_an_end(void **state)
{
	const char *text = WITH_ENTRY("", "");
	struct tried t;

	(void)state;
	try_with(&t, text, "cc -nostdlib -no-pie -Wl,-e,first -o t t.s");
	expect(&t, 1, 21, none);
	expect(&t, 21, 71, end);
	expect(&t, 71, 72, start);
	done(&t);
	try_with(&t, text, "cc -nostdlib -pie -Wl,-e,first -o t t.s");
	expect(&t, 21, 71, end);
	done(&t);
	try_with(&t, text, "cc -nostdlib -static-pie -Wl,-e,first -o t t.s");
	expect(&t, 21, 71, end);
	done(&t);
	/* A library's entry point is a leftover, unless it is a program too;
	 * the loader's is not. */
	try_with(&t, text, LINK "-Wl,-e,first -o t t.s");
	expect(&t, 1, 71, none);
	done(&t);
	try_with(&t,
		 WITH_ENTRY("", "") ".section .interp,\"a\"\n.asciz \"/x\"\n",
		 LINK "-Wl,-e,first -o t t.s");
	expect(&t, 21, 71, end);
	done(&t);
	try_with(&t, text, LINK "-Wl,-soname,libld-1.so -Wl,-e,first -o t t.s");
	expect(&t, 1, 71, none);
	done(&t);
	try_with(&t, text, LINK "-Wl,-soname,ld-x.so.2 -Wl,-e,first -o t t.s");
	expect(&t, 21, 71, end);
	done(&t);
}

static void the_function_where_a_program_begins_is_an_end(void **state)
{
	const char *text = WITH_ENTRY(".cfi_startproc\n", ".cfi_endproc\n");
	struct tried t;

	(void)state;
	try_with(&t, text, "cc -nostdlib -no-pie -Wl,-e,first -o t t.s");
	expect(&t, 1, 21, none);
	expect(&t, 21, 51, end);
	/* And not the hole after it. */
	expect(&t, 51, 71, none);
	done(&t);
}

static void a_large_hole_is_an_end_only_near_the_entry_point(void **state)
{
	struct tried t;

	(void)state;
	try_with(&t,
		 MARK ".cfi_startproc\nnop\n.cfi_endproc\n"
		      ".skip 20\n.globl first\nfirst:\n.skip 9000\n"
		      ".cfi_startproc\nnop\n.cfi_endproc\n",
		 "cc -nostdlib -no-pie -Wl,-e,first -o t t.s");
	expect(&t, 21, 22, end);
	expect(&t, 21 + 256, 21 + 9000, none);
	expect(&t, 21 + 9000, 22 + 9000, start);
	done(&t);
}

/* makecontext()'s return address is the start of __start_context, and the
 * byte before is looked up: also where that is of another page. */
static void a_coroutine_ends_where_it_starts(void **state)
{
	const char *start_context = ".cfi_startproc\nmov %rbx, %rsp\n"
				    "mov (%rsp), %rdi\ntest %rdi, %rdi\n"
				    ".skip 20\n.cfi_endproc\n";
	struct tried t;

	(void)state;
	for (int i = 0; i < 2; i++) {
		char text[512];

		snprintf(text, sizeof(text), MARK ".skip %d\n%s",
			 4096 - (int)sizeof(mark) + i, start_context);
		try_with(&t, text, LINK "-Wl,-Ttext=0x1000 -o t t.s");
		t.base += 4096 - sizeof(mark) + (uint64_t)i;
		assert_int_equal(t.base % 4096, i);
		expect(&t, 0, 30, end);
		expect_rule(elf_table_find(&t.table, t.base - 1), end, 0);
		expect_rule(elf_table_find(&t.table, t.base - 2), none, 0);
		done(&t);
	}
}

static void code_of_init_and_fini_is_described(void **state)
{
	const struct weft_rule deep = { .kind = WEFT_RULE_RSP, .offset = 16 };
	const char *const others[] = {
		"sub $24, %rsp; add $24, %rsp; ret",
		"sub $24, %rsp; add $8, %rsp; ret",
		"sub $8, %rsp; add $24, %rsp; ret",
	};
	struct tried t;
	uint64_t text;

	(void)state;
	/* Addresses are given; in the file the distance is the same. */
	try_with(&t,
		 MARK ".cfi_startproc\nnop\n.cfi_endproc\n"
		      ".skip 100\n"
		      ".section .init,\"ax\",@progbits\n"
		      "endbr64\nsub $8, %rsp\nnop\nnop\n"
		      "add $8, %rsp\nret\n",
		 LINK "-Wl,--section-start=.init=0x1000,-Ttext=0x1100 -o t "
		      "t.s");
	text = t.base;
	t.base = text - sizeof(mark) - 0x100;
	expect(&t, 0, 8, start);
	expect(&t, 8, 14, deep);
	expect(&t, 14, 15, start);
	expect(&t, 15, 32, none);
	done(&t);
	try_with(&t,
		 MARK ".cfi_startproc\nnop\n.cfi_endproc\n"
		      ".section .fini,\"ax\",@progbits\n"
		      "sub $8, %rsp\nadd $8, %rsp\nret\n",
		 LINK "-Wl,--section-start=.fini=0x2000,-Ttext=0x1000 -o t "
		      "t.s");
	t.base += 0x1000 - sizeof(mark);
	expect(&t, 0, 4, start);
	expect(&t, 4, 8, deep);
	expect(&t, 8, 9, start);
	expect(&t, 9, 32, none);
	done(&t);
	/* Not the form: nothing is made up. */
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		char other[512];

		snprintf(other, sizeof(other),
			 MARK ".cfi_startproc\nnop\n.cfi_endproc\n"
			      ".section .fini,\"ax\",@progbits\n%s\n",
			 others[i]);
		try_with(&t, other,
			 LINK "-Wl,--section-start=.fini=0x2000,-Ttext=0x1000 "
			      "-o t t.s");
		t.base += 0x1000 - sizeof(mark);
		expect(&t, 0, 9, none);
		done(&t);
	}
}

/* Entries by hand: a macro for those of code, which want a CIE. */
#define BY_HAND                                   \
	".macro fde from, to, offset\n"           \
	".long 2f - 1f\n1: .long 1b - cie\n"      \
	".long \\from - .\n.long \\to - \\from\n" \
	".uleb128 0\n.byte 0xe, \\offset\n"       \
	".balign 4\n2:\n.endm\n"                  \
	".section .eh_frame,\"a\",@progbits\n"
#define CIE(length, id, version, more)            \
	"cie: " length "\n3: " id "\n"            \
	".byte " version "\n.asciz \"zR\"\n" more \
	".uleb128 1\n.sleb128 -8\n.byte 16\n"     \
	".uleb128 1\n.byte 0x1b\n"                \
	".byte 0xc, 7, 8, 0x90, 1\n.balign 4\n4:\n"

static const char plain_cie[] = CIE(".long 4f - 3f", ".long 0", "1", "");

static void try_by_hand(struct tried *t, const char *code, const char *cie,
			const char *entries)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s%s%s%s%s", MARK, code, BY_HAND, cie,
		 entries);
	try_with(t, text, LINK "-Wl,--no-eh-frame-hdr -o t t.s");
}

static void overlapping_entries_are_cut(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, "a: .skip 10\nb: .skip 10\nc: .skip 10\nd:\n",
		    plain_cie, "fde b c 24\nfde a d 16\n");
	/* The first ends where the second begins; it does not come back. */
	expect(&t, 0, 10, at_16);
	expect(&t, 10, 20, at_24);
	expect(&t, 20, 30, none);
	assert_int_equal(t.table.n_entries, 2);
	assert_int_equal(t.table.n_dropped, 0);
	done(&t);
	/* Nor does what it says of its later code. */
	try_by_hand(&t, "a: .skip 10\nb: .skip 10\nc: .skip 10\nd:\n",
		    plain_cie,
		    ".long 2f - 1f\n1: .long 1b - cie\n.long a - .\n"
		    ".long d - a\n.uleb128 0\n"
		    ".byte 0xe, 16, 0x4f, 0xe, 32\n.balign 4\n2:\n"
		    "fde b c 24\n");
	expect(&t, 0, 10, at_16);
	expect(&t, 10, 20, at_24);
	expect(&t, 20, 30, none);
	done(&t);
}

static void of_entries_that_begin_together_the_longest_stays(void **state)
{
	struct tried t;

	(void)state;
	/* A fourth, that begins before it ends, cuts the one that stays. */
	try_by_hand(&t, "a: .skip 10\nb: .skip 10\nc: .skip 10\nd:\n",
		    plain_cie,
		    "fde a b 24\nfde a d 16\nfde a c 32\nfde b d 32\n");
	expect(&t, 0, 10, at_16);
	expect(&t, 10, 30, at_32);
	expect(&t, 30, 40, none);
	assert_int_equal(t.table.n_entries, 2);
	assert_int_equal(t.table.n_dropped, 2);
	done(&t);
}

static const char a_to_b[] = "a: .skip 10\nb:\n";

/* Numbers of CIEs are then of 8 bytes too, as binutils and elfutils have it
 * (libgcc does not). */
static void lengths_of_64_bits_are_read(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, a_to_b,
		    CIE(".long 0xffffffff\n.quad 4f - 3f", ".quad 0", "1", ""),
		    ".long 0xffffffff\n.quad 2f - 1f\n"
		    "1: .quad 1b - cie\n.long a - .\n"
		    ".long b - a\n.uleb128 0\n.byte 0xe, 16\n"
		    ".balign 4\n2:\n");
	expect(&t, 0, 10, at_16);
	done(&t);
}

static void cies_of_versions_3_and_4_are_read(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, a_to_b, CIE(".long 4f - 3f", ".long 0", "3", ""),
		    "fde a b 16\n");
	expect(&t, 0, 10, at_16);
	done(&t);
	try_by_hand(&t, a_to_b,
		    CIE(".long 4f - 3f", ".long 0", "4", ".byte 8, 0\n"),
		    "fde a b 16\n");
	expect(&t, 0, 10, at_16);
	done(&t);
	/* With segments it is for no machine of ours. */
	try_by_hand(&t, a_to_b,
		    CIE(".long 4f - 3f", ".long 0", "4", ".byte 8, 4\n"),
		    "fde a b 16\n");
	assert_int_equal(t.table.n_pages, 0);
	done(&t);
}

static void factors_are_those_of_the_cie(void **state)
{
	const char *cie = "cie: .long 4f - 3f\n3: .long 0\n.byte 1\n"
			  ".asciz \"zR\"\n.uleb128 2\n.sleb128 -4\n.byte 16\n"
			  ".uleb128 1\n.byte 0x1b\n"
			  ".byte 0xc, 7, 8, 0x90, 2\n.balign 4\n4:\n";
	struct tried t;

	(void)state;
	/* rbp at CFA - 16, then at CFA - 12, which no rule can say. */
	try_by_hand(&t, a_to_b, cie,
		    ".long 2f - 1f\n1: .long 1b - cie\n.long a - .\n"
		    ".long b - a\n.uleb128 0\n"
		    ".byte 0x42, 0x86, 4, 0x41, 0x86, 3\n.balign 4\n2:\n");
	expect(&t, 0, 4, start);
	expect(&t, 4, 6,
	       (struct weft_rule){
		       .kind = WEFT_RULE_RSP, .offset = 8, .rbp = 2 });
	expect(&t, 6, 10,
	       (struct weft_rule){ .kind = WEFT_RULE_RSP,
				   .offset = 8,
				   .rbp = WEFT_SAVED_LOST });
	done(&t);
}

/* Its program is about no code, so nothing can advance or be restored. */
static void a_cie_that_advances_is_bad(void **state)
{
	const char *const programs[] = { "0x41", "0xc6", "0x0b" };
	char cie[512];
	struct tried t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		snprintf(cie, sizeof(cie),
			 "cie: .long 4f - 3f\n3: .long 0\n.byte 1\n"
			 ".asciz \"zR\"\n.uleb128 1\n.sleb128 -8\n.byte 16\n"
			 ".uleb128 1\n.byte 0x1b\n"
			 ".byte 0xc, 7, 8, 0x90, 1, %s\n.balign 4\n4:\n",
			 programs[i]);
		try_by_hand(&t, a_to_b, cie, "fde a b 16\n");
		expect(&t, 0, 10, bad);
		assert_int_equal(t.table.n_dropped, 1);
		done(&t);
	}
}

/* What an entry names as its CIE must be one that came before. */
static void an_entry_without_its_cie_is_dropped(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, "a: .skip 10\nb: .skip 30\nc: .skip 10\nd:\n",
		    plain_cie,
		    "5: .long 2f - 1f\n1: .long 1b - 5b\n"
		    ".long a - .\n.long b - a\n.long 0\n2:\n"
		    "fde c d 16\n");
	expect(&t, 0, 40, none);
	expect(&t, 40, 50, at_16);
	assert_int_equal(t.table.n_dropped, 1);
	done(&t);
	/* Nor is it the next one that there is. */
	try_by_hand(&t, a_to_b, CIE(".long 4f - 3f", ".long 0", "1", ""),
		    ".long 4f - 3f\n3: .long 0\n.byte 1\n.asciz \"zR\"\n"
		    ".uleb128 1\n.sleb128 -8\n.byte 16\n.uleb128 1\n"
		    ".byte 0x1b, 0xc, 7, 8, 0x90, 1\n.balign 4\n4:\n"
		    ".long 2f - 1f\n1: .long 1b - cie - 4\n"
		    ".long a - .\n.long b - a\n.long 0\n2:\n");
	assert_int_equal(t.table.n_dropped, 1);
	assert_int_equal(t.table.n_pages, 0);
	done(&t);
}

static void a_zero_length_ends_the_entries(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, "a: .skip 10\nb: .skip 10\nc:\n", plain_cie,
		    "fde a b 16\n.long 0\nfde b c 24\n");
	expect(&t, 0, 10, at_16);
	expect(&t, 10, 20, none);
	done(&t);
}

static void debug_frame_serves_where_it_is_all_there_is(void **state)
{
	const char *text =
		".cfi_sections .debug_frame\n" MARK ".cfi_startproc\nnop\n"
		".cfi_def_cfa_offset 16\n.skip 9\n"
		".cfi_endproc\n";
	struct tried t;

	(void)state;
	try(&t, text);
	expect(&t, 0, 1, start);
	expect(&t, 1, 10, at_16);
	done(&t);
	try_with(&t, text, LINK "-Wa,--gdwarf-cie-version=4 -o t t.s");
	expect(&t, 1, 10, at_16);
	done(&t);
}

static void code_in_several_segments_is_found(void **state)
{
	struct tried t;
	uint64_t distant;

	(void)state;
	try_with(&t,
		 MARK ".cfi_startproc\n.skip 10\n.cfi_endproc\n"
		      ".section .far,\"ax\",@progbits\n"
		      ".quad 0x1122334455667788\n"
		      ".cfi_startproc\nnop\n"
		      ".cfi_def_cfa_offset 16\n.skip 9\n"
		      ".cfi_endproc\n",
		 LINK "-Wl,--section-start=.far=0x5000000 -o t t.s && "
		      "readelf -lW t | awk '$1 == \"LOAD\" && / E /' | "
		      "wc -l | grep -q 2");
	expect(&t, 0, 10, start);
	{
		uint8_t *bytes, *at;
		size_t size = read_whole(built_path("t"), &bytes);
		uint64_t word = UINT64_C(0x1122334455667788);

		at = memmem(bytes, size, &word, sizeof(word));
		assert_non_null(at);
		distant = (uint64_t)(at - bytes) + sizeof(word);
		free(bytes);
	}
	t.base = distant;
	expect(&t, 0, 1, start);
	expect(&t, 1, 10, at_16);
	assert_int_equal(t.table.n_entries, 2);
	assert_int_equal(t.table.n_dropped, 0);
	done(&t);
}

static void entries_outside_of_code_are_dropped(void **state)
{
	struct tried t;

	(void)state;
	try_by_hand(&t, "a: .skip 10\nb:\n.data\nd: .skip 10\ne:\n", plain_cie,
		    "fde a b 16\nfde d e 24\n");
	expect(&t, 0, 10, at_16);
	assert_int_equal(t.table.n_entries, 1);
	assert_int_equal(t.table.n_dropped, 1);
	done(&t);
}

static void without_section_headers_the_table_is_found(void **state)
{
	const Elf64_Ehdr zero = { 0 };
	struct elf_table whole;
	struct tried t;
	FILE *file;

	(void)state;
	built_write("t.c", "int f(int a) { return a; }\n"
			   "int main(void) { return f(0); }\n");
	assert_true(built_run("cc -O1 -o t t.c"));
	assert_int_equal(build(&whole, built_path("t")), 0);
	file = fopen(built_path("t"), "r+e");
	assert_non_null(file);
	assert_int_equal(fseek(file, offsetof(Elf64_Ehdr, e_shoff), SEEK_SET),
			 0);
	assert_int_equal(fwrite(&zero, sizeof(zero.e_shoff), 1, file), 1);
	assert_int_equal(
		fseek(file, offsetof(Elf64_Ehdr, e_shentsize), SEEK_SET), 0);
	assert_int_equal(fwrite(&zero, 2, 3, file), 3);
	fclose(file);
	assert_int_equal(build(&t.table, built_path("t")), 0);
	assert_int_equal(t.table.n_entries, whole.n_entries);
	assert_true(t.table.n_entries > 1);
	elf_table_release(&whole);
	done(&t);
}

static void a_file_without_entries_has_no_table(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK "nop\n");
	assert_int_equal(t.table.n_pages, 0);
	assert_null(t.table.words);
	expect(&t, 0, 10, none);
	done(&t);
}

static void a_file_for_another_machine_has_no_table(void **state)
{
	struct elf_table table;

	(void)state;
	built_write("t.s", ".cfi_startproc\nnop\n.cfi_endproc\n");
	assert_true(built_run("as --x32 -o t.o t.s && "
			      "ld -m elf32_x86_64 -shared -o t t.o"));
	assert_int_equal(build(&table, built_path("t")), 0);
	assert_int_equal(table.n_pages, 0);
	elf_table_release(&table);
}

/* A row for every byte: what most a page can hold fills a block. */
static void pages_full_of_rows_are_kept_apart(void **state)
{
	struct tried t;

	(void)state;
	try(&t, MARK ".balign 4096\n.rept 30\n.cfi_startproc\n"
		     ".rept 256\n"
		     "nop\n.cfi_def_cfa_offset 16\n"
		     "nop\n.cfi_def_cfa_offset 24\n"
		     ".endr\n.cfi_endproc\n.endr\n");
	t.base += -t.base % 4096;
	for (uint64_t at = 0; at < 30 * 512; at += 512) {
		expect(&t, at, at + 1, start);
		for (uint64_t i = at + 1; i < at + 511; i += 2) {
			expect(&t, i, i + 1, at_16);
			expect(&t, i + 1, i + 2, at_24);
		}
	}
	assert_true(t.table.n_rows >= 30 * 512);
	done(&t);
}

static void when_rule_numbers_run_out_rules_are_bad(void **state)
{
	struct weft_rule want = { .kind = WEFT_RULE_RSP };
	struct tried t;

	(void)state;
	try(&t, MARK ".set n, 16\n.rept 7\n.cfi_startproc\n"
		     ".rept 10000\nnop\n.cfi_def_cfa_offset n\n"
		     ".set n, n + 8\n.endr\nnop\n.cfi_endproc\n"
		     ".endr\n");
	assert_int_equal(t.table.n_rules, WEFT_TABLE_RULES_MAX);
	assert_true(t.table.n_bad_rows > 0);
	want.offset = 16;
	expect(&t, 1, 2, want);
	want.offset = 16 + 8 * 60000;
	expect(&t, 60007, 60008, want);
	expect(&t, 69999, 70000, bad);
	done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BUILT_TEST(small_holes_are_bridged_and_larger_are_not),
		BUILT_TEST(the_hole_where_a_program_begins_is_an_end),
		BUILT_TEST(the_function_where_a_program_begins_is_an_end),
		BUILT_TEST(a_large_hole_is_an_end_only_near_the_entry_point),
		BUILT_TEST(a_coroutine_ends_where_it_starts),
		BUILT_TEST(code_of_init_and_fini_is_described),
		BUILT_TEST(overlapping_entries_are_cut),
		BUILT_TEST(of_entries_that_begin_together_the_longest_stays),
		BUILT_TEST(lengths_of_64_bits_are_read),
		BUILT_TEST(cies_of_versions_3_and_4_are_read),
		BUILT_TEST(factors_are_those_of_the_cie),
		BUILT_TEST(a_cie_that_advances_is_bad),
		BUILT_TEST(an_entry_without_its_cie_is_dropped),
		BUILT_TEST(a_zero_length_ends_the_entries),
		BUILT_TEST(debug_frame_serves_where_it_is_all_there_is),
		BUILT_TEST(code_in_several_segments_is_found),
		BUILT_TEST(entries_outside_of_code_are_dropped),
		BUILT_TEST(without_section_headers_the_table_is_found),
		BUILT_TEST(a_file_without_entries_has_no_table),
		BUILT_TEST(a_file_for_another_machine_has_no_table),
		BUILT_TEST(pages_full_of_rows_are_kept_apart),
		BUILT_TEST(when_rule_numbers_run_out_rules_are_bad),
	};

	/* A watchdog, not a measure. */
	alarm(300);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Files that nobody's linker made: a good one with one field set to a value
 * that hurts, cut at any length, or with bytes at random. Whatever is read of
 * them is read or refused. A sanitizer says if not, a watchdog if it never
 * ends.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/fuzz/read_elf.h"
#include "tests/unit/t_collector_elf_built.h"

enum {
	FILE_MAX = 1 << 16
};

/* A small library with a thread-local variable, relocations, both symbol
 * tables, unwind entries, .gnu_debugdata and a link to a debug file. */
static uint8_t good[FILE_MAX];
static size_t good_size;
static int scratch;

static int read_good(void **state)
{
	if (built_set_up(state))
		return -1;
	built_write("l.c", "__thread void *otel_thread_ctx_v1;\n"
			   "static __thread int other = 3;\n"
			   "void **slot(void) { return &otel_thread_ctx_v1; }\n"
			   "int use(int a) { return other += a; }\n"
			   "int __libc_start_main(void) { return use(1); }\n");
	if (!built_run("cc -O1 -shared -fPIC -nostdlib "
		       "-Wl,-z,noseparate-code,-z,max-page-size=4096 "
		       "-Wl,--build-id -o l.so l.c && "
		       "objcopy --only-keep-debug l.so l.debug && "
		       "xz -k --lzma2=dict=4KiB l.debug && "
		       "objcopy --add-section .gnu_debugdata=l.debug.xz "
		       "--add-gnu-debuglink=l.debug l.so"))
		return -1;
	good_size = built_read("l.so", good, sizeof(good));
	scratch = memfd_create("hostile", MFD_CLOEXEC);
	return built_tear_down(state) || scratch < 0 || !good_size ? -1 : 0;
}

static void try(const uint8_t *bytes, size_t size)
{
	assert_int_equal(ftruncate(scratch, 0), 0);
	assert_int_equal(pwrite(scratch, bytes, size, 0), (ssize_t)size);
	read_elf(scratch);
}

/* Set width bytes at each offset of [from, to) to each value in turn. */
static void spoil(size_t from, size_t to, size_t width)
{
	static const uint64_t values[] = { 0,
					   1,
					   2,
					   0x7f,
					   UINT64_C(0x7fffffff),
					   UINT64_C(0xfffffff0),
					   UINT64_C(0x7fffffffffffffff),
					   UINT64_C(0xfffffffffffff000),
					   ~UINT64_C(0) };
	static uint8_t copy[FILE_MAX];

	for (size_t at = from; at + width <= to && at + width <= good_size;
	     at += width) {
		for (size_t i = 0; i < ARRAY_LEN(values); i++) {
			memcpy(copy, good, good_size);
			memcpy(copy + at, &values[i], width);
			try(copy, good_size);
		}
	}
}

static void each_field_of_the_header_is_survived(void **state)
{
	(void)state;
	spoil(0, sizeof(Elf64_Ehdr), 1);
	spoil(0, sizeof(Elf64_Ehdr), 2);
	spoil(0, sizeof(Elf64_Ehdr), 4);
	spoil(0, sizeof(Elf64_Ehdr), 8);
}

static void each_field_of_program_headers_is_survived(void **state)
{
	Elf64_Ehdr ehdr;

	(void)state;
	memcpy(&ehdr, good, sizeof(ehdr));
	spoil(ehdr.e_phoff, ehdr.e_phoff + ehdr.e_phnum * sizeof(Elf64_Phdr),
	      4);
	spoil(ehdr.e_phoff, ehdr.e_phoff + ehdr.e_phnum * sizeof(Elf64_Phdr),
	      8);
}

static void each_field_of_section_headers_is_survived(void **state)
{
	Elf64_Ehdr ehdr;

	(void)state;
	memcpy(&ehdr, good, sizeof(ehdr));
	spoil(ehdr.e_shoff, ehdr.e_shoff + ehdr.e_shnum * sizeof(Elf64_Shdr),
	      4);
	spoil(ehdr.e_shoff, ehdr.e_shoff + ehdr.e_shnum * sizeof(Elf64_Shdr),
	      8);
}

/* Hash tables, symbols, relocations, the dynamic section, unwind entries and
 * notes: all that lies between the headers. */
static void each_word_of_the_tables_is_survived(void **state)
{
	(void)state;
	spoil(0, good_size, 4);
}

static void a_file_cut_anywhere_is_survived(void **state)
{
	(void)state;
	for (size_t size = 0; size < good_size; size += size < 4096 ? 1 : 7)
		try(good, size);
}

static void bytes_at_random_are_survived(void **state)
{
	static uint8_t copy[FILE_MAX];
	uint64_t random = 88172645463325252;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		memcpy(copy, good, good_size);
		for (int i = 0; i < 8; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			copy[random % good_size] = (uint8_t)(random >> 40);
		}
		try(copy, good_size);
	}
}

static void the_good_file_is_read(void **state)
{
	struct tls_variable variable;
	struct elf_file file;
	struct file_key key = { .size = good_size };

	(void)state;
	assert_int_equal(ftruncate(scratch, 0), 0);
	assert_int_equal(pwrite(scratch, good, good_size, 0),
			 (ssize_t)good_size);
	assert_int_equal(elf_file_open(&file, scratch, &key), 0);
	assert_int_equal(context_find_variable(&file, CONTEXT_VARIABLE, false,
					       &variable),
			 0);
	assert_int_not_equal(variable.model, TLS_NONE);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_good_file_is_read),
		cmocka_unit_test(each_field_of_the_header_is_survived),
		cmocka_unit_test(each_field_of_program_headers_is_survived),
		cmocka_unit_test(each_field_of_section_headers_is_survived),
		cmocka_unit_test(each_word_of_the_tables_is_survived),
		cmocka_unit_test(a_file_cut_anywhere_is_survived),
		cmocka_unit_test(bytes_at_random_are_survived),
	};

	/* A watchdog, not a measure. */
	alarm(600);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, read_good, NULL);
}

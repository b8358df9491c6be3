/* SPDX-License-Identifier: MIT */
/*
 * Files whose symbols cannot be read although their headers speak of such: what
 * is lost is said, what is left is used. A file that was stripped lost nothing.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/elf/symbols.h"
#include "collector/inspect/names.h"
#include "tests/unit/t_collector_elf_built.h"

enum {
	FILE_MAX = 1 << 16
};

/* A library with the functions shown, in both tables, and hidden; and a copy
 * to be spoilt. */
static uint8_t good[FILE_MAX], bytes[FILE_MAX];
static size_t good_size;
static int scratch;

static int read_good(void **state)
{
	if (built_set_up(state))
		return -1;
	built_write("l.c", "static __attribute__((noinline)) int hidden(int a) "
			   "{ return a * 3 + 1; }\n"
			   "int shown(int a) { return hidden(a) + 1; }\n");
	if (!built_run("cc -O1 -shared -fPIC -nostdlib -Wl,--build-id "
		       "-o l.so l.c"))
		return -1;
	good_size = built_read("l.so", good, sizeof(good));
	scratch = memfd_create("lost", MFD_CLOEXEC);
	return built_tear_down(state) || scratch < 0 || !good_size ? -1 : 0;
}

static Elf64_Ehdr *header(void)
{
	return (Elf64_Ehdr *)bytes;
}

/* Of the copy, the first section of a type, or the one that it goes with. */
static Elf64_Shdr *section(uint32_t type, bool is_linked)
{
	Elf64_Shdr *all = (Elf64_Shdr *)(bytes + header()->e_shoff);

	for (size_t i = 0; i < header()->e_shnum; i++)
		if (all[i].sh_type == type)
			return is_linked ? &all[all[i].sh_link] : &all[i];
	fail_msg("no section of type %u", type);
	return NULL;
}

static struct symbols *load(size_t size)
{
	struct file_key key = { .size = size };
	struct symbols *symbols;
	struct elf_file file;

	assert_int_equal(ftruncate(scratch, 0), 0);
	assert_int_equal(pwrite(scratch, bytes, good_size, 0), good_size);
	assert_int_equal(ftruncate(scratch, (off_t)size), 0);
	assert_int_equal(elf_file_open(&file, scratch, &key), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	elf_file_close(&file);
	return symbols;
}

/* That so much of the copy is lost, and who names shown all the same; source
 * WIRE_SOURCE_COUNT: nobody. */
static void expect_of(size_t size, enum wire_loss what, uint64_t skipped,
		      enum wire_source source)
{
	struct symbols *symbols = load(size);
	struct symbols_loss loss = symbols_loss(symbols);
	struct symbol_name found = { .source = WIRE_SOURCE_COUNT };

	assert_int_equal(loss.what, what);
	assert_int_equal(loss.skipped, skipped);
	if (what != WIRE_LOSS_NONE)
		assert_int_equal(loss.source, WIRE_SOURCE_SYMTAB);
	(void)symbols_find_by_name(symbols, "shown", &found);
	assert_int_equal(found.source, source);
	symbols_free(symbols);
	memcpy(bytes, good, good_size);
}

static void expect(enum wire_loss what, uint64_t skipped,
		   enum wire_source source)
{
	expect_of(good_size, what, skipped, source);
}

static int copy(void **state)
{
	(void)state;
	memcpy(bytes, good, good_size);
	return 0;
}

static void a_whole_file_has_lost_nothing(void **state)
{
	(void)state;
	expect(WIRE_LOSS_NONE, 0, WIRE_SOURCE_SYMTAB);
}

static void a_file_without_sections_has_lost_nothing(void **state)
{
	(void)state;
	section(SHT_SYMTAB, false)->sh_type = SHT_NULL;
	expect(WIRE_LOSS_NONE, 0, WIRE_SOURCE_DYNSYM);
	header()->e_shoff = 0;
	header()->e_shnum = 0;
	header()->e_shstrndx = 0;
	expect(WIRE_LOSS_NONE, 0, WIRE_SOURCE_COUNT);
}

static void the_vdso_has_lost_nothing(void **state)
{
	struct symbols *symbols;
	struct elf_file file;

	(void)state;
	assert_int_equal(inspect_open_vdso(&file), 0);
	assert_int_equal(symbols_load(&symbols, &file), 0);
	assert_int_equal(symbols_loss(symbols).what, WIRE_LOSS_NONE);
	symbols_free(symbols);
	elf_file_close(&file);
}

static void section_headers_that_were_cut_off_are_missed(void **state)
{
	(void)state;
	for (size_t size = header()->e_shoff; size > 1000; size /= 2)
		expect_of(size, WIRE_LOSS_SECTIONS, 0, WIRE_SOURCE_COUNT);
	/* Not all of them. */
	expect_of(good_size - sizeof(Elf64_Shdr), WIRE_LOSS_SECTIONS, 0,
		  WIRE_SOURCE_COUNT);
}

static void section_headers_that_are_nowhere_are_missed(void **state)
{
	static const uint64_t places[] = { 1, 0x7fffffff,
					   UINT64_C(0x7fffffffffffffff),
					   UINT64_C(0xfffffffffffff000),
					   UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		header()->e_shoff = places[i];
		expect(WIRE_LOSS_SECTIONS, 0, WIRE_SOURCE_COUNT);
	}
	header()->e_shoff = 0;
	expect(WIRE_LOSS_SECTIONS, 0, WIRE_SOURCE_COUNT);
	header()->e_shentsize = 1;
	expect(WIRE_LOSS_SECTIONS, 0, WIRE_SOURCE_COUNT);
	header()->e_shnum = UINT16_MAX;
	expect(WIRE_LOSS_SECTIONS, 0, WIRE_SOURCE_COUNT);
}

static void a_table_that_is_not_in_the_file_costs_itself(void **state)
{
	(void)state;
	section(SHT_SYMTAB, false)->sh_offset = good_size;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
	section(SHT_SYMTAB, false)->sh_size = UINT64_MAX / 2;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
	section(SHT_SYMTAB, false)->sh_entsize = 1;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
	section(SHT_SYMTAB, true)->sh_offset = UINT64_MAX;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
	section(SHT_SYMTAB, true)->sh_size = good_size;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
	section(SHT_SYMTAB, false)->sh_link = 0;
	expect(WIRE_LOSS_TABLE, 0, WIRE_SOURCE_DYNSYM);
}

static void a_table_that_is_too_large_costs_itself(void **state)
{
	size_t size = (size_t)600 << 20;

	(void)state;
	section(SHT_SYMTAB, false)->sh_offset = 0;
	section(SHT_SYMTAB, false)->sh_size = size / 24 * 24;
	expect_of(size, WIRE_LOSS_TOO_LARGE, 0, WIRE_SOURCE_DYNSYM);
}

/* Of the copy, in .symtab. */
static Elf64_Sym *symbol(const char *name)
{
	const char *names =
		(char *)bytes + section(SHT_SYMTAB, true)->sh_offset;
	Elf64_Sym *at =
		(Elf64_Sym *)(bytes + section(SHT_SYMTAB, false)->sh_offset);

	while (strcmp(names + at->st_name, name))
		at++;
	return at;
}

static void names_outside_their_table_are_counted(void **state)
{
	uint32_t end = (uint32_t)section(SHT_SYMTAB, true)->sh_size;
	const uint32_t places[] = { end, end + 1, UINT32_MAX };
	Elf64_Sym *shown = symbol("shown");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		shown->st_name = places[i];
		expect(WIRE_LOSS_NAMES, 1, WIRE_SOURCE_DYNSYM);
	}
	/* To have none is another matter. */
	shown->st_name = 0;
	expect(WIRE_LOSS_NONE, 0, WIRE_SOURCE_DYNSYM);
}

/* A symbol without a size goes to the next; but which is that? */
static void where_names_are_lost_no_symbol_is_stretched(void **state)
{
	Elf64_Sym *hidden = symbol("hidden"), *shown = symbol("shown");
	uint64_t last = hidden->st_value + hidden->st_size - 1;
	struct symbol_name found;
	struct symbols *symbols;

	(void)state;
	assert_true(hidden->st_value < shown->st_value);
	hidden->st_size = 0;
	symbols = load(good_size);
	assert_true(symbols_find(symbols, last, &found));
	assert_memory_equal(found.name, "hidden", 6);
	symbols_free(symbols);
	shown->st_name = UINT32_MAX;
	symbols = load(good_size);
	assert_false(symbols_find(symbols, last, &found));
	symbols_free(symbols);
}

/* The rest of such a name is whatever follows in the file. */
static void names_without_an_end_are_counted(void **state)
{
	const Elf64_Shdr *names = section(SHT_SYMTAB, true);

	(void)state;
	memset(bytes + names->sh_offset + 1, 'x', names->sh_size - 1);
	expect(WIRE_LOSS_NAMES, 2, WIRE_SOURCE_DYNSYM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_whole_file_has_lost_nothing, copy),
		cmocka_unit_test_setup(a_file_without_sections_has_lost_nothing,
				       copy),
		cmocka_unit_test(the_vdso_has_lost_nothing),
		cmocka_unit_test_setup(
			section_headers_that_were_cut_off_are_missed, copy),
		cmocka_unit_test_setup(
			section_headers_that_are_nowhere_are_missed, copy),
		cmocka_unit_test_setup(
			a_table_that_is_not_in_the_file_costs_itself, copy),
		cmocka_unit_test_setup(a_table_that_is_too_large_costs_itself,
				       copy),
		cmocka_unit_test_setup(names_outside_their_table_are_counted,
				       copy),
		cmocka_unit_test_setup(names_without_an_end_are_counted, copy),
		cmocka_unit_test_setup(
			where_names_are_lost_no_symbol_is_stretched, copy),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, read_good, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The kernel's names from texts of our own: what is hidden, what comes and
 * goes. Times are of intervals of 1000, as made up as the addresses.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/kernel.h"

#define BASE  UINT64_C(0xffffffff81000000)
#define MADE  UINT64_C(0xffffffffc0000000)
#define ADDED UINT64_C(0xffffffffd0000000)

static const char kernel_text[] = "ffffffff81000000 T _stext\n"
				  "ffffffff81000000 T b_first\n"
				  "ffffffff81000100 t second\n"
				  "ffffffff81000100 W a_second\n"
				  "ffffffff81000180 D data\n"
				  "ffffffff81002000 T last\n"
				  "ffffffff81003000 T _etext\n";
static const char made_text[] = "ffffffffc0000000 t bpf_prog_11_one\t[bpf]\n"
				"ffffffffc0000400 t bpf_prog_22_two\t[bpf]\n";
static const char module_text[] = "ffffffffd0000000 t m_init\t[mod]\n"
				  "ffffffffd0000200 t m_run\t[mod]\n";
static const char module_list[] = "mod 4096 0 - Live 0xffffffffd0000000\n";

static struct binaries *binaries;
static struct kernel *kernel;
static struct kernel_place place;
static int symbols_fd, modules_fd;
static struct weft_err err;

static void set(int fd, const char *a, const char *b, const char *c)
{
	const char *texts[] = { a, b, c };

	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(write(fd, texts[i], strlen(texts[i])),
				 strlen(texts[i]));
}

static int set_up(void **state)
{
	(void)state;
	symbols_fd = memfd_create("symbols", MFD_CLOEXEC);
	modules_fd = memfd_create("modules", MFD_CLOEXEC);
	return symbols_fd < 0 || modules_fd < 0 ||
	       binaries_open(&binaries, &err);
}

static int tear_down(void **state)
{
	(void)state;
	kernel_close(kernel);
	kernel = NULL;
	binaries_close(binaries);
	return 0;
}

static void open_kernel(void)
{
	assert_int_equal(kernel_open_files(&kernel, binaries, symbols_fd,
					   modules_fd, &err),
			 0);
}

static void expect(uint64_t addr, uint64_t start_ns, const char *path,
		   uint64_t offset, const char *name)
{
	kernel_find(kernel, addr, start_ns, start_ns + 1000, &place);
	if (name)
		assert_string_equal(place.name, name);
	else
		assert_null(place.name);
	assert_string_equal(place.binary->file.path, path);
	assert_int_equal(place.offset, offset);
}

static void expect_unnamed(uint64_t addr, uint64_t start_ns)
{
	expect(addr, start_ns, "[kernel]", addr - BASE, NULL);
}

static void tell(uint64_t start, uint32_t size, const char *name,
		 uint64_t boot_ns)
{
	struct sideband_event event = {
		.kind = SIDEBAND_KSYMBOL,
		.boot_ns = boot_ns,
		.ksymbol = { start, size, !name, name ? name : "x" },
	};

	kernel_event(kernel, &event);
}

static void the_kernels_functions_are_named(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, "", "");
	open_kernel();
	assert_false(kernel_is_hidden(kernel));
	expect(BASE + 5, 1000, "[kernel]", 5, "_stext");
	/* Of two names the first, wherever it stands; data is no code. */
	expect(BASE + 0x190, 1000, "[kernel]", 0x190, "a_second");
	expect(BASE + 0x2fff, 1000, "[kernel]", 0x2fff, "last");
	/* Far behind the last function there is none. */
	expect_unnamed(BASE + 0x300000, 1000);
	expect_unnamed(BASE - 1, 1000);
}

static void hidden_addresses_name_nothing(void **state)
{
	(void)state;
	set(symbols_fd,
	    "0000000000000000 T _stext\n"
	    "0000000000000000 T last\n",
	    "0000000000000000 T _etext\n", "0000000000000000 t run\t[mod]\n");
	set(modules_fd, "mod 4096 0 - Live 0x0000000000000000\n", "", "");
	open_kernel();
	assert_true(kernel_is_hidden(kernel));
	/* And no address leaves the machine. */
	expect(BASE + 5, 1000, "[kernel]", 0, NULL);
	expect(5, 1000, "[kernel]", 0, NULL);
	kernel_refresh(kernel, 2000);
	assert_true(kernel_is_hidden(kernel));
}

static void lines_that_are_none_are_passed_over(void **state)
{
	(void)state;
	set(symbols_fd, "\n \nffffffff81000000\nx T y\nffffffff81000000 T",
	    "\nffffffff81000000 T \nffffffff81000000 T n\t\n",
	    "ffffffff81000040 T m\t[\nffffffff81000080 T o\tp\n"
	    "ffffffff81000100 T last_without_end");
	set(modules_fd, "\nx\nmod x 0 - Live 0x1\nmod 1\n",
	    "mod 18446744073709551615 0 - Live 0xffffffffd0000000", "");
	open_kernel();
	kernel_find(kernel, BASE + 0x100, 1000, 2000, &place);
	assert_string_equal(place.name, "last_without_end");
	kernel_find(kernel, BASE, 1000, 2000, &place);
	assert_string_equal(place.name, "n");
}

static void made_code_that_was_there_is_named_but_not_beyond(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, made_text, "");
	open_kernel();
	expect(MADE + 0x3ff, 1000, "[bpf_prog_11_one]", 0x3ff,
	       "bpf_prog_11_one");
	expect(MADE + 0x400, 1000, "[bpf_prog_22_two]", 0, "bpf_prog_22_two");
	/* Nothing says how long it is. */
	expect_unnamed(MADE + 0x400 + 4096, 1000);
}

static void made_code_has_the_name_that_it_had_in_the_interval(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, made_text, "");
	open_kernel();
	tell(MADE + 0x4000, 0x100, "bpf_prog_33_a", 1500);
	tell(MADE + 0x4000, 0x100, NULL, 2500);
	tell(MADE + 0x4000, 0x80, "bpf_prog_44_b", 3500);
	/* Before it came; while it was there; between; the next at that
	 * place, which is shorter. */
	expect_unnamed(MADE + 0x4010, 0);
	expect(MADE + 0x4010, 1000, "[bpf_prog_33_a]", 0x10, "bpf_prog_33_a");
	expect(MADE + 0x40ff, 2000, "[bpf_prog_33_a]", 0xff, "bpf_prog_33_a");
	expect_unnamed(MADE + 0x4010, 2500);
	expect(MADE + 0x4010, 3000, "[bpf_prog_44_b]", 0x10, "bpf_prog_44_b");
	expect_unnamed(MADE + 0x4080, 4000);
	/* Both were there within one: neither is right for sure. */
	kernel_find(kernel, MADE + 0x4010, 2400, 3600, &place);
	assert_null(place.name);
	/* The same again at the same place is the same. */
	tell(MADE + 0x4000, 0x80, NULL, 5500);
	tell(MADE + 0x4000, 0x80, "bpf_prog_44_b", 5600);
	expect(MADE + 0x4010, 5000, "[bpf_prog_44_b]", 0x10, "bpf_prog_44_b");
	/* What is forgotten is not found. */
	kernel_prune(kernel, 3000);
	expect_unnamed(MADE + 0x4010, 1000);
	expect(MADE + 0x4010, 5000, "[bpf_prog_44_b]", 0x10, "bpf_prog_44_b");
}

static void what_was_there_at_the_start_can_go(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, made_text, "");
	open_kernel();
	tell(MADE, 0x300, NULL, 1500);
	tell(MADE + 0x80, 0x100, "bpf_prog_55_c", 1600);
	expect(MADE + 0x90, 0, "[bpf_prog_11_one]", 0x90, "bpf_prog_11_one");
	expect(MADE + 0x90, 2000, "[bpf_prog_55_c]", 0x10, "bpf_prog_55_c");
	expect_unnamed(MADE + 0x10, 2000);
	/* Also what of its length was only a guess. */
	expect_unnamed(MADE + 0x390, 2000);
}

static void what_was_missed_is_read_again(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, "", "");
	open_kernel();
	set(symbols_fd, kernel_text, made_text, "");
	kernel_refresh(kernel, 1000);
	expect_unnamed(MADE + 0x10, 1000);
	kernel_refresh(kernel, 2000);
	/* It was found then: it may not have been there before. */
	expect_unnamed(MADE + 0x10, 1000);
	expect(MADE + 0x10, 2000, "[bpf_prog_11_one]", 0x10, "bpf_prog_11_one");
}

static void after_a_loss_what_is_listed_holds(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, made_text, "");
	open_kernel();
	tell(MADE + 0x4000, 0x100, "bpf_prog_33_a", 500);
	kernel_distrust(kernel);
	kernel_refresh(kernel, 2000);
	expect(MADE + 0x10, 1000, "[bpf_prog_11_one]", 0x10, "bpf_prog_11_one");
	expect(MADE + 0x10, 2000, "[bpf_prog_11_one]", 0x10, "bpf_prog_11_one");
	/* This one went, and nobody told. */
	expect(MADE + 0x4010, 1000, "[bpf_prog_33_a]", 0x10, "bpf_prog_33_a");
	expect_unnamed(MADE + 0x4010, 2000);
}

static void modules_are_named_within_their_bounds(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, module_text, "");
	set(modules_fd, module_list, "", "");
	open_kernel();
	expect(ADDED + 0x1ff, 1000, "[mod]", 0x1ff, "m_init");
	expect(ADDED + 0xfff, 1000, "[mod]", 0xfff, "m_run");
	expect_unnamed(ADDED + 0x1000, 1000);
}

static void a_module_is_named_in_the_interval_in_which_it_came(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, "", "");
	open_kernel();
	kernel_refresh(kernel, 1000);
	set(symbols_fd, kernel_text, module_text, "");
	set(modules_fd, module_list, "", "");
	kernel_refresh(kernel, 2000);
	expect_unnamed(ADDED + 0x10, 0);
	expect(ADDED + 0x10, 1000, "[mod]", 0x10, "m_init");
}

static void a_module_where_another_was_is_not_named_at_once(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, module_text, "");
	set(modules_fd, module_list, "", "");
	open_kernel();
	kernel_refresh(kernel, 1000);
	set(symbols_fd, kernel_text, "ffffffffd0000000 t other\t[new]\n", "");
	set(modules_fd, "new 4096 0 - Live 0xffffffffd0000000\n", "", "");
	kernel_refresh(kernel, 2000);
	expect_unnamed(ADDED + 0x10, 1000);
	kernel_refresh(kernel, 3000);
	expect(ADDED + 0x10, 2000, "[new]", 0x10, "other");
}

static void uses_of_a_module_do_not_make_it_another(void **state)
{
	(void)state;
	set(symbols_fd, kernel_text, module_text, "");
	set(modules_fd, module_list, "", "");
	open_kernel();
	/* If it were read again, it would be found to be empty. */
	set(symbols_fd, "", "", "");
	set(modules_fd, "mod 4096 7 x,y, Live 0xffffffffd0000000 (O)\n", "",
	    "");
	kernel_refresh(kernel, 1000);
	expect(ADDED + 0x10, 1000, "[mod]", 0x10, "m_init");
}

static void what_cannot_be_read_is_told(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0); /* it cannot be read again */
	close(ends[1]);
	assert_int_equal(
		kernel_open_files(&kernel, binaries, ends[0], modules_fd, &err),
		-EIO);
	assert_null(kernel);
	close(symbols_fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_kernels_functions_are_named),
		CASE(hidden_addresses_name_nothing),
		CASE(lines_that_are_none_are_passed_over),
		CASE(made_code_that_was_there_is_named_but_not_beyond),
		CASE(made_code_has_the_name_that_it_had_in_the_interval),
		CASE(what_was_there_at_the_start_can_go),
		CASE(what_was_missed_is_read_again),
		CASE(after_a_loss_what_is_listed_holds),
		CASE(modules_are_named_within_their_bounds),
		CASE(a_module_is_named_in_the_interval_in_which_it_came),
		CASE(a_module_where_another_was_is_not_named_at_once),
		CASE(uses_of_a_module_do_not_make_it_another),
		CASE(what_cannot_be_read_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

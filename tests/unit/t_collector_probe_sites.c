/* SPDX-License-Identifier: MIT */
/*
 * Where functions and built-in probes are found to be in files that the test
 * makes: each place has bytes of its own, which must lie there. The notes are
 * written by hand, so that they can lie, too.
 */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "collector/measure/symbol.h"
#include "collector/probe_sites.h"
#include "tests/unit/t_collector_elf_built.h"

static struct weft_err err;

/* A function of the name whose first instruction has the number in it. */
#define FUNCTION(name, number)                   \
	".type " name ", @function\n" name ":\n" \
	"movabs $0x" number ", %rax\nret\n.size " name ", . - " name "\n"

/* Of a probe the place (a label), the base, the semaphore, and who it is. */
#define NOTE(place, base, semaphore, who)                                 \
	".pushsection .note.stapsdt, \"\", @note\n.balign 4\n"            \
	".long 8, 3f - 2f, 3\n.asciz \"stapsdt\"\n2:\n"                   \
	".8byte " place ", " base ", " semaphore "\n.asciz " who "\n3:\n" \
	".balign 4\n.popsection\n"

#define BASE                                                         \
	".section .stapsdt.base, \"aG\", @progbits, .stapsdt.base, " \
	"comdat\n.weak _.stapsdt.base\n_.stapsdt.base: .space 1\n"   \
	".size _.stapsdt.base, 1\n.text\n"

static void build(const char *text, const char *options)
{
	char command[256];

	built_write("p.s", text);
	snprintf(command, sizeof(command),
		 "cc -nostdlib -Wl,--build-id=none %s -o p p.s", options);
	assert_true(built_run(command));
	memset(&err, 0, sizeof(err));
}

/* Whether the bytes at an offset of the file are those. */
static void expect_at(uint64_t offset, const void *want, size_t size)
{
	char got[16] = { 0 };
	FILE *file = fopen(built_path("p"), "re");

	assert_non_null(file);
	assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
	assert_int_equal(fread(got, 1, size, file), size);
	fclose(file);
	assert_memory_equal(got, want, size);
}

static void expect_said(const char *words)
{
	if (!strstr(err.msg, words))
		fail_msg("'%s' is not in: %s", words, err.msg);
}

static void a_function_is_found_where_its_code_lies(void **state)
{
	static const char *const ways[] = {
		"-shared", "-shared -Wl,-z,noseparate-code",
		"-static -Wl,-Ttext-segment=0x7000000"
	};
	static const char code[] = "\x48\xb8\x88\x77\x66\x55\x44\x33\x22\x11";
	struct measure_place place;
	uint64_t offset = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		build(".globl _start, wanted\n" FUNCTION("_start", "1")
			      FUNCTION("wanted", "1122334455667788")
				      FUNCTION("hidden", "3"),
		      ways[i]);
		assert_int_equal(probe_sites_of_function(built_path("p"),
							 "wanted", &offset,
							 &err),
				 0);
		expect_at(offset, code, sizeof(code) - 1);
		assert_int_equal(
			measure_symbol(built_path("p"), "wanted", &place, &err),
			0);
		close(place.fd);
		assert_int_equal(place.offset, offset);
		assert_int_equal(place.size, 11);
	}
	assert_int_equal(probe_sites_of_function(built_path("p"), "wnated",
						 &offset, &err),
			 -ENOENT);
	expect_said("did you mean 'wanted'?");
	build(".globl _start, wanted\n" FUNCTION("wanted", "2")
		      FUNCTION("hidden", "3"),
	      "-shared -s");
	assert_int_equal(probe_sites_of_function(built_path("p"), "hidden",
						 &offset, &err),
			 -ENOENT);
	expect_said("only what it exports has names");
}

/* Two files may have a function of one name each; which is meant, nobody
 * knows. */
static void several_functions_of_a_name_are_refused(void **state)
{
	struct measure_place place;
	uint64_t offset;

	(void)state;
	built_write("q.s", FUNCTION("twice", "1"));
	build(FUNCTION("twice", "2"), "-shared q.s");
	assert_int_equal(probe_sites_of_function(built_path("p"), "twice",
						 &offset, &err),
			 -EINVAL);
	expect_said("has 2 functions 'twice'");
	memset(&err, 0, sizeof(err));
	assert_int_equal(measure_symbol(built_path("p"), "twice", &place, &err),
			 -ENOTUNIQ);
	expect_said("several functions 'twice'");
	assert_int_equal(place.fd, -1);
}

static void a_probe_is_found_at_each_of_its_places(void **state)
{
	struct probe_sites sites;

	(void)state;
	build(".text\n.globl _start\n_start: nop\n"
	      "one: .byte 0x90, 0x11, 0x90\ntwo: .byte 0x90, 0x22, 0x90\n"
	      ".data\n.balign 8\nsemaphore: .2byte 0x4242\n.text\n" NOTE(
		      "one", "_.stapsdt.base", "semaphore",
		      "\"app\", \"done\", \"-4@%edi\"")
		      NOTE("two", "_.stapsdt.base", "0",
			   "\"app\", \"done\", \"\"")
			      NOTE("two", "_.stapsdt.base", "0",
				   "\"app\", \"other\", \"\"") BASE,
	      "-static");
	assert_int_equal(probe_sites_of_usdt(built_path("p"), "app", "done",
					     &sites, &err),
			 0);
	assert_int_equal(sites.n, 2);
	expect_at(sites.site[0].offset, "\x90\x11\x90", 3);
	expect_at(sites.site[0].semaphore, "\x42\x42", 2);
	expect_at(sites.site[1].offset, "\x90\x22\x90", 3);
	assert_int_equal(sites.site[1].semaphore, 0);
	assert_int_equal(probe_sites_of_usdt(built_path("p"), "app", "odne",
					     &sites, &err),
			 -ENOENT);
	expect_said("did you mean 'app:done'?");
}

/* prelink moves code and that section, but not the notes. */
static void notes_of_a_file_that_was_moved_are_put_right(void **state)
{
	struct probe_sites sites;

	(void)state;
	build(".text\n.globl _start\n_start: nop\n"
	      "one: .byte 0x90, 0x33, 0x90\n"
	      ".data\n.balign 8\nsemaphore: .2byte 0x4343\n.text\n" NOTE(
		      "one - 0x5000", "_.stapsdt.base - 0x5000",
		      "semaphore - 0x5000", "\"app\", \"done\", \"\"") BASE,
	      "-static");
	assert_int_equal(probe_sites_of_usdt(built_path("p"), "app", "done",
					     &sites, &err),
			 0);
	assert_int_equal(sites.n, 1);
	expect_at(sites.site[0].offset, "\x90\x33\x90", 3);
	expect_at(sites.site[0].semaphore, "\x43\x43", 2);
}

static void more_places_than_can_be_probed_are_not_left_out(void **state)
{
	struct probe_sites sites;

	(void)state;
	build(".text\n.globl _start\n_start: nop\n"
	      ".rept 64\n1: nop\n" NOTE("1b", "0", "0",
					"\"a\", \"b\", \"\"") ".endr\n",
	      "-static");
	assert_int_equal(
		probe_sites_of_usdt(built_path("p"), "a", "b", &sites, &err),
		0);
	assert_int_equal(sites.n, PROBE_SITES_MAX);
	build(".text\n.globl _start\n_start: nop\n"
	      ".rept 65\n1: nop\n" NOTE("1b", "0", "0",
					"\"a\", \"b\", \"\"") ".endr\n",
	      "-static");
	assert_int_equal(
		probe_sites_of_usdt(built_path("p"), "a", "b", &sites, &err),
		-E2BIG);
	expect_said("at more than 64 places");
}

/* Notes that are cut, of others, or lead out of the code. */
static void notes_that_are_wrong_lead_nowhere(void **state)
{
	struct probe_sites sites;

	(void)state;
	build(".text\n.globl _start\n_start: nop\n"
	      ".pushsection .note.stapsdt, \"\", @note\n"
	      /* no strings; no end of the second; another's; too short */
	      ".long 8, 24, 3\n.asciz \"stapsdt\"\n.8byte _start, 0, 0\n"
	      ".long 8, 28, 3\n.asciz \"stapsdt\"\n.8byte _start, 0, 0\n"
	      ".ascii \"a\\0bb\"\n"
	      ".long 8, 28, 3\n.asciz \"stapsdx\"\n.8byte _start, 0, 0\n"
	      ".asciz \"a\"\n.asciz \"b\"\n"
	      ".long 8, 8, 3\n.asciz \"stapsdt\"\n.8byte _start\n"
	      /* outside all code, in data, at both ends of memory */
	      ".popsection\n" NOTE("0x10", "0", "0", "\"a\", \"b\", \"\"")
		      NOTE("-1", "0", "-1", "\"a\", \"b\", \"\"")
			      NOTE("data", "0", "0", "\"a\", \"b\", \"\"")
	      /* the last goes on for ever */
	      ".data\ndata: .8byte 0\n"
	      ".pushsection .note.stapsdt, \"\", @note\n"
	      ".long 8, 0xfffffff0, 3\n.asciz \"stapsdt\"\n"
	      ".8byte _start, 0, 0\n.popsection\n",
	      "-static");
	assert_int_equal(
		probe_sites_of_usdt(built_path("p"), "a", "b", &sites, &err),
		-ENOENT);
	assert_int_equal(sites.n, 0);
	expect_said("outside its code");
}

/* A word of the file after the other is set to what hurts: what comes of it is
 * in the file, or a reason. */
static void whatever_a_file_says_the_answer_is_sound(void **state)
{
	static const uint32_t values[] = { 0, 1, 0x7fffffff, 0xfffffff0 };
	static uint8_t good[1 << 16], bad[sizeof(good)];
	struct probe_sites sites;
	int n_found = 0, n = 0;
	FILE *file;
	size_t size;

	(void)state;
	build(".text\n.globl _start\n_start: nop\n" FUNCTION("f", "1")
		      NOTE("_start", "_.stapsdt.base", "0",
			   "\"a\", \"b\", \"\"") BASE,
	      "-static -Wl,-z,max-page-size=4096 -Wl,-z,noseparate-code");
	file = fopen(built_path("p"), "re");
	assert_non_null(file);
	size = fread(good, 1, sizeof(good), file);
	fclose(file);
	assert_true(size > 0 && size < sizeof(good));
	for (size_t at = 0; at + 4 <= size; at += 4) {
		uint64_t offset = 0;

		memcpy(bad, good, size);
		memcpy(bad + at, &values[at / 4 % ARRAY_LEN(values)], 4);
		file = fopen(built_path("p"), "we");
		assert_non_null(file);
		assert_int_equal(fwrite(bad, 1, size, file), size);
		fclose(file);
		memset(&err, 0, sizeof(err));
		n++;
		if (!probe_sites_of_usdt(built_path("p"), "a", "b", &sites,
					 &err)) {
			n_found++;
			assert_in_range(sites.n, 1, PROBE_SITES_MAX);
		} else {
			assert_true(err.msg[0]);
			assert_null(strstr(err.msg, "does not answer"));
		}
		memset(&err, 0, sizeof(err));
		if (probe_sites_of_function(built_path("p"), "f", &offset,
					    &err))
			assert_null(strstr(err.msg, "does not answer"));
	}
	print_message("# %d files, in %d the probe was found\n", n, n_found);
	assert_true(n_found > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_where_its_code_lies),
		cmocka_unit_test(several_functions_of_a_name_are_refused),
		cmocka_unit_test(a_probe_is_found_at_each_of_its_places),
		cmocka_unit_test(notes_of_a_file_that_was_moved_are_put_right),
		cmocka_unit_test(
			more_places_than_can_be_probed_are_not_left_out),
		cmocka_unit_test(notes_that_are_wrong_lead_nowhere),
		cmocka_unit_test(whatever_a_file_says_the_answer_is_sound),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, built_set_up, built_tear_down);
}

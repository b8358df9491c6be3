/* SPDX-License-Identifier: MIT */
/* Lines of /proc/PID/maps, as the kernel writes them and as it never would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/inspect/proc.h"

static char line[512];
static struct procfs_mapping mapping;

static bool parse(const char *text)
{
	snprintf(line, sizeof(line), "%s", text);
	return procfs_maps_parse(line, &mapping);
}

static void a_line_of_a_64_bit_program_is_taken(void **state)
{
	(void)state;
	assert_true(parse("7f0123456000-7f0123478000 r-xp 00026000 fd:1f "
			  "1839412    /usr/lib/libc.so.6"));
	assert_int_equal(mapping.start, 0x7f0123456000);
	assert_int_equal(mapping.end, 0x7f0123478000);
	assert_int_equal(mapping.file_offset, 0x26000);
	assert_int_equal(mapping.dev_major, 0xfd);
	assert_int_equal(mapping.dev_minor, 0x1f);
	assert_int_equal(mapping.inode, 1839412);
	assert_true(mapping.is_executable);
	assert_false(mapping.is_shared);
	assert_string_equal(mapping.path, "/usr/lib/libc.so.6");
	assert_int_equal(mapping.path_size, strlen(mapping.path));
	assert_true(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 "
			  "00:00 0                  [vsyscall]"));
	assert_true(mapping.start == 0xffffffffff600000);
}

static void a_line_of_a_32_bit_program_is_taken(void **state)
{
	(void)state;
	assert_true(parse("08048000-08053000 r-xp 00001000 08:01 262154     "
			  "/bin/cat"));
	assert_int_equal(mapping.start, 0x8048000);
	assert_int_equal(mapping.end, 0x8053000);
	assert_int_equal(mapping.file_offset, 0x1000);
	assert_string_equal(mapping.path, "/bin/cat");
	assert_true(parse("fffdd000-ffffe000 rw-s 00000000 00:00 0 "));
	assert_int_equal(mapping.start, 0xfffdd000);
	assert_int_equal(mapping.end, 0xffffe000);
	assert_false(mapping.is_executable);
	assert_true(mapping.is_shared);
	assert_string_equal(mapping.path, "");
}

static void a_path_is_taken_whole(void **state)
{
	static const char head[] = "1000-2000 r-xp 00000000 08:01 7      ";
	static const char *const paths[][2] = {
		{ "/with space ", "/with space " },
		{ "/new\\012line", "/new\nline" },
		{ "/kept (deleted)", "/kept (deleted)" },
		{ "/latin\351", "/latin\351" },
		{ "[vdso]", "[vdso]" },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		snprintf(text, sizeof(text), "%s%s", head, paths[i][0]);
		assert_true(parse(text));
		assert_string_equal(mapping.path, paths[i][1]);
		assert_int_equal(mapping.path_size, strlen(paths[i][1]));
	}
	assert_true(parse("1000-2000 r-xp 00000000 00:00 0"));
	assert_string_equal(mapping.path, "");
}

static void what_is_no_line_of_maps_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"-",
		"1000-2000",
		"1000-2000 r-xp",
		"2000-1000 r-xp 0 0:0 0",
		"1000-1000 r-xp 0 0:0 0",
		"-1000-2000 r-xp 0 0:0 0",
		" 1000-2000 r-xp 0 0:0 0",
		"1000-11000000000000000 r-xp 0 0:0 0",
		"1000-2000 rxp 0 0:0 0",
		"1000-2000 r-xp  0 0:0 0",
		"1000-2000 r-xp 0 100000000:0 0",
		"1000-2000 r-xp 0 0-0 0",
		"1000-2000 r-xp 0 0:0 +7",
		"1000-2000 r-xp 0 0:0 7x",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (parse(lines[i]))
			fail_msg("taken: '%s'", lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_of_a_64_bit_program_is_taken),
		cmocka_unit_test(a_line_of_a_32_bit_program_is_taken),
		cmocka_unit_test(a_path_is_taken_whole),
		cmocka_unit_test(what_is_no_line_of_maps_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

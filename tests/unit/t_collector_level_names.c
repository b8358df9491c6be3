/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/level_names.h"

static const struct frame_name symbol = { .frame_id = 7,
					  .name = "outer.cold",
					  .linkage_name = "_Zouter",
					  .source = "symtab" };
static const struct frame_name no_symbol = { .frame_id = 7 };

static void the_outermost_goes_by_its_symbol(void **state)
{
	static const struct inspect_level levels[] = {
		{ .name = "inner", .file = "a.c", .line = 3 },
		{ .name = "outer", .file = "b.c", .line = 5 },
	};
	struct frame_name out[INSPECT_LEVELS_MAX];

	(void)state;
	assert_int_equal(level_names(out, &symbol, levels, 2), 2);
	assert_string_equal(out[0].name, "inner");
	assert_string_equal(out[0].source, "dwarf");
	assert_null(out[0].linkage_name);
	assert_int_equal(out[0].line, 3);
	assert_int_equal(out[0].inline_depth, 0);
	assert_string_equal(out[1].name, "outer.cold");
	assert_string_equal(out[1].linkage_name, "_Zouter");
	assert_string_equal(out[1].source, "symtab");
	assert_string_equal(out[1].file, "b.c");
	assert_int_equal(out[1].inline_depth, 1);
	assert_int_equal(out[1].frame_id, 7);
	assert_int_equal(level_names(out, &no_symbol, levels, 2), 2);
	assert_string_equal(out[1].name, "outer");
	assert_string_equal(out[1].source, "dwarf");
}

static void a_level_without_a_name_costs_the_others_nothing(void **state)
{
	static const struct inspect_level levels[] = {
		{ .name = "inner", .line = 3 },
		{ .line = 4 },
		{ .line = 5 },
	};
	struct frame_name out[INSPECT_LEVELS_MAX];

	(void)state;
	assert_int_equal(level_names(out, &symbol, levels, 3), 2);
	assert_string_equal(out[0].name, "inner");
	assert_string_equal(out[1].name, "outer.cold");
	assert_int_equal(out[1].line, 5);
	assert_int_equal(out[1].inline_depth, 1);
	assert_int_equal(level_names(out, &no_symbol, levels, 3), 1);
	assert_string_equal(out[0].name, "inner");
	assert_int_equal(level_names(out, &no_symbol, levels + 1, 2), 0);
	assert_int_equal(level_names(out, &symbol, levels, 0), 0);
}

static void there_are_no_more_than_fit(void **state)
{
	static struct inspect_level levels[2 * INSPECT_LEVELS_MAX];
	struct frame_name out[INSPECT_LEVELS_MAX];

	(void)state;
	for (int i = 0; i < 2 * INSPECT_LEVELS_MAX; i++)
		levels[i].name = "x";
	assert_int_equal(
		level_names(out, &symbol, levels, 2 * INSPECT_LEVELS_MAX),
		INSPECT_LEVELS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_outermost_goes_by_its_symbol),
		cmocka_unit_test(
			a_level_without_a_name_costs_the_others_nothing),
		cmocka_unit_test(there_are_no_more_than_fit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

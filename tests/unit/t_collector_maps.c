/* SPDX-License-Identifier: MIT */
/* What cmocka.h needs comes before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "collector/maps.h"

static struct binary one = { .number = 1 }, two = { .number = 2 };

static struct mapping mapping(uint64_t start, uint64_t end, struct binary *b,
			      uint64_t from_ns)
{
	return (struct mapping){
		.start = start,
		.end = end,
		.binary = b,
		.from_ns = from_ns,
		.to_ns = UINT64_MAX,
	};
}

static void add(struct maps *m, uint64_t start, uint64_t end, struct binary *b,
		uint64_t from_ns)
{
	struct mapping new = mapping(start, end, b, from_ns);

	assert_int_equal(maps_add(m, &new), 0);
}

static void fill(struct maps *m, uint64_t start, uint64_t end, struct binary *b)
{
	struct mapping old = mapping(start, end, b, 0);

	assert_int_equal(maps_fill(m, &old), 0);
}

static void expect(const struct maps *m, uint64_t addr, uint64_t from,
		   uint64_t to, enum maps_answer want, struct binary *binary)
{
	const struct mapping *found;

	assert_int_equal(maps_find(m, addr, from, to, &found), want);
	if (want == MAPS_FOUND)
		assert_ptr_equal(found->binary, binary);
}

static void an_address_is_found_within_its_mapping_only(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x1000, 0x2000, &one, 10);
	add(&m, 0x3000, 0x4000, &two, 10);
	expect(&m, 0xfff, 20, 30, MAPS_NONE, NULL);
	expect(&m, 0x1000, 20, 30, MAPS_FOUND, &one);
	expect(&m, 0x1fff, 20, 30, MAPS_FOUND, &one);
	expect(&m, 0x2000, 20, 30, MAPS_NONE, NULL);
	expect(&m, 0x3000, 20, 30, MAPS_FOUND, &two);
	maps_release(&m);
}

static void a_change_within_the_interval_is_ambiguous(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x1000, 0x2000, &one, 10);
	add(&m, 0x1000, 0x2000, &two, 25);
	expect(&m, 0x1800, 20, 30, MAPS_AMBIGUOUS, NULL);
	expect(&m, 0x1800, 11, 20, MAPS_FOUND, &one);
	expect(&m, 0x1800, 26, 30, MAPS_FOUND, &two);
	maps_release(&m);
}

static void a_change_to_the_same_place_is_not_ambiguous(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x1000, 0x2000, &one, 10);
	add(&m, 0x1000, 0x2000, &one, 25);
	expect(&m, 0x1800, 20, 30, MAPS_FOUND, &one);
	maps_release(&m);
}

static void a_mapping_over_a_part_keeps_the_ends(void **state)
{
	struct maps m = { 0 };
	const struct mapping *found;

	(void)state;
	add(&m, 0x1000, 0x5000, &one, 10);
	add(&m, 0x2000, 0x3000, &two, 20);
	expect(&m, 0x1800, 30, 40, MAPS_FOUND, &one);
	expect(&m, 0x2800, 30, 40, MAPS_FOUND, &two);
	expect(&m, 0x3800, 30, 40, MAPS_FOUND, &one);
	assert_int_equal(maps_find(&m, 0x3800, 30, 40, &found), MAPS_FOUND);
	/* The rest keeps its place in the file. */
	assert_int_equal(0x3800 - found->start + found->file_offset, 0x2800);
	maps_release(&m);
}

static void what_is_removed_was_there_until_then(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x1000, 0x3000, &one, 10);
	add(&m, 0x3000, 0x5000, &two, 10);
	assert_int_equal(maps_remove(&m, 0x2000, 0x4000, 25), 0);
	expect(&m, 0x1800, 30, 40, MAPS_FOUND, &one);
	expect(&m, 0x2000, 20, 30, MAPS_FOUND, &one);
	expect(&m, 0x3fff, 20, 30, MAPS_FOUND, &two);
	expect(&m, 0x2000, 25, 40, MAPS_NONE, NULL);
	expect(&m, 0x3fff, 25, 40, MAPS_NONE, NULL);
	expect(&m, 0x4000, 30, 40, MAPS_FOUND, &two);
	assert_int_equal(maps_remove(&m, 0x8000, 0x9000, 30), 0);
	maps_release(&m);
}

static void what_proc_shows_fills_gaps_and_replaces_nothing(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x2000, 0x3000, &two, 20);
	fill(&m, 0x1000, 0x5000, &one);
	expect(&m, 0x1800, 30, 40, MAPS_FOUND, &one);
	expect(&m, 0x2800, 30, 40, MAPS_FOUND, &two);
	expect(&m, 0x4800, 30, 40, MAPS_FOUND, &one);
	maps_release(&m);
}

static void what_ended_before_is_forgotten(void **state)
{
	struct maps m = { 0 };

	(void)state;
	add(&m, 0x1000, 0x2000, &one, 10);
	add(&m, 0x1000, 0x2000, &two, 25);
	maps_prune(&m, 26);
	expect(&m, 0x1800, 20, 30, MAPS_FOUND, &two);
	maps_release(&m);
}

static void a_flood_of_mappings_is_refused_at_the_limit(void **state)
{
	struct maps m = { 0 };
	struct mapping extra = mapping(1, 2, &one, 0);

	(void)state;
	for (uint64_t i = 1; i <= MAPS_MAX; i++)
		add(&m, i * 0x2000, i * 0x2000 + 0x1000, &one, i);
	assert_int_equal(maps_add(&m, &extra), -E2BIG);
	expect(&m, 0x2000, 0, UINT64_MAX, MAPS_FOUND, &one);
	maps_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_found_within_its_mapping_only),
		cmocka_unit_test(a_change_within_the_interval_is_ambiguous),
		cmocka_unit_test(a_change_to_the_same_place_is_not_ambiguous),
		cmocka_unit_test(a_mapping_over_a_part_keeps_the_ends),
		cmocka_unit_test(what_is_removed_was_there_until_then),
		cmocka_unit_test(
			what_proc_shows_fills_gaps_and_replaces_nothing),
		cmocka_unit_test(what_ended_before_is_forgotten),
		cmocka_unit_test(a_flood_of_mappings_is_refused_at_the_limit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/inspect/owners.h"

static const uint64_t s = 1000000000;

static struct inspect_target file(uint64_t inode)
{
	return (struct inspect_target){ .a = inode, .b = 1, .is_file = true };
}

static struct inspect_target lines(uint64_t inode)
{
	struct inspect_target target = file(inode);

	target.is_lines = true;
	return target;
}

static int set_up(void **state)
{
	*state = calloc(1, sizeof(struct inspect_owners));
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* A request for the lines of a file. Returns its owner's place. */
static size_t ask(struct inspect_owners *o, uint64_t inode)
{
	struct inspect_target target = lines(inode);
	size_t owner = inspect_owners_find(o, &target);

	inspect_owners_wait(o, owner);
	return owner;
}

/* Run the next request; it takes that long. Returns its owner's place. */
static size_t run(struct inspect_owners *o, uint64_t time_ns)
{
	size_t owner = inspect_owners_choose(o);

	inspect_owners_leave(o, owner);
	inspect_owners_charge(o, owner, time_ns);
	return owner;
}

static void learn(struct inspect_owners *o, uint64_t inode, uint32_t uid)
{
	struct inspect_target target = file(inode);

	inspect_owners_learn(o, &target, uid);
}

static void one_owner_has_one_place(void **state)
{
	struct inspect_owners *o = *state;
	struct inspect_target one = lines(1), two = lines(2), three = lines(3),
			      four = lines(4);

	learn(o, 1, 1000);
	learn(o, 2, 1000);
	learn(o, 3, 0);
	assert_int_equal(inspect_owners_find(o, &one),
			 inspect_owners_find(o, &two));
	assert_int_not_equal(inspect_owners_find(o, &one),
			     inspect_owners_find(o, &three));
	/* Nobody knows whose this is. */
	assert_int_not_equal(inspect_owners_find(o, &four),
			     inspect_owners_find(o, &three));
	learn(o, 1, 0);
	assert_int_equal(inspect_owners_find(o, &one),
			 inspect_owners_find(o, &three));
}

static void many_files_of_one_user_do_not_crowd_out_anothers(void **state)
{
	struct inspect_owners *o = *state;
	size_t hostile = 0, other, turns = 0;

	for (uint64_t i = 0; i < 100; i++) {
		learn(o, 100 + i, 1000);
		hostile = ask(o, 100 + i);
	}
	learn(o, 1, 1001);
	assert_int_equal(run(o, 10 * s), hostile);
	other = ask(o, 1);
	ask(o, 1);
	ask(o, 1);
	assert_int_not_equal(other, hostile);
	/* Three turns of the other's before much of the hundred. */
	for (int left = 3; left; turns++)
		left -= run(o, 10 * s) == other;
	assert_in_range(turns, 3, 6);
}

static void time_not_asked_for_is_not_saved_up(void **state)
{
	struct inspect_owners *o = *state;
	size_t first, second, n_second = 0;

	learn(o, 1, 1);
	learn(o, 2, 2);
	first = ask(o, 1);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(run(o, 10 * s), first);
		ask(o, 1);
	}
	/* The second comes late, and does not have all turns for that. */
	for (int i = 0; i < 20; i++)
		second = ask(o, 2);
	for (int i = 0; i < 20; i++) {
		n_second += run(o, 10 * s) == second;
		ask(o, 1);
	}
	assert_in_range(n_second, 8, 12);
}

static void more_owners_than_places_share_one(void **state)
{
	struct inspect_owners *o = *state;

	for (uint32_t i = 0; i < 3 * INSPECT_OWNERS_MAX; i++) {
		learn(o, 100 + i, i);
		assert_true(ask(o, 100 + i) < INSPECT_OWNERS_MAX);
	}
	for (uint32_t i = 0; i < 3 * INSPECT_OWNERS_MAX; i++)
		(void)run(o, s);
	for (size_t i = 0; i < INSPECT_OWNERS_MAX; i++)
		assert_int_equal(o->owner[i].waiting, 0);
}

#define OWNERS_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OWNERS_TEST(one_owner_has_one_place),
		OWNERS_TEST(many_files_of_one_user_do_not_crowd_out_anothers),
		OWNERS_TEST(time_not_asked_for_is_not_saved_up),
		OWNERS_TEST(more_owners_than_places_share_one),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

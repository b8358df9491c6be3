/* SPDX-License-Identifier: MIT */
/* What is remembered of rows, up to a ceiling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/memory.h"

static struct idmap_key key(uint64_t id)
{
	return (struct idmap_key){ { id * 3, ~id } };
}

/* As the store does: what is not known is new, and gets room. */
static bool ask(struct memory *m, uint64_t id)
{
	int64_t known = memory_find(m, key(id));

	if (known) {
		assert_int_equal(known, (int64_t)id);
		return true;
	}
	if (memory_is_full(m, 1))
		memory_age(m);
	assert_int_equal(memory_add(m, key(id), (int64_t)id), 0);
	return false;
}

static void all_is_known_up_to_the_ceiling(void **state)
{
	struct memory m;

	(void)state;
	memory_init(&m, 1000);
	for (uint64_t id = 1; id <= 1000; id++)
		assert_false(ask(&m, id));
	for (uint64_t id = 1; id <= 1000; id++)
		assert_true(ask(&m, id));
	assert_int_equal(memory_count(&m), 1000);
	assert_true(m.knows_all);
	assert_false(ask(&m, 1001));
	assert_false(m.knows_all);
	assert_int_equal(memory_count(&m), 501);
	memory_release(&m);
}

static void what_is_in_use_stays(void **state)
{
	struct memory m;
	uint64_t passing = 1000;

	(void)state;
	memory_init(&m, 1000);
	/* Until the first are forgotten, nobody keeps track. */
	while (m.knows_all)
		ask(&m, ++passing);
	for (uint64_t id = 1; id <= 100; id++)
		ask(&m, id);
	for (int round = 0; round < 100; round++) {
		for (uint64_t id = 1; id <= 100; id++)
			assert_true(ask(&m, id));
		for (int i = 0; i < 100; i++)
			assert_false(ask(&m, ++passing));
		assert_in_range(memory_count(&m), 100, 1000);
	}
	assert_false(ask(&m, 1001)); /* long ago */
	memory_release(&m);
}

static bool is_odd(void *ctx, int64_t id)
{
	(void)ctx;
	return id % 2;
}

/* Of both ages, and where one id has both. */
static void what_is_forgotten_is_gone(void **state)
{
	struct memory m;

	(void)state;
	memory_init(&m, 20);
	for (uint64_t id = 1; id <= 25; id++)
		ask(&m, id);
	for (uint64_t id = 11; id <= 14; id++)
		assert_true(ask(&m, id));
	memory_drop_if(&m, is_odd, NULL);
	for (uint64_t id = 11; id <= 25; id++)
		assert_int_equal(memory_find(&m, key(id)),
				 id % 2 ? 0 : (int64_t)id);
	memory_forget_from(&m, 14);
	assert_int_equal(m.next, 14);
	for (uint64_t id = 11; id <= 25; id++)
		assert_int_equal(memory_find(&m, key(id)), id == 12 ? 12 : 0);
	memory_clear(&m);
	assert_int_equal(memory_count(&m), 0);
	assert_int_equal(memory_find(&m, key(12)), 0);
	memory_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_known_up_to_the_ceiling),
		cmocka_unit_test(what_is_in_use_stays),
		cmocka_unit_test(what_is_forgotten_is_gone),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

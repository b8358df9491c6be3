/* SPDX-License-Identifier: MIT */
/* Sums by key: whatever the order in which keys come, each has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/sums.h"

static void add(struct sums *s, int64_t key, uint64_t count, int64_t time_ns)
{
	const struct tally tally = { count, 2.0 * (double)count, 0, 0 };

	assert_int_equal(sums_add(s, key, &tally, time_ns, time_ns + 1), 0);
}

static void expect(const struct sums *s, int64_t key, uint64_t count,
		   int64_t first_ns, int64_t last_ns)
{
	const struct sum *sum = sums_find(s, key);

	assert_non_null(sum);
	assert_int_equal(sum->key, key);
	assert_int_equal(sum->tally.count, count);
	assert_true(sum->tally.weight == 2.0 * (double)count);
	assert_int_equal(sum->first_ns, first_ns);
	assert_int_equal(sum->last_ns, last_ns);
}

/* Rows stay in the order in which keys came. */
static void keys_in_their_order(void **state)
{
	struct sums s = { 0 };

	(void)state;
	assert_null(sums_find(&s, 0));
	for (int64_t key = -1000; key < 5000; key += 3)
		add(&s, key, (uint64_t)(key + 2000), key);
	assert_int_equal(s.n, 2000);
	for (int64_t key = -1000; key < 5000; key += 3) {
		expect(&s, key, (uint64_t)(key + 2000), key, key + 1);
		assert_null(sums_find(&s, key + 1));
		assert_int_equal(s.rows[(key + 1000) / 3].key, key);
	}
	assert_null(sums_find(&s, INT64_MIN));
	assert_null(sums_find(&s, INT64_MAX));
	sums_release(&s);
}

/* The last, one before, one between: from each it goes on as well. */
static void keys_that_come_again(void **state)
{
	(void)state;
	for (int64_t again = 1; again <= 1000; again += 333) {
		struct sums s = { 0 };

		for (int64_t key = 2; key <= 2000; key += 2)
			add(&s, key, 1, key);
		add(&s, 2 * again, 5, -7);
		add(&s, 2 * again - 1, 3, 0);
		for (int64_t key = 2001; key <= 4000; key++)
			add(&s, key, 1, key);
		assert_int_equal(s.n, 3001);
		for (int64_t key = 2; key <= 2000; key += 2)
			if (key == 2 * again)
				expect(&s, key, 6, -7, key + 1);
			else
				expect(&s, key, 1, key, key + 1);
		expect(&s, 2 * again - 1, 3, 0, 1);
		expect(&s, 4000, 1, 4000, 4001);
		assert_null(sums_find(&s, 4001));
		sums_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_in_their_order),
		cmocka_unit_test(keys_that_come_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Rows arrive as they were put, on another thread, or on this one. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "query/conveyor.h"

enum {
	MANY = 100000
};

static bool no_threads;

/* In place of libc's, which it calls. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*start)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *);

	if (no_threads)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attr, start, arg);
}

struct taken {
	uint32_t n, calls;
	uint32_t fail_at; /* 0: never */
	bool differs, is_slow;
	pthread_t by;
};

static int take(void *ctx, const void *rows, size_t n)
{
	const uint32_t *row = rows;
	struct taken *t = ctx;

	t->calls++;
	t->by = pthread_self();
	if (t->is_slow)
		usleep(1000);
	for (size_t i = 0; i < n; i++)
		t->differs |= row[i] != t->n++;
	return t->fail_at && t->n >= t->fail_at ? -ERANGE : 0;
}

/* Put rows on until there is no more room for them; returns how many. */
static uint32_t put(struct conveyor *c, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		uint32_t *row = conveyor_next(c);

		if (!row)
			break;
		*row = i;
	}
	return i;
}

static void expect_all(uint32_t n, bool is_slow)
{
	struct taken t = { .is_slow = is_slow };
	struct conveyor *c;

	assert_int_equal(conveyor_begin(&c, sizeof(uint32_t), take, &t), 0);
	assert_int_equal(put(c, n), n);
	assert_int_equal(conveyor_end(c), 0);
	assert_int_equal(t.n, n);
	assert_false(t.differs);
	if (n)
		assert_int_equal(pthread_equal(t.by, pthread_self()) != 0,
				 no_threads);
}

static void all_rows_come_in_their_order(void **state)
{
	(void)state;
	for (int without = 0; without < 2; without++) {
		no_threads = without;
		expect_all(0, false);
		expect_all(1, false);
		expect_all(CONVEYOR_ROWS, false);
		expect_all(4 * CONVEYOR_ROWS, false);
		expect_all(4 * CONVEYOR_ROWS + 1, true);
		expect_all(MANY, false);
		expect_all(MANY, true);
	}
}

/* Put n rows on for who ends it once it has so many; returns how many were. */
static uint32_t put_until(struct taken *t, uint32_t n)
{
	struct conveyor *c;
	uint32_t done;

	assert_int_equal(conveyor_begin(&c, sizeof(uint32_t), take, t), 0);
	done = put(c, n);
	assert_int_equal(conveyor_end(c), -ERANGE);
	return done;
}

static void who_takes_can_end_it(void **state)
{
	(void)state;
	for (int without = 0; without < 2; without++) {
		struct taken t = { .fail_at = 5000 };

		no_threads = without;
		assert_true(put_until(&t, MANY) < MANY);
		assert_true(t.n < 5000 + CONVEYOR_ROWS);
		assert_int_equal(t.calls,
				 (t.n + CONVEYOR_ROWS - 1) / CONVEYOR_ROWS);
	}
}

static void it_can_end_at_the_last_row(void **state)
{
	(void)state;
	for (int without = 0; without < 2; without++) {
		struct taken t = { .fail_at = 10 };

		no_threads = without;
		assert_int_equal(put_until(&t, 10), 10);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rows_come_in_their_order),
		cmocka_unit_test(who_takes_can_end_it),
		cmocka_unit_test(it_can_end_at_the_last_row),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

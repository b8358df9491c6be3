/* SPDX-License-Identifier: MIT */
/* Which parsed files are kept, and which give way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/inspect/kept.h"

/* What stands for a parsed file. */
struct parsed {
	size_t bytes;
	bool is_freed;
};

static size_t bytes(const void *parsed)
{
	return ((const struct parsed *)parsed)->bytes;
}

static void release(void *parsed)
{
	((struct parsed *)parsed)->is_freed = true;
}

static struct file_key key_of(uint64_t inode)
{
	return (struct file_key){ .inode = inode };
}

static struct kept *add(struct kept_files *k, uint64_t inode, struct parsed *p)
{
	struct file_key key = key_of(inode);

	return kept_add(k, &key, p);
}

static struct kept *find(struct kept_files *k, uint64_t inode)
{
	struct file_key key = key_of(inode);

	return kept_find(k, &key);
}

static void the_one_not_used_for_longest_gives_way(void **state)
{
	struct kept_files k = { .bytes = bytes, .free = release };
	struct parsed p[KEPT_MAX + 1] = { 0 };

	(void)state;
	for (size_t i = 0; i < KEPT_MAX; i++)
		add(&k, i + 1, &p[i]);
	assert_ptr_equal(find(&k, 1)->parsed, &p[0]);
	add(&k, KEPT_MAX + 1, &p[KEPT_MAX]);
	assert_true(p[1].is_freed);
	assert_null(find(&k, 2));
	assert_non_null(find(&k, 1));
	assert_non_null(find(&k, KEPT_MAX + 1));
	kept_drop_all(&k);
	for (size_t i = 0; i <= KEPT_MAX; i++)
		assert_true(p[i].is_freed);
	assert_null(find(&k, 1));
}

static void others_give_way_to_what_has_grown(void **state)
{
	struct kept_files k = { .bytes = bytes, .free = release };
	struct parsed p[3] = { { .bytes = 1 }, { .bytes = 1 }, { .bytes = 1 } };
	struct kept *oldest = add(&k, 1, &p[0]);

	(void)state;
	oldest->stage = 2;
	add(&k, 2, &p[1]);
	add(&k, 3, &p[2]);
	p[0].bytes = ((size_t)256 << 20) - 1;
	kept_has_grown(&k, oldest);
	assert_true(p[1].is_freed);
	assert_false(p[2].is_freed);
	p[0].bytes++;
	kept_has_grown(&k, oldest);
	assert_true(p[2].is_freed);
	/* It stays, however large; its place is anew for the next. */
	p[0].bytes *= 2;
	kept_has_grown(&k, oldest);
	assert_false(p[0].is_freed);
	assert_ptr_equal(add(&k, 1, &p[1])->parsed, &p[1]);
	assert_true(p[0].is_freed);
	assert_int_equal(find(&k, 1)->stage, 0);
	kept_drop_all(&k);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_one_not_used_for_longest_gives_way),
		cmocka_unit_test(others_give_way_to_what_has_grown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

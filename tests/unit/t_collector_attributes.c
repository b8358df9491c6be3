/* SPDX-License-Identifier: MIT */
/* Attributes of a record, as hostile as its process may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collector/attributes.h"

struct fixture {
	struct batch *batch;
	struct attributes *attributes;
	struct attributes_lost lost;
};

static const struct inspect_context_text texts[] = {
	{ .is_key = true, .key = "http.route", .value = "" },
	{ .is_key = true, .key = "user\x1bid", .value = "" },
	{ .is_key = true, .key = "", .value = "" },
	{ .key = "service.version", .value = "1\n2" },
};

static int set_up(void **state)
{
	static struct fixture f;
	const struct inspect_context context = { .texts = texts,
						 .n_texts = ARRAY_LEN(texts) };
	const struct store_sample sample = { .weight = 1 };

	f = (struct fixture){ .batch = batch_new() };
	assert_non_null(f.batch);
	assert_int_equal(attributes_update(&f.attributes, &context), 0);
	assert_int_equal(batch_sample(f.batch, &sample), 0);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	batch_free(f->batch);
	attributes_free(f->attributes);
	return 0;
}

/* What the newest sample has, as "key=value;..." */
static const char *has(const struct fixture *f)
{
	static char out[4096];
	struct store_batch view;
	size_t n = 0;

	batch_view(f->batch, &view);
	out[0] = '\0';
	for (size_t i = 0; i < view.n_sample_attributes; i++) {
		const struct store_attribute *a =
			&view.attributes[view.sample_attributes[i].attribute];

		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s=%s;",
				      view.text + a->key, view.text + a->value);
	}
	return out;
}

static void give(struct fixture *f, const char *bytes, size_t size)
{
	attributes_of_sample(f->attributes, f->batch, (const uint8_t *)bytes,
			     size, 1, &f->lost);
}

#define GIVE(f, bytes) give((f), (bytes), sizeof(bytes) - 1)

static void the_last_of_a_key_wins(void **state)
{
	struct fixture *f = *state;

	GIVE(f, "\x00\x02/a\x01\x01u\x00\x02/b");
	assert_string_equal(has(f), "user\\x1bid=u;http.route=/b;");
	assert_int_equal(f->lost.unknown + f->lost.refused, 0);
}

static void a_cut_entry_is_left_out(void **state)
{
	struct fixture *f = *state;

	GIVE(f, "\x00\x02/a\x01\x05user");
	GIVE(f, "\x00");
	GIVE(f, "");
	assert_string_equal(has(f), "http.route=/a;");
}

static void keys_that_nobody_told_are_counted(void **state)
{
	struct fixture *f = *state;

	GIVE(f, "\x07\x01x\x02\x01y\xff\x01z\x00\x00");
	assert_string_equal(has(f), "");
	assert_int_equal(f->lost.unknown, 3);
	attributes_of_sample(NULL, f->batch, (const uint8_t *)"\x00\x01x", 3, 1,
			     &f->lost);
	assert_int_equal(f->lost.unknown, 4);
}

static void what_is_no_text_is_made_safe(void **state)
{
	struct fixture *f = *state;

	GIVE(f, "\x00\x03\x1b\xff\x00");
	assert_string_equal(has(f), "http.route=\\x1b\\xff\\x00;");
}

static void new_values_have_a_limit_in_a_minute(void **state)
{
	struct fixture *f = *state;
	char bytes[16];

	for (int i = 0; i < ATTRIBUTES_VALUES_MAX + 10; i++) {
		snprintf(bytes, sizeof(bytes), "%c%c%06d", 0, 6, i);
		give(f, bytes, 8);
	}
	assert_int_equal(f->lost.refused, 10);
	GIVE(f, "\x00\x06"
		"000001"); /* seen already */
	assert_int_equal(f->lost.refused, 10);
	attributes_of_sample(f->attributes, f->batch,
			     (const uint8_t *)"\x00\x03new", 5, 60000000001,
			     &f->lost);
	assert_int_equal(f->lost.refused, 10);
}

static void what_a_process_says_is_told_once(void **state)
{
	struct fixture *f = *state;
	struct store_batch view;

	attributes_of_process(f->attributes, f->batch, 0);
	attributes_of_process(f->attributes, f->batch, 0);
	batch_view(f->batch, &view);
	assert_int_equal(view.n_process_attributes, 1);
	assert_string_equal(view.text + view.attributes[0].value, "1\\x0a2");
	assert_int_equal(attributes_number(f->attributes, "http.route"), 0);
	assert_int_equal(attributes_number(f->attributes, "none"), -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_last_of_a_key_wins),
		TEST(a_cut_entry_is_left_out),
		TEST(keys_that_nobody_told_are_counted),
		TEST(what_is_no_text_is_made_safe),
		TEST(new_values_have_a_limit_in_a_minute),
		TEST(what_a_process_says_is_told_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

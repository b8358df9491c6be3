/* SPDX-License-Identifier: MIT */
#include "t_store.h"

static void expect_safe(const char *in, size_t size, const char *out)
{
	char buf[128];

	assert_int_equal(weft_sanitize(buf, sizeof(buf), in, size),
			 strlen(out));
	assert_string_equal(buf, out);
}

#define SAFE(in, out) expect_safe(in, sizeof(in) - 1, out)

static void plain_text_and_utf8_stay(void **state)
{
	(void)state;
	SAFE("", "");
	SAFE("a b~\\n", "a b~\\n");
	SAFE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5",
	     "\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
}

static void controls_become_escapes(void **state)
{
	(void)state;
	SAFE("a\x1b[31m\n\t\x7f", "a\\x1b[31m\\x0a\\x09\\x7f");
	SAFE("a\0b", "a\\x00b");
	/* C1: U+009B opens a control sequence on some terminals. */
	SAFE("\xc2\x9b"
	     "31m\xc2\x80",
	     "\\xc2\\x9b31m\\xc2\\x80");
	SAFE("\xc2\xa0", "\xc2\xa0");
}

static void what_turns_or_breaks_lines_becomes_escapes(void **state)
{
	(void)state;
	SAFE("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* U+202E */
	SAFE("\xe2\x81\xa6", "\\xe2\\x81\\xa6"); /* U+2066 */
	SAFE("\xe2\x80\xa8", "\\xe2\\x80\\xa8"); /* U+2028 */
	SAFE("\xd8\x9c", "\\xd8\\x9c");          /* U+061C */
	SAFE("\xe2\x80\xa6", "\xe2\x80\xa6");    /* U+2026, an ellipsis */
}

static void bytes_that_are_not_utf8_become_escapes(void **state)
{
	(void)state;
	SAFE("\xff\xfe", "\\xff\\xfe");
	SAFE("\xc3", "\\xc3");
	SAFE("\xe2\x82", "\\xe2\\x82");
	SAFE("\xc0\xaf", "\\xc0\\xaf");                   /* overlong */
	SAFE("\xe0\x80\xaf", "\\xe0\\x80\\xaf");          /* overlong */
	SAFE("\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"); /* overlong */
	SAFE("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* surrogate */
	SAFE("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* U+110000 */
	SAFE("\x80z", "\\x80z");
}

static void a_small_buffer_never_cuts_within_a_character(void **state)
{
	char out[8];

	(void)state;
	assert_int_equal(weft_sanitize(out, 0, "a", 1), 0);
	assert_int_equal(weft_sanitize(out, 1, "a", 1), 0);
	assert_string_equal(out, "");
	assert_int_equal(weft_sanitize(out, 3, "\xe2\x82\xac", 3), 0);
	assert_string_equal(out, "");
	assert_int_equal(weft_sanitize(out, 4, "\xe2\x82\xac", 3), 3);
	assert_int_equal(weft_sanitize(out, 5, "ab\x1b", 3), 2);
	assert_string_equal(out, "ab");
	assert_int_equal(weft_sanitize(out, 7, "ab\x1b", 3), 6);
}

static void bytes_become_two_digits_each(void **state)
{
	char out[9] = "........";

	(void)state;
	weft_hex(out, "\x00\x9f\xa5", 3);
	assert_memory_equal(out, "009fa5\0.", 9);
	weft_hex(out, NULL, 0);
	assert_string_equal(out, "");
}

static void whole_numbers_are_parsed_within_their_range(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_int_equal(weft_parse_u64("0", 0, 10, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(
		weft_parse_u64("18446744073709551615", 0, UINT64_MAX, &n), 0);
	assert_true(n == UINT64_MAX);
	assert_int_equal(
		weft_parse_u64("18446744073709551616", 0, UINT64_MAX, &n),
		-ERANGE);
	assert_int_equal(
		weft_parse_u64("99999999999999999999999", 0, UINT64_MAX, &n),
		-ERANGE);
	assert_int_equal(weft_parse_u64("11", 0, 10, &n), -ERANGE);
	assert_int_equal(weft_parse_u64("1", 2, 10, &n), -ERANGE);
	assert_int_equal(weft_parse_u64("", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64("-1", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64("+1", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64(" 1", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64("1 ", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64("0x1", 0, 10, &n), -EINVAL);
	assert_int_equal(weft_parse_u64("99999999999999999999x", 0, 10, &n),
			 -EINVAL);
	assert_true(n == UINT64_MAX); /* untouched by failures */
}

static void sizes_take_a_unit(void **state)
{
	uint64_t n;

	(void)state;
	assert_int_equal(weft_parse_size("12", 0, UINT64_MAX, &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(weft_parse_size("3k", 0, UINT64_MAX, &n), 0);
	assert_int_equal(n, 3072);
	assert_int_equal(weft_parse_size("2M", 0, UINT64_MAX, &n), 0);
	assert_int_equal(n, 2 << 20);
	assert_int_equal(weft_parse_size("1G", 0, UINT64_MAX, &n), 0);
	assert_int_equal(n, 1 << 30);
	assert_int_equal(weft_parse_size("1T", 0, UINT64_MAX, &n), -EINVAL);
	assert_int_equal(weft_parse_size("1kb", 0, UINT64_MAX, &n), -EINVAL);
	assert_int_equal(weft_parse_size("k", 0, UINT64_MAX, &n), -EINVAL);
	assert_int_equal(weft_parse_size("1.5k", 0, UINT64_MAX, &n), -EINVAL);
	assert_int_equal(weft_parse_size("17179869184G", 0, UINT64_MAX, &n),
			 -ERANGE);
	assert_int_equal(weft_parse_size("2k", 0, 2047, &n), -ERANGE);
}

static void seconds_take_a_fraction(void **state)
{
	uint64_t ns;

	(void)state;
	assert_int_equal(weft_parse_seconds("2", 0, UINT64_MAX, &ns), 0);
	assert_int_equal(ns, 2000000000);
	assert_int_equal(weft_parse_seconds("0.25", 0, UINT64_MAX, &ns), 0);
	assert_int_equal(ns, 250000000);
	assert_int_equal(weft_parse_seconds("1.0000000019", 0, UINT64_MAX, &ns),
			 0);
	assert_int_equal(ns, 1000000001);
	assert_int_equal(weft_parse_seconds(".5", 0, UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(weft_parse_seconds("1.", 0, UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(weft_parse_seconds("1.5s", 0, UINT64_MAX, &ns),
			 -EINVAL);
	assert_int_equal(weft_parse_seconds("-1", 0, UINT64_MAX, &ns), -EINVAL);
	assert_int_equal(weft_parse_seconds("18446744074", 0, UINT64_MAX, &ns),
			 -ERANGE);
	assert_int_equal(weft_parse_seconds("0.0001", 1000000, UINT64_MAX, &ns),
			 -ERANGE);
}

static void a_typing_slip_finds_its_word(void **state)
{
	static const char *const words[] = { "record", "top",    "trace",
					     "traces", "export", NULL };

	(void)state;
	assert_string_equal(weft_nearest("recrod", words), "record");
	assert_string_equal(weft_nearest("tpo", words), "top");
	assert_string_equal(weft_nearest("trase", words), "trace");
	assert_string_equal(weft_nearest("export", words), "export");
	assert_null(weft_nearest("zzz", words));
	assert_null(weft_nearest("", words));
	assert_null(weft_nearest("a-word-that-is-far-too-long-to-be-any-of-it",
				 words));
}

static void the_first_message_wins(void **state)
{
	struct weft_err e = { 0 };

	(void)state;
	assert_int_equal(weft_fail(&e, -EIO, "deep %d", 1), -EIO);
	assert_int_equal(weft_fail(&e, -EBUSY, "shallow"), -EBUSY);
	assert_int_equal(e.code, -EIO);
	assert_string_equal(e.msg, "deep 1");
	assert_int_equal(weft_fail(NULL, -EIO, "nobody reads it"), -EIO);
}

static void a_failure_never_reports_success(void **state)
{
	struct weft_err e = { 0 };

	(void)state;
	assert_int_equal(weft_fail(&e, 0, "zero"), -EINVAL);
	assert_int_equal(e.code, -EINVAL);
	assert_int_equal(weft_fail(NULL, 5, "positive"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_and_utf8_stay),
		cmocka_unit_test(controls_become_escapes),
		cmocka_unit_test(what_turns_or_breaks_lines_becomes_escapes),
		cmocka_unit_test(bytes_that_are_not_utf8_become_escapes),
		cmocka_unit_test(a_small_buffer_never_cuts_within_a_character),
		cmocka_unit_test(bytes_become_two_digits_each),
		cmocka_unit_test(whole_numbers_are_parsed_within_their_range),
		cmocka_unit_test(sizes_take_a_unit),
		cmocka_unit_test(seconds_take_a_fraction),
		cmocka_unit_test(a_typing_slip_finds_its_word),
		cmocka_unit_test(the_first_message_wins),
		cmocka_unit_test(a_failure_never_reports_success),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

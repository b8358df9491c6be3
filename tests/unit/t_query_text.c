/* SPDX-License-Identifier: MIT */
/* What reports are written with: JSON, tables, folded stacks, figures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/figure.h"
#include "query/folded.h"
#include "query/json.h"
#include "query/range.h"
#include "query/table.h"

static void utf8_is_what_rfc_3629_says(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} rows[] = {
		{ "a", 1 },
		{ "\xc3\xa9", 2 },
		{ "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\x80", 0 },             /* a continuation */
		{ "\xc3", 0 },             /* cut */
		{ "\xc0\xaf", 0 },         /* overlong */
		{ "\xe0\x80\xaf", 0 },     /* overlong */
		{ "\xf0\x80\x80\xaf", 0 }, /* overlong */
		{ "\xed\xa0\x80", 0 },     /* surrogate */
		{ "\xf4\x90\x80\x80", 0 }, /* beyond U+10FFFF */
		{ "\xff\xfe", 0 },
	};
	uint32_t point;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(
			weft_decode((const unsigned char *)rows[i].bytes,
				    strlen(rows[i].bytes), &point),
			rows[i].length);
	assert_int_equal(weft_decode((const unsigned char *)"", 0, &point), 0);
}

/* What json_bytes() makes of some bytes, without line and key. */
static void is_json(const char *bytes, size_t size, const char *want)
{
	char *text;
	size_t n;
	struct json j = { .to = open_memstream(&text, &n) };

	assert_non_null(j.to);
	json_bytes(&j, NULL, bytes, size);
	assert_int_equal(fclose(j.to), 0);
	assert_string_equal(text, want);
	free(text);
}

static void json_escapes_lose_nothing(void **state)
{
	(void)state;
	is_json("plain \xc3\xa9", 8, "\"plain \xc3\xa9\"");
	is_json("\"\\\n\x1b", 4, "\"\\\"\\\\\\u000a\\u001b\"");
	is_json("a\0b", 3, "\"a\\u0000b\"");
	is_json("\xff\xfe", 2, "\"\\\\xff\\\\xfe\"");
	is_json("\xc3", 1, "\"\\\\xc3\"");
	/* what would read like an escape is escaped itself */
	is_json("\\xff", 4, "\"\\\\x5cxff\"");
	is_json("App\\Foo", 7, "\"App\\\\Foo\"");
}

static void json_nests_and_keeps_big_numbers(void **state)
{
	char *text;
	size_t n;
	struct json j = { .to = open_memstream(&text, &n) };

	(void)state;
	assert_non_null(j.to);
	json_object(&j, NULL);
	json_int(&j, "small", -5);
	json_int(&j, "big", INT64_C(9007199254740993));
	json_real(&j, "real", 0.5);
	json_real(&j, "none", NAN);
	json_array(&j, "empty");
	json_end_array(&j);
	json_array(&j, "list");
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_end_array(&j);
	json_end_object(&j);
	assert_int_equal(fclose(j.to), 0);
	assert_string_equal(text, "{\n  \"small\": -5,\n"
				  "  \"big\": \"9007199254740993\",\n"
				  "  \"real\": 0.5,\n  \"none\": null,\n"
				  "  \"empty\": [],\n  \"list\": [\n"
				  "    true,\n    null\n  ]\n}\n");
	free(text);
}

static char *printed(const struct table *t, unsigned width)
{
	char *text;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	assert_non_null(to);
	assert_int_equal(table_print(t, to, width, false), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static const struct table_column columns[] = {
	{ "N", TABLE_RIGHT },
	{ "STACK", TABLE_CUT_START },
	{ "NAME", TABLE_CUT_END },
};

static void tables_align_and_leave_no_blanks_at_the_end(void **state)
{
	struct table *t = table_new(columns, ARRAY_LEN(columns));
	char *text;

	(void)state;
	table_text(t, "1");
	table_text(t, "a");
	table_text(t, "\x1b[2J\n");
	table_text(t, "1000");
	table_text(t, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
	table_text(t, NULL);
	text = printed(t, 0);
	assert_string_equal(text, "   N  STACK   NAME\n"
				  "   1  a       \\x1b[2J\\x0a\n"
				  "1000  \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
				  "\xc3\xa9\xc3\xa9\n");
	free(text);
	table_free(t);
}

static void tables_cut_names_to_the_width_but_no_numbers(void **state)
{
	struct table *t = table_new(columns, ARRAY_LEN(columns));
	char *text;

	(void)state;
	table_text(t, "1234567");
	table_text(t, "root;middle;somewhere;leaf");
	table_text(t, "a_function_with_a_long_name");
	text = printed(t, 40);
	assert_string_equal(text, "      N  STACK           NAME\n"
				  "1234567  ..mewhere;leaf  a_function_wi..\n");
	free(text);
	text = printed(t, 20); /* too narrow: cut to what is still of use */
	assert_string_equal(text, "      N  STACK         NAME\n"
				  "1234567  ..where;leaf  a_function..\n");
	free(text);
	table_free(t);
}

static void is_folded(const char *a, const char *b, const char *want)
{
	char *first = folded_name(a, "", b ? FOLDED_FIRST : FOLDED_LAST);
	char *last = b ? folded_name(b, "", FOLDED_LAST) : NULL;
	char text[256];

	assert_non_null(first);
	snprintf(text, sizeof(text), "%s%s%s", first, b ? ";" : "",
		 last ? last : "");
	assert_string_equal(text, want);
	free(first);
	free(last);
}

static void folded_names_cannot_break_a_line(void **state)
{
	(void)state;
	is_folded("worker", "main", "worker;main");
	is_folded("a;b", "x\nmain 1000000", "a:b;x?main_1000000");
	is_folded("[ET_NET 0]", "f", "[ET_NET 0];f");
	is_folded("worker 7", NULL, "worker_7");
	is_folded("", "", "[unknown];[unknown]");
	is_folded("#comment", "f", "_#comment;f");
	is_folded("  lead", "f", "_ lead;f");
	is_folded("w", "operator() (int) 1.5", "w;operator() (int)_1.5");
	is_folded("w", "f(int, long 7)", "w;f(int, long 7)");
	is_folded("\xff\xfe", "\xc3\xa9\xc2\x85\t",
		  "\xef\xbf\xbd\xef\xbf\xbd;\xc3\xa9??");
}

static void times_are_read_or_refused(void **state)
{
	static const struct {
		const char *text;
		int rc;
		int64_t ns;
	} rows[] = {
		{ "+1.5", 0, 1001500000000 },
		{ "-0.25", 0, 1999750000000 },
		{ "1970-01-01T00:00:01Z", 0, 1000000000 },
		{ "1970-01-01T01:00:01.5+01:00", 0, 1500000000 },
		{ "1969-12-31T23:30:00-00:30", -22, 0 },
		{ "2024-02-29T12:00:00.000000001Z", 0, 1709208000000000001 },
		{ "2023-02-29T12:00:00Z", -22, 0 },
		{ "2024-13-01T00:00:00Z", -22, 0 },
		{ "2024-01-01T24:00:00Z", -22, 0 },
		{ "2024-01-01T00:00:00", -22, 0 },
		{ "2024-01-01T00:00:00Zx", -22, 0 },
		{ "2024-01-01", -22, 0 },
		{ "2024-01-01T00:00:00.Z", -22, 0 },
		{ "+", -22, 0 },
		{ "+-1", -22, 0 },
		{ "+1e99", -22, 0 },
		{ "", -22, 0 },
		{ "now", -22, 0 },
	};
	int64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		ns = 0;
		if (range_parse_time(rows[i].text, 1000000000000, 2000000000000,
				     &ns) != rows[i].rc ||
		    (rows[i].rc == 0 && ns != rows[i].ns))
			fail_msg("'%s': %lld", rows[i].text, (long long)ns);
	}
}

static void figures_say_no_more_than_is_known(void **state)
{
	struct tally all = tally_of_shape(1000, 0);
	struct tally few = tally_of_shape(29, 0);
	struct tally four = tally_of_shape(4, 0);
	struct tally many = tally_of_shape(123, 0);
	struct tally none = tally_of_shape(0, 0);

	(void)state;
	assert_string_equal(FIGURE(figure_share, &many, &all), "12.30");
	assert_string_equal(FIGURE(figure_share, &four, &all), "<= 1.02");
	assert_string_equal(FIGURE(figure_share, &four, &few), "-");
	assert_string_equal(FIGURE(figure_share, &none, &all), "0");
	assert_string_equal(FIGURE(figure_share_interval, &many, &all),
			    "10.41-14.48");
	assert_string_equal(FIGURE(figure_share_interval, &none, &all), "-");
}

static void only_none_and_all_read_0_and_100_percent(void **state)
{
	(void)state;
	assert_string_equal(FIGURE(figure_percent, 0, 0), "-");
	assert_string_equal(FIGURE(figure_percent, 0, 5), "0");
	assert_string_equal(FIGURE(figure_percent, 1, 1e6), "< 0.1");
	assert_string_equal(FIGURE(figure_percent, 1, 1000), "0.1");
	assert_string_equal(FIGURE(figure_percent, 2, 3), "66.7");
	assert_string_equal(FIGURE(figure_percent, 999, 1000), "99.9");
	assert_string_equal(FIGURE(figure_percent, 99999, 1e5), "> 99.9");
	assert_string_equal(FIGURE(figure_percent, 5, 5), "100");
}

static void figures_have_three_digits_and_a_unit(void **state)
{
	(void)state;
	assert_string_equal(FIGURE(figure_ns, 0.0), "0 ns");
	assert_string_equal(FIGURE(figure_ns, 999.4), "999 ns");
	assert_string_equal(FIGURE(figure_ns, 999.9), "1.00 us");
	assert_string_equal(FIGURE(figure_ns, 12345.0), "12.3 us");
	assert_string_equal(FIGURE(figure_ns, 9.996e6), "10.0 ms");
	assert_string_equal(FIGURE(figure_ns, 99.96e6), "100 ms");
	assert_string_equal(FIGURE(figure_ns, 123e9), "123 s");
	assert_string_equal(FIGURE(figure_count, 0.0), "0");
	assert_string_equal(FIGURE(figure_count, 999.0), "999");
	assert_string_equal(FIGURE(figure_count, 1234567.0), "1,234,567");
	assert_string_equal(FIGURE(figure_count, -1000.0), "-1,000");
	assert_string_equal(FIGURE(figure_value, 5.0, "calls"), "5");
	assert_string_equal(FIGURE(figure_time, INT64_C(1700000000999999999)),
			    "2023-11-14T22:13:20Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_is_what_rfc_3629_says),
		cmocka_unit_test(json_escapes_lose_nothing),
		cmocka_unit_test(json_nests_and_keeps_big_numbers),
		cmocka_unit_test(tables_align_and_leave_no_blanks_at_the_end),
		cmocka_unit_test(tables_cut_names_to_the_width_but_no_numbers),
		cmocka_unit_test(folded_names_cannot_break_a_line),
		cmocka_unit_test(times_are_read_or_refused),
		cmocka_unit_test(figures_say_no_more_than_is_known),
		cmocka_unit_test(only_none_and_all_read_0_and_100_percent),
		cmocka_unit_test(figures_have_three_digits_and_a_unit),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/histogram.h"

static const struct bucket_edges powers = { 0 };
static const struct bucket_edges steps = { .min = -10, .max = 15, .step = 10 };

static void labels_read_as_the_edges_are(void **state)
{
	static const struct {
		const struct bucket_edges *edges;
		uint32_t bucket;
		const char *label;
	} cases[] = {
		{ &powers, 0, "(..., 0)" },   { &powers, 1, "[0]" },
		{ &powers, 2, "[1]" },        { &powers, 3, "[2, 4)" },
		{ &powers, 11, "[512, 1K)" }, { &powers, 12, "[1K, 2K)" },
		{ &powers, 22, "[1M, 2M)" },  { &powers, 63, "[2E, 4E)" },
		{ &powers, 64, "[4E, 8E)" },  { &powers, 65, "[8E, ...)" },
		{ &steps, 0, "(..., -10)" },  { &steps, 1, "[-10, 0)" },
		{ &steps, 2, "[0, 10)" },     { &steps, 3, "[10, 15)" },
		{ &steps, 4, "[15, ...)" },
	};
	char label[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(
			bucket_label(label, cases[i].edges, cases[i].bucket),
			cases[i].label);
}

static void each_bucket_begins_where_the_one_before_ends(void **state)
{
	(void)state;
	for (uint32_t b = 1; b < 65; b++)
		assert_int_equal(bucket_bounds(&powers, b).lo,
				 bucket_bounds(&powers, b - 1).hi);
	for (uint32_t b = 1; b < 5; b++)
		assert_int_equal(bucket_bounds(&steps, b).lo,
				 bucket_bounds(&steps, b - 1).hi);
}

/* The bucket of a percentile holds the value of that rank: checked against
 * all values, one by one. */
static void a_percentile_is_in_its_bucket(void **state)
{
	struct histogram h = { 0 };
	uint32_t bucket_of[100];
	size_t n = 0;

	(void)state;
	for (uint32_t b = 1; b <= 7; b++) {
		uint64_t count = b == 7 ? 1 : b * 3;

		assert_int_equal(histogram_add(&h, b, count), 0);
		while (count--)
			bucket_of[n++] = b;
	}
	for (int q = 0; q <= 100; q++) {
		size_t rank = (size_t)((q * n + 99) / 100);

		assert_int_equal(histogram_quantile(&h, q / 100.0),
				 bucket_of[rank ? rank - 1 : 0]);
	}
	histogram_release(&h);
	assert_int_equal(histogram_quantile(&h, 0.5), 0);
}

static void it_is_drawn_with_the_buckets_between(void **state)
{
	struct histogram h = { 0 };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(histogram_add(&h, 1, 2600), 0);
	assert_int_equal(histogram_add(&h, 3, 1300), 0);
	histogram_print(&h, &powers, "", 100, 0, to);
	fclose(to);
	assert_string_equal(
		text,
		"[0]                      26 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"[1]                       0 |                                                    |\n"
		"[2, 4)                   13 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n");
	free(text);
	histogram_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_read_as_the_edges_are),
		cmocka_unit_test(each_bucket_begins_where_the_one_before_ends),
		cmocka_unit_test(a_percentile_is_in_its_bucket),
		cmocka_unit_test(it_is_drawn_with_the_buckets_between),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
#include "t_store.h"

static struct t_batch b;

static const struct store_metric metrics[] = {
	{ .name = "n",
	  .text = "n = count()",
	  .aggregate = "count",
	  .unit = "",
	  .probe = "tracepoint:a:b",
	  .key = { "comm", "pid" },
	  .n_keys = 2,
	  .max_keys = 10 },
	{ .name = "h",
	  .text = "h = hist(arg0)",
	  .aggregate = "hist",
	  .unit = "ns",
	  .probe = "uprobe:/x:f",
	  .value = "arg0",
	  .max_keys = 10,
	  .keeps_extremes = true },
};

static const struct store_metric_bucket buckets[] = { { 0, 1 }, { 3, 4 } };

static struct store *open_with_metrics(bool append)
{
	struct store_opts opts = t_opts("a.db");

	opts.append = append;
	opts.metrics = metrics;
	opts.n_metrics = ARRAY_LEN(metrics);
	return t_open_with(&opts);
}

/* Of the first measure a key of name and number; of the second none, with
 * buckets. */
static const struct store_metric_value values[] = {
	{ .metric = 0,
	  .count = 5,
	  .key = { { STORE_KEY_TEXT, 0, COMM }, { STORE_KEY_NUMBER, -7, 0 } } },
	{ .metric = 1,
	  .count = 5,
	  .sum = 50,
	  .min = -3,
	  .max = 20,
	  .first = 0,
	  .n_buckets = 2 },
	{ .metric = 1,
	  .count = 1,
	  .sum = 9,
	  .min = 9,
	  .max = 9,
	  .first = 1,
	  .n_buckets = 1 },
};

static const struct store_metric_exemplar exemplars[] = {
	{ .metric = 1,
	  .bucket = 3,
	  .value = 2,
	  .time_ns = 5000,
	  .thread = 0,
	  .stack = 0,
	  .cpu = 1,
	  .has_trace = true,
	  .trace_id = { 0xab, 1 },
	  .span_id = { 0xcd, 2 } },
	{ .metric = 0,
	  .key = { { STORE_KEY_TEXT, 0, COMM }, { STORE_KEY_NUMBER, -7, 0 } },
	  .value = -1,
	  .context_status = 1 },
};

static struct store_metric_ledger ledger[2];

static void fill(void)
{
	t_fill(&b);
	b.batch.metric_values = values;
	b.batch.n_metric_values = ARRAY_LEN(values);
	b.batch.metric_buckets = buckets;
	b.batch.n_metric_buckets = ARRAY_LEN(buckets);
	b.batch.metric_exemplars = exemplars;
	b.batch.n_metric_exemplars = ARRAY_LEN(exemplars);
	memset(ledger, 0, sizeof(ledger));
	for (int i = 0; i < STORE_METRIC_ENTRIES; i++)
		ledger[1].entry[i] = (uint64_t)i + 1;
	b.batch.metric_ledger = ledger;
}

static void equal_keys_of_a_batch_add_up(void **state)
{
	struct store *st = open_with_metrics(false);

	(void)state;
	fill();
	t_write(st, &b);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM metric_key", "2");
	t_expect("a.db",
		 "SELECT interval_id, count, sum, min, max FROM metric_value"
		 " ORDER BY key_id, interval_id",
		 "1|5|NULL|NULL|NULL\n2|5|NULL|NULL|NULL\n"
		 "1|6|59|-3|20\n2|6|59|-3|20");
	t_expect("a.db",
		 "SELECT name, key_2, typeof(key_2), key_3, count"
		 " FROM metric_total",
		 "n|-7|integer||10\nh||text||12");
	t_expect("a.db", "SELECT lo, hi, count FROM metric_histogram",
		 "NULL|0|2\n2|4|16");
	t_expect("a.db",
		 "SELECT fired, counted, missed, lost_exemplars"
		 " FROM metric_interval WHERE metric_id = 2",
		 "1|2|12|15\n1|2|12|15");
	t_expect("a.db",
		 "SELECT name, key_1, key_2, bucket, lo, hi, value, time_ns,"
		 " trace_id, span_id FROM metric_examples WHERE interval_id = 1"
		 " ORDER BY name",
		 "h|||3|2|4|2|5000|ab010000000000000000000000000000"
		 "|cd02000000000000\nn|cmd|-7|0|NULL|NULL|-1|0|NULL|NULL");
}

static void measures_of_two_recordings_stay_apart(void **state)
{
	struct store *st;

	(void)state;
	for (int i = 0; i < 2; i++) {
		st = open_with_metrics(i > 0);
		fill();
		t_write(st, &b);
		t_close(st);
	}
	t_expect("a.db", "SELECT recording_id, name, count FROM metric_total",
		 "1|n|5\n1|h|6\n2|n|5\n2|h|6");
}

static void a_value_that_leads_out_of_the_batch_is_refused(void **state)
{
	struct store *st = open_with_metrics(false);
	struct store_metric_value bad = values[1];

	(void)state;
	for (int i = 0; i < 4; i++) {
		fill();
		bad = values[i == 3 ? 0 : 1];
		if (i == 0)
			bad.metric = 2;
		else if (i == 1)
			bad.n_buckets = 3;
		else if (i == 2)
			bad.first = 3;
		else
			bad.key[0].text = 1000000;
		b.batch.metric_values = &bad;
		b.batch.n_metric_values = 1;
		t_expect_refused(st, &b,
				 "bad batch: metric value 0 leads out of it");
	}
	memset(&err, 0, sizeof(err));
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM interval", "0");
}

static void an_exemplar_that_leads_out_of_the_batch_is_refused(void **state)
{
	struct store *st = open_with_metrics(false);

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct store_metric_exemplar bad = exemplars[1];

		fill();
		if (i == 0)
			bad.metric = 2;
		else if (i == 1)
			bad.thread = 1000;
		else if (i == 2)
			bad.stack = 1000;
		else
			bad.key[0].text = 1000000;
		b.batch.metric_exemplars = &bad;
		b.batch.n_metric_exemplars = 1;
		t_expect_refused(st, &b,
				 "bad batch: metric exemplar 0 leads out of "
				 "it");
	}
	memset(&err, 0, sizeof(err));
	t_close(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)
		TEST(equal_keys_of_a_batch_add_up),
		TEST(measures_of_two_recordings_stay_apart),
		TEST(a_value_that_leads_out_of_the_batch_is_refused),
		TEST(an_exemplar_that_leads_out_of_the_batch_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * What is old goes, and nothing else: what a file adds up to is asked before
 * and after in plain SQL.
 */
#include <signal.h>

#include "store/inside.h"
#include "store/retention.h"
#include "t_store.h"

enum {
	STORED = 4 /* samples in an interval */
};

static const int64_t SECOND = 1000000000;
/* The first interval begins there: 10 s into a minute that begins an hour. */
static const uint64_t BOOT_NS = 5000000000;
static const uint64_t UNIX_NS = 1699999210000000000;

static const char *const entries[] = { "counted", "selected", "passed_over",
				       "stored", "unmeasured" };

static const struct store_metric metrics[] = {
	{ .name = "h",
	  .text = "h = hist(arg0) by stack",
	  .aggregate = "hist",
	  .unit = "ns",
	  .probe = "uprobe:/x:f",
	  .value = "arg0",
	  .key = { "stack" },
	  .n_keys = 1,
	  .max_keys = 10,
	  .keeps_extremes = true },
};

static const struct store_metric_bucket buckets[] = { { 0, 1 }, { 3, 4 } };

static struct t_batch b;

static struct store *open_file(bool append)
{
	struct store_opts opts = t_opts("a.db");
	struct store *st;

	opts.append = append;
	opts.metrics = metrics;
	opts.n_metrics = ARRAY_LEN(metrics);
	opts.words.ledger_entry = entries;
	opts.words.n_ledger_entry = ARRAY_LEN(entries);
	if (store_open(&st, &opts, &err))
		fail_msg("store_open: %s", err.msg);
	return st;
}

/* An interval of a second, the i-th; what may differ is set by the caller. */
static void fill(int i)
{
	static const struct store_ledger ledger[] = {
		{ 0, 0, 6, 600, true }, { 0, 1, 4, 406, true },
		{ 0, 2, 2, 194, true }, { 0, 3, 4, 406, true },
		{ 1, 0, 7, 700, true }, { 1, 1, 0, 0, true },
		{ 1, 2, 7, 700, true }, { 1, 3, 0, 0, true },
		{ 0, 4, 0, 0, false },
	};
	static struct store_metric_value value = {
		.key = { { STORE_KEY_STACK, 0, 0 } },
		.count = 5,
		.sum = 50,
		.min = -3,
		.max = 20,
		.n_buckets = 2,
	};
	static struct store_metric_exemplar exemplar = {
		.key = { { STORE_KEY_STACK, 0, 0 } },
		.bucket = 3,
		.value = 9,
	};
	static const struct store_metric_ledger measured = { { 9, 5, 4 } };
	static const struct store_attribute attribute = { COMM, PATH };
	static const struct store_has has = { 0, 0 };

	t_fill(&b);
	b.batch.interval.start_ns = BOOT_NS + (uint64_t)i * SECOND;
	b.batch.interval.end_ns = b.batch.interval.start_ns + SECOND;
	b.batch.interval.clock_offset_ns = (int64_t)(UNIX_NS - BOOT_NS);
	for (size_t k = 0; k < STORED; k++)
		b.sample[k].time_ns = b.batch.interval.start_ns + 1000 * k;
	exemplar.time_ns = b.batch.interval.start_ns;
	b.count[0].attribute = 1;
	b.batch.ledger = ledger;
	b.batch.n_ledger = ARRAY_LEN(ledger);
	b.batch.attributes = &attribute;
	b.batch.n_attributes = 1;
	b.batch.sample_attributes = b.batch.process_attributes = &has;
	b.batch.n_sample_attributes = b.batch.n_process_attributes = 1;
	b.batch.metric_values = &value;
	b.batch.n_metric_values = 1;
	b.batch.metric_buckets = buckets;
	b.batch.n_metric_buckets = ARRAY_LEN(buckets);
	b.batch.metric_exemplars = &exemplar;
	b.batch.n_metric_exemplars = 1;
	b.batch.metric_ledger = &measured;
}

static void write_some(struct store *st, int first, int n)
{
	for (int i = first; i < first + n; i++) {
		fill(i);
		t_write(st, &b);
	}
}

static void make_file(int n)
{
	struct store *st = open_file(false);

	write_some(st, 0, n);
	t_close(st);
}

/* The Unix time at which the n-th interval has just ended. */
static uint64_t at(int n)
{
	return UNIX_NS + (uint64_t)n * SECOND;
}

static const struct store_keep keep_all = { STORE_KEEP_ALL, STORE_KEEP_ALL,
					    STORE_KEEP_ALL, STORE_KEEP_ALL, 0 };

static struct store *amend(void)
{
	struct store *st;

	if (store_open_to_amend(&st, "a.db", &err))
		fail_msg("store_open_to_amend: %s", err.msg);
	return st;
}

static void tend(struct store *st, const struct store_keep *keep,
		 uint64_t now_ns, struct store_gone *gone)
{
	bool more = true;

	while (more)
		if (store_tend(st, keep, now_ns, gone, &more, &err))
			fail_msg("store_tend: %s", err.msg);
}

static struct store_gone collect(const struct store_keep *keep, uint64_t now_ns)
{
	struct store_gone gone = { 0 };
	struct store *st = amend();

	tend(st, keep, now_ns, &gone);
	t_close(st);
	return gone;
}

/* All that retention must not change the sum of, by what it is counted for. */
static const char conserved[] =
	"SELECT 'c', event_id, process_id, stack_id, sum(count), sum(value)"
	"  FROM stack_count GROUP BY 2, 3, 4 "
	"UNION ALL SELECT 'a', event_id, stack_id, attribute_id, sum(count),"
	"  sum(value) FROM stack_attribute_count GROUP BY 2, 3, 4 "
	"UNION ALL SELECT 'm', key_id, count(*) > 0, sum(count), sum(sum),"
	"  min(min) || '/' || max(max) FROM metric_value GROUP BY 2 "
	"UNION ALL SELECT 'b', key_id, bucket, sum(count), 0, 0"
	"  FROM metric_bucket GROUP BY 2, 3 "
	"UNION ALL SELECT 'f', metric_id, sum(fired), sum(counted),"
	"  sum(filtered), sum(lost_discarded) FROM metric_interval GROUP BY 2 "
	"UNION ALL SELECT 'l', event_id, sum(count), sum(value), entry, 0"
	"  FROM ledger WHERE entry NOT IN ('stored', 'expired') GROUP BY 2, 5 "
	"UNION ALL SELECT 's', event_id, sum(count), sum(value), 0, 0"
	"  FROM ledger WHERE entry IN ('stored', 'expired') GROUP BY 2 "
	"UNION ALL SELECT 't', event_id, cpu, sum(due), sum(fired),"
	"  sum(throttled) FROM cpu_interval GROUP BY 2, 3 "
	"UNION ALL SELECT 'i', recording_id, sum(end_ns - start_ns),"
	"  min(start_ns), max(end_ns), sum(self_cpu_ns) FROM interval GROUP BY 2";

static char before[4096];

static void remember(void)
{
	snprintf(before, sizeof(before), "%s", t_ask("a.db", conserved));
}

/* What refers to something that is not there, and what does not add up. */
static void expect_sound(void)
{
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	t_expect("a.db",
		 "SELECT 'count' FROM stack_count"
		 " WHERE stack_id NOT IN (SELECT id FROM stack)"
		 " OR process_id NOT IN (SELECT id FROM process)"
		 " OR interval_id NOT IN (SELECT id FROM interval) "
		 "UNION ALL SELECT 'sample' FROM sample"
		 " WHERE stack_id NOT IN (SELECT id FROM stack)"
		 " OR thread_id NOT IN (SELECT id FROM thread)"
		 " OR interval_id NOT IN (SELECT id FROM interval)"
		 " OR trace NOT IN (SELECT id FROM trace) "
		 "UNION ALL SELECT 'stack' FROM stack WHERE id > 0"
		 " AND id NOT IN (SELECT id FROM stack_node) "
		 "UNION ALL SELECT 'node' FROM stack_node"
		 " WHERE frame_id NOT IN (SELECT id FROM frame)"
		 " OR (parent_id > 0 AND"
		 "     parent_id NOT IN (SELECT id FROM stack_node)) "
		 "UNION ALL SELECT 'frame' FROM frame"
		 " WHERE binary_id NOT IN (SELECT id FROM binary) "
		 "UNION ALL SELECT 'thread' FROM thread"
		 " WHERE process_id NOT IN (SELECT id FROM process) "
		 "UNION ALL SELECT 'name' FROM frame_function"
		 " WHERE frame_id NOT IN (SELECT id FROM frame)"
		 " OR function_id NOT IN (SELECT id FROM function) "
		 "UNION ALL SELECT 'key' FROM metric_value"
		 " WHERE key_id NOT IN (SELECT id FROM metric_key) "
		 "UNION ALL SELECT 'attribute' FROM sample_attribute"
		 " WHERE sample_id NOT IN (SELECT id FROM sample)",
		 "");
	t_expect(
		"a.db",
		"SELECT count(*) FROM stack_total t WHERE (count, value) IS NOT"
		" (SELECT sum(count), sum(value) FROM stack_count c"
		"   WHERE c.event_id = t.event_id AND c.stack_id = t.stack_id"
		"     AND c.process_id = t.process_id)",
		"0");
	/* selected = stored + expired, and stored are the rows */
	t_expect("a.db",
		 "SELECT count(*) FROM interval i JOIN event e ON"
		 " e.recording_id = i.recording_id WHERE"
		 " (SELECT total(iif(entry = 'selected', count, 0))"
		 "       - total(iif(entry IN ('stored', 'expired'), count, 0))"
		 "    FROM ledger l WHERE l.interval_id = i.id"
		 "     AND l.event_id = e.id) <> 0 OR"
		 " (SELECT total(count) FROM ledger l WHERE entry = 'stored'"
		 "     AND l.interval_id = i.id AND l.event_id = e.id) <>"
		 " (SELECT count(*) FROM sample s WHERE s.interval_id = i.id"
		 "     AND s.event_id = e.id)",
		 "0");
	/* counted = what is counted, and what was */
	t_expect("a.db",
		 "SELECT count(*) FROM interval i JOIN event e ON"
		 " e.recording_id = i.recording_id WHERE"
		 " (SELECT total(iif(entry = 'counted', count, 0))"
		 "       - total(iif(entry = 'expired_counts', count, 0))"
		 "    FROM ledger l WHERE l.interval_id = i.id"
		 "     AND l.event_id = e.id) <>"
		 " (SELECT total(count) FROM stack_count c"
		 "   WHERE c.interval_id = i.id AND c.event_id = e.id)",
		 "0");
	/* what was kept of the ledger's sums; what was not measured is no row
	 * of its own once intervals have merged */
	t_expect("a.db",
		 "SELECT count(*) FROM (SELECT event_id, entry_id,"
		 " ifnull(sum(count), 0), ifnull(sum(value), 0) FROM ledger_row"
		 " GROUP BY 1, 2 EXCEPT SELECT event_id, entry_id, count, value"
		 " FROM ledger_sum)",
		 "0");
	t_expect(
		"a.db",
		"SELECT count(*) FROM (SELECT event_id, entry_id FROM"
		" ledger_sum EXCEPT SELECT event_id, entry_id FROM ledger_row)",
		"0");
	t_expect("a.db",
		 "SELECT count(*) FROM trace t WHERE"
		 " (samples, value_sum, first_ns) IS NOT"
		 " (SELECT count(*), sum(weight * value), min(time_ns)"
		 "    FROM sample s WHERE s.trace = t.id) AND last_ns > 0",
		 "0");
}

static void expect_conserved(void)
{
	t_expect("a.db", conserved, before);
	expect_sound();
}

static void detail_goes_by_age_and_the_ledger_says_so(void **state)
{
	struct store_keep keep = keep_all;
	struct store_gone gone;

	(void)state;
	make_file(10);
	remember();
	expect_sound();
	keep.detail_ns = 5 * SECOND;
	gone = collect(&keep, at(10));
	assert_int_equal(gone.samples, 5 * STORED);
	assert_int_equal(gone.exemplars, 5);
	assert_int_equal(gone.traces, 0);
	t_expect("a.db", "SELECT count(*), min(interval_id) FROM sample",
		 "20|6");
	t_expect("a.db", "SELECT count(*) FROM sample_attribute", "5");
	t_expect("a.db",
		 "SELECT sum(expired_exemplars), (SELECT count(*) FROM"
		 " metric_exemplar) FROM metric_interval",
		 "5|5");
	expect_conserved();
	/* and the rest, by the tick */
	gone = collect(&keep, at(100));
	assert_int_equal(gone.samples, 5 * STORED);
	assert_int_equal(gone.traces, 2);
	assert_int_equal(gone.threads, 2);
	t_expect("a.db", "SELECT count(*) FROM trace", "0");
	t_expect("a.db",
		 "SELECT entry, sum(count), sum(value) FROM ledger"
		 " WHERE entry IN ('stored', 'expired') GROUP BY 1",
		 "expired|40|4060\nstored|0|0");
	expect_conserved();
}

static void shape_rolls_up_exactly(void **state)
{
	struct store_keep keep = keep_all;
	struct store_gone gone;

	(void)state;
	make_file(200);
	remember();
	keep.detail_ns = 0;
	keep.seconds_ns = 20 * SECOND;
	/* 190 s after the first minute began: what is of the minutes before
	 * the one that is 20 s ago, each whole */
	gone = collect(&keep, at(200));
	assert_int_equal(gone.merged, 49 + 59 + 59);
	assert_int_equal(gone.unmerged, 0);
	t_expect("a.db",
		 "SELECT id, (end_ns - start_ns) / 1000000000 FROM interval"
		 " WHERE end_ns - start_ns > 1000000000",
		 "1|50\n51|60\n111|60");
	expect_conserved();
	keep.minutes_ns = 20 * SECOND;
	gone = collect(&keep, at(3600)); /* its hour ended 10 s ago */
	assert_int_equal(gone.merged, 29);
	collect(&keep, at(3620));
	t_expect("a.db",
		 "SELECT id, (end_ns - start_ns) / 1000000000 FROM interval",
		 "1|200");
	expect_conserved();
}

static void intervals_merge_only_with_their_like(void **state)
{
	struct store_keep keep = { 0, 0, STORE_KEEP_ALL, STORE_KEEP_ALL, 0 };
	struct store *st = open_file(false);

	(void)state;
	write_some(st, 0, 4);
	write_some(st, 5, 3); /* one is missing */
	fill(8);
	b.batch.interval.clock_offset_ns += 2 * SECOND; /* the clock was set */
	t_write(st, &b);
	fill(9);
	b.batch.interval.clock_offset_ns += 2 * SECOND + 500;
	t_write(st, &b);
	t_close(st);
	st = open_file(true);
	write_some(st, 10, 2);
	t_close(st);
	remember();
	collect(&keep, at(1000));
	t_expect("a.db",
		 "SELECT id, recording_id, (end_ns - start_ns) / 1000000000,"
		 " clock_error_ns FROM interval",
		 "1|1|4|0\n5|1|3|0\n8|1|2|500\n10|2|2|0");
	expect_conserved();
}

static void sums_that_do_not_fit_stay_apart(void **state)
{
	struct store_keep keep = { 0, 0, STORE_KEEP_ALL, STORE_KEEP_ALL, 0 };
	struct store_gone gone;
	sqlite3 *db;

	(void)state;
	make_file(3);
	assert_int_equal(sqlite3_open("a.db", &db), 0);
	assert_int_equal(
		sqlite3_exec(db,
			     "UPDATE metric_value SET sum = 9223372036854775807"
			     " WHERE interval_id > 1",
			     NULL, NULL, NULL),
		0);
	sqlite3_close(db);
	gone = collect(&keep, at(1000));
	assert_int_equal(gone.unmerged, 1);
	assert_int_equal(gone.merged, 0);
	t_expect("a.db", "SELECT count(*), min(sum) FROM metric_value", "3|50");
	expect_sound();
}

static void add_span(struct store *st, uint8_t byte, uint64_t end_ns)
{
	static const char text[] = "\0name";
	struct store_span span = { .name = 1, .start_ns = 1, .end_ns = end_ns };
	size_t added;

	memset(span.trace_id, byte, 16);
	memset(span.span_id, byte, 8);
	if (store_write_spans(st, &span, 1, text, sizeof(text), &added, &err))
		fail_msg("store_write_spans: %s", err.msg);
}

static void a_pinned_trace_stays_whole(void **state)
{
	struct store_keep keep = { 0, 0, 0, STORE_KEEP_ALL, 0 };
	char hex[STORE_HEX_SIZE];
	struct store_gone gone;
	struct store *st = open_file(false);

	(void)state;
	write_some(st, 0, 20);
	fill(20);
	memset(b.sample[0].trace_id, 0xcc, 16); /* in this interval alone */
	t_write(st, &b);
	write_some(st, 21, 20);
	t_close(st);
	st = amend();
	add_span(st, 0xcc, at(30));
	add_span(st, 0xaa, at(30));
	add_span(st, 0xdd, at(30)); /* has no sample */
	add_span(st, 0xee, at(2000));
	assert_int_equal(store_pin(st, "CCcccccc", true, 1, hex, &err), 0);
	assert_string_equal(hex, "cccccccccccccccccccccccccccccccc");
	assert_int_equal(store_pin(st, "ffffffff", true, 1, hex, &err),
			 -ENODATA);
	memset(&err, 0, sizeof(err));
	assert_int_equal(store_pin(st, "cccc", true, 1, hex, &err), -EINVAL);
	memset(&err, 0, sizeof(err));
	t_close(st);
	remember();
	gone = collect(&keep, at(1000));
	assert_int_equal(gone.samples, 41 * STORED - 1);
	assert_int_equal(gone.traces, 3);
	assert_int_equal(gone.spans, 2);
	t_expect("a.db",
		 "SELECT t.hex, count(s.id), (SELECT count(*) FROM span"
		 " WHERE trace = t.id) FROM trace t LEFT JOIN sample s ON"
		 " s.trace = t.id GROUP BY t.id ORDER BY 1",
		 "cccccccccccccccccccccccccccccccc|1|1\n"
		 "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee|0|1");
	/* its interval is as it was: others merge up to it */
	t_expect("a.db",
		 "SELECT (end_ns - start_ns) / 1000000000 FROM interval"
		 " WHERE id IN (SELECT interval_id FROM sample)",
		 "1");
	t_expect("a.db", "SELECT count(*) FROM interval", "3");
	expect_conserved();
	st = amend();
	assert_int_equal(store_pin(st, "cccccccc", false, 1, hex, &err), 0);
	t_close(st);
	gone = collect(&keep, at(10000));
	assert_int_equal(gone.samples, 1);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM trace), count(*) FROM interval",
		 "0|1");
	expect_conserved();
}

static void counts_go_last_and_are_named(void **state)
{
	struct store_keep keep = { 0, 0, 0, 0, 0 };
	static const char text[] = "\0main\0symtab";
	struct store_name name = { .name = 1, .source = 6 };
	struct store_gone gone;
	struct store *st = open_file(false);

	(void)state;
	write_some(st, 0, 30);
	name.frame_id = b.row[0].id;
	assert_int_equal(
		store_write_names(st, &name, 1, text, sizeof(text), &err), 0);
	t_close(st);
	gone = collect(&keep, at(1000));
	assert_int_equal(gone.counts, 30 * 13);
	assert_int_equal(gone.stacks, 2);
	assert_int_equal(gone.frames, 4);
	assert_int_equal(gone.functions, 1);
	assert_int_equal(gone.binaries, 2);
	assert_int_equal(gone.processes, 2);
	expect_sound();
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM stack_count),"
		 " (SELECT count(*) FROM stack_total),"
		 " (SELECT count(*) FROM stack_attribute_total),"
		 " (SELECT count(*) FROM shape_attribute),"
		 " (SELECT count(*) FROM stack_node),"
		 " (SELECT count(*) FROM metric_key),"
		 " (SELECT count(*) FROM process_attribute),"
		 " (SELECT sum(expired) FROM metric_interval)",
		 "0|0|0|0|0|0|0|150");
	t_expect("a.db",
		 "SELECT event_id, count, value FROM ledger"
		 " WHERE entry = 'expired_counts'",
		 "1|180|18000\n2|210|21000");
	/* and it can be recorded into */
	st = open_file(true);
	write_some(st, 2000, 3);
	t_close(st);
	expect_sound();
	t_expect("a.db", "SELECT sum(count) FROM stack_total", "39");
}

/* Steps between batches: what a batch refers to is there, whatever a sweep
 * is doing. */
static void it_goes_on_while_it_is_recorded(void **state)
{
	struct store_keep keep = { 3 * SECOND, 5 * SECOND, 200 * SECOND,
				   100 * SECOND, 0 };
	struct store_gone gone = { 0 };
	struct store *st = open_file(false);
	bool more;

	(void)state;
	st->sweep_after = 1;
	for (int i = 0; i < 400; i++) {
		fill(i);
		/* Each stack is seen for a while, and later again. */
		for (size_t k = 0; k < ARRAY_LEN(b.frame); k++)
			b.frame[k].address += 16 * (uint64_t)(i / 20 % 7);
		b.process[0].pid = b.process[1].pid = 100 + i / 30 % 5;
		b.thread[0].tid = 1000 + i / 10 % 3;
		t_write(st, &b);
		for (int k = 0; k <= i % 3; k++)
			if (store_tend(st, &keep, at(i + 1), &gone, &more,
				       &err))
				fail_msg("store_tend: %s", err.msg);
		if (i % 40 == 39)
			expect_sound();
	}
	assert_true(gone.samples > 300 * STORED);
	assert_true(gone.stacks > 5);
	assert_true(gone.merged > 100);
	assert_true(gone.counts > 100 * 13);
	t_close(st);
	expect_sound();
	t_expect("a.db",
		 "SELECT sum(count) FROM ledger WHERE entry = 'counted'",
		 "5200");
}

/* The node of the outer one stays, its row has gone. */
static void a_stack_within_another_comes_back(void **state)
{
	struct store_keep keep = { 0, 0, 0, 5 * SECOND, 0 };
	struct store_gone gone = { 0 };
	struct store *st = open_file(false);

	(void)state;
	st->sweep_after = 1;
	for (int i = 0; i < 60; i++) {
		fill(i);
		b.stack[1] = b.stack[0];
		if (i < 10 || i >= 50) {
			b.stack[1].first++;
			b.stack[1].depth--;
		}
		t_write(st, &b);
		tend(st, &keep, at(i + 1), &gone);
	}
	assert_int_equal(gone.stacks, 1);
	t_close(st);
	expect_sound();
	t_expect("a.db", "SELECT depth FROM stack WHERE id > 0 ORDER BY 1",
		 "2\n3");
}

static void a_size_is_kept_detail_first(void **state)
{
	struct store_keep keep = keep_all;
	struct store_gone gone;
	uint64_t used, all;
	struct store *st;

	(void)state;
	make_file(2000);
	remember();
	st = amend();
	assert_int_equal(store_used_bytes(st, &all, &err), 0);
	t_close(st);
	keep.max_bytes = all - 1;
	gone = collect(&keep, at(2000));
	assert_true(gone.samples > 0 && gone.samples < 2000 * STORED);
	assert_int_equal(gone.merged + gone.counts, 0);
	assert_false(gone.is_too_big);
	expect_conserved();
	t_expect("a.db",
		 "SELECT min(id) > (SELECT max(interval_id) FROM ledger"
		 " WHERE entry = 'expired' AND count < 4)"
		 " IS NOT 0, count(*) > 0 FROM sample",
		 "1|1");
	keep.max_bytes = all / 2;
	gone = collect(&keep, at(2000));
	assert_true(gone.merged > 0);
	assert_int_equal(gone.counts, 0);
	expect_conserved();
	st = amend();
	assert_int_equal(store_used_bytes(st, &used, &err), 0);
	assert_true(used <= keep.max_bytes);
	t_close(st);
	keep.max_bytes = 100;
	gone = collect(&keep, at(2000));
	assert_int_equal(gone.counts, 2000 * 13);
	assert_true(gone.is_too_big);
	expect_sound();
}

static void a_trial_changes_nothing(void **state)
{
	struct store_keep keep = { 0, 0, 0, 20 * SECOND, 0 };
	static const char all[] =
		"SELECT (SELECT count(*) FROM sample),"
		" (SELECT count(*) FROM interval),"
		" (SELECT count(*) FROM stack_count),"
		" (SELECT count(*) FROM stack), (SELECT count(*) FROM trace)";
	struct store_gone tried = { 0 }, gone;
	char was[256];
	struct store *st;

	(void)state;
	make_file(100);
	snprintf(was, sizeof(was), "%s", t_ask("a.db", all));
	st = amend();
	assert_int_equal(store_try_only(st, &err), 0);
	tend(st, &keep, at(100), &tried);
	t_close(st);
	t_expect("a.db", all, was);
	t_expect("a.db", "PRAGMA journal_mode", "delete");
	expect_sound();
	gone = collect(&keep, at(100));
	assert_memory_equal(&gone, &tried, sizeof(gone));
}

static void an_early_file_is_written_anew(void **state)
{
	struct store *st;
	bool is_needed;
	sqlite3 *db;

	(void)state;
	make_file(10);
	assert_int_equal(sqlite3_open("a.db", &db), 0);
	assert_int_equal(sqlite3_exec(db, "PRAGMA auto_vacuum = 0; VACUUM",
				      NULL, NULL, NULL),
			 0);
	sqlite3_close(db);
	t_expect("a.db", "PRAGMA auto_vacuum", "0");
	st = amend();
	assert_int_equal(store_compact_if_needed(st, &is_needed, &err), 0);
	assert_true(is_needed);
	t_close(st);
	t_expect("a.db", "PRAGMA auto_vacuum", "2");
	expect_sound();
	st = amend();
	assert_int_equal(store_compact_if_needed(st, &is_needed, &err), 0);
	assert_false(is_needed);
	t_close(st);
}

/* ---- killed */

static int rows_left;

static void die_at_last(void *ctx, int op, const char *db, const char *table,
			sqlite3_int64 row)
{
	(void)ctx;
	(void)op;
	(void)table;
	(void)row;
	if (!strcmp(db, "main") && --rows_left == 0)
		raise(SIGKILL);
}

/* Let go in a process that dies at the n-th row it changes. Returns whether
 * it did. */
static bool collect_and_die(const struct store_keep *keep, uint64_t now_ns,
			    int n)
{
	struct store_gone gone = { 0 };
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct store *st = amend();

		rows_left = n;
		sqlite3_update_hook(st->conn.db, die_at_last, NULL);
		tend(st, keep, now_ns, &gone);
		t_close(st);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status);
}

static void killed_at_any_row_it_is_whole(void **state)
{
	struct store_keep keep = { 0, 0, 0, STORE_KEEP_ALL, 0 };
	int kills = 0;

	(void)state;
	make_file(150);
	remember();
	/* Later and later: each goes on where the one before died. */
	for (int n = 1; kills < 20; n += 1 + n / 2) {
		if (!collect_and_die(&keep, at(100000), n)) {
			assert_true(kills >= 10);
			make_file(150);
			n = 1 + kills;
			continue;
		}
		kills++;
		expect_conserved();
	}
	print_message("# %d kills\n", kills);
	collect(&keep, at(100000));
	expect_conserved();
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM sample), count(*) FROM interval",
		 "0|1");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(detail_goes_by_age_and_the_ledger_says_so),
		TEST(shape_rolls_up_exactly),
		TEST(intervals_merge_only_with_their_like),
		TEST(sums_that_do_not_fit_stay_apart),
		TEST(a_pinned_trace_stays_whole),
		TEST(counts_go_last_and_are_named),
		TEST(it_goes_on_while_it_is_recorded),
		TEST(a_stack_within_another_comes_back),
		TEST(a_size_is_kept_detail_first),
		TEST(a_trial_changes_nothing),
		TEST(an_early_file_is_written_anew),
		TEST(killed_at_any_row_it_is_whole),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

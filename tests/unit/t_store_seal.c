/* SPDX-License-Identifier: MIT */
/* The tail, and what readers see while it is moved. */
#include "store/inside.h"
#include "t_store.h"

static struct t_batch b;

static void write_times(struct store *st, int times)
{
	t_fill(&b);
	while (times--)
		t_write(st, &b);
}

/* All that readers may ask of samples, as a sum that no order changes. */
static const char all_samples[] =
	"SELECT count(*), sum(id), sum(time_ns), sum(stack_id), sum(value),"
	" sum(weight), count(trace), count(DISTINCT id) FROM sample";

static void rows_are_in_the_tail_until_it_is_sealed(void **state)
{
	struct store *st = t_open("a.db", false);
	char before[256];

	(void)state;
	write_times(st, 3);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM sample_tail),"
		 " (SELECT count(*) FROM sample_sealed)",
		 "12|0");
	snprintf(before, sizeof(before), "%s", t_ask("a.db", all_samples));
	assert_int_equal(seal_tail(st, &err), 0);
	t_expect("a.db",
		 "SELECT (SELECT count(*) FROM sample_tail),"
		 " (SELECT count(*) FROM sample_sealed)",
		 "0|12");
	t_expect("a.db", all_samples, before);
	write_times(st, 1);
	t_expect("a.db", "SELECT count(*), max(id) FROM sample", "16|16");
	t_close(st);
	t_expect("a.db", "SELECT count(*), max(id) FROM sample", "16|16");
}

static void a_checkpoint_seals_a_tail_that_is_long_enough(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	st->tail_limit = 10;
	write_times(st, 2);
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "8");
	write_times(st, 1);
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
	t_close(st);
}

static void sealing_waits_for_a_reader_that_pins_the_log(void **state)
{
	struct store *st = t_open("a.db", false);
	sqlite3 *reader;

	(void)state;
	st->tail_limit = 10;
	write_times(st, 2);
	assert_int_equal(
		sqlite3_open_v2("a.db", &reader, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sample", NULL, NULL,
		     NULL);
	write_times(st, 1);
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "12");
	sqlite3_close(reader);
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
	t_close(st);
}

static void a_very_long_tail_is_sealed_in_parts(void **state)
{
	struct store *st = t_open("a.db", false);
	char before[256];

	(void)state;
	st->tail_limit = 10;
	write_times(st, 20);
	snprintf(before, sizeof(before), "%s", t_ask("a.db", all_samples));
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
	t_expect("a.db", all_samples, before);
	/* Now into indexes that are there, rather than ahead of them. */
	write_times(st, 3);
	snprintf(before, sizeof(before), "%s", t_ask("a.db", all_samples));
	assert_int_equal(store_checkpoint(st, &err), 0);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
	t_expect("a.db", all_samples, before);
	t_close(st);
	t_expect("a.db", all_samples, before);
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	t_expect("a.db", "PRAGMA freelist_count", "0");
}

static void indexes_are_as_in_the_schema(void **state)
{
	static const char indexes[] = "SELECT name, replace(replace(sql,"
				      " char(10), ''), '  ', ' ')"
				      " FROM sqlite_schema WHERE"
				      " tbl_name = 'sample_sealed' AND"
				      " type = 'index' ORDER BY name";
	struct store *st = t_open("a.db", false);
	char before[1024];

	(void)state;
	snprintf(before, sizeof(before), "%s", t_ask("a.db", indexes));
	assert_non_null(strstr(before, "sample_trace"));
	write_times(st, 1);
	t_close(st);
	t_expect("a.db", indexes, before);
}

static void a_failed_seal_loses_no_row(void **state)
{
	struct store *st = t_open("a.db", false);
	char before[256], sql[64];
	int64_t pages;

	(void)state;
	write_times(st, 500);
	snprintf(before, sizeof(before), "%s", t_ask("a.db", all_samples));
	assert_int_equal(conn_int(&st->conn, "PRAGMA page_count", &pages, &err),
			 0);
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %d", (int)pages);
	assert_int_equal(conn_exec(&st->conn, sql, &err), 0);
	assert_int_equal(seal_tail(st, &err), -ENOSPC);
	t_expect("a.db", all_samples, before);
	memset(&err, 0, sizeof(err));
	/* Nor does a close that cannot seal, and it says so. */
	assert_int_equal(store_close(st, 1, &err), -ENOSPC);
	t_expect("a.db", all_samples, before);
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	/* A later writer makes up for it. */
	memset(&err, 0, sizeof(err));
	st = t_open("a.db", true);
	t_close(st);
	t_expect("a.db", all_samples, before);
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
}

static void a_place_for_temporary_files_is_not_needed(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	write_times(st, 3);
	st->sort_in_memory = true;
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM sample_sealed", "12");
}

static const char sample_view[] =
	"SELECT replace(sql, char(10), '') LIKE '%sample_tail%'"
	" FROM sqlite_schema WHERE name = 'sample'";

static void the_sample_view_has_two_forms(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	write_times(st, 1);
	t_expect("a.db", sample_view, "1");
	t_close(st);
	t_expect("a.db", sample_view, "0");
	st = t_open("a.db", true);
	write_times(st, 1);
	t_expect("a.db", sample_view, "1");
	t_expect("a.db", "SELECT count(*) FROM samples", "8");
	t_close(st);
	t_expect("a.db", sample_view, "0");
	t_expect("a.db", "SELECT count(*) FROM samples", "8");
}

static void every_view_answers_while_recording_and_after(void **state)
{
	static const char views[] =
		"SELECT group_concat('SELECT count(*) FROM ' || name, "
		"' UNION ALL ') FROM sqlite_schema WHERE type = 'view'";
	struct store *st = t_open("a.db", false);
	char sql[2048];

	(void)state;
	write_times(st, 2);
	snprintf(sql, sizeof(sql), "%s", t_ask("a.db", views));
	(void)t_ask("a.db", sql);
	t_close(st);
	(void)t_ask("a.db", sql);
}

/* Does a query of a closed file use that index? */
static void expect_index(const char *query, const char *index)
{
	char sql[512];
	const char *plan;

	snprintf(sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", query);
	plan = t_ask("a.db", sql);
	if (!strstr(plan, index))
		fail_msg("%s:\n%s", query, plan);
}

static void questions_to_a_closed_file_seek_an_index(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	write_times(st, 50);
	t_close(st);
	expect_index("SELECT count(*) FROM sample WHERE stack_id = 2",
		     "sample_stack");
	expect_index("SELECT count(*) FROM sample WHERE trace = 2",
		     "sample_trace");
	expect_index("SELECT max(value) FROM sample"
		     " WHERE time_ns BETWEEN 5000 AND 5001",
		     "sample_time");
	expect_index("SELECT id FROM trace WHERE hex = 'aa'", "trace_hex");
	t_expect("a.db",
		 "SELECT count(*) > 0 FROM sqlite_stat1"
		 " WHERE tbl = 'sample_sealed'",
		 "1");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_in_the_tail_until_it_is_sealed),
		TEST(a_checkpoint_seals_a_tail_that_is_long_enough),
		TEST(sealing_waits_for_a_reader_that_pins_the_log),
		TEST(a_very_long_tail_is_sealed_in_parts),
		TEST(indexes_are_as_in_the_schema),
		TEST(a_failed_seal_loses_no_row),
		TEST(a_place_for_temporary_files_is_not_needed),
		TEST(the_sample_view_has_two_forms),
		TEST(every_view_answers_while_recording_and_after),
		TEST(questions_to_a_closed_file_seek_an_index),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

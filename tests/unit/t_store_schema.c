/* SPDX-License-Identifier: MIT */
/* What we say of our schema without making it is what SQLite makes of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "store/inside.h"
#include "store/schema.h"
#include "store/schema_text.h"

static struct weft_err err;

/* A schema of ours in memory. */
static struct conn make(int version)
{
	struct conn conn;

	if (conn_open(&conn, ":memory:", CONN_MEMORY, &err) ||
	    conn_migrate(&conn, 0, version, &err))
		fail_msg("%s", err.msg);
	return conn;
}

static void run(const struct conn *conn, const char *sql)
{
	if (conn_exec(conn, sql, &err))
		fail_msg("%s", err.msg);
}

static int64_t ask(const struct conn *conn, const char *sql)
{
	int64_t n;

	if (conn_int(conn, sql, &n, &err))
		fail_msg("%s", err.msg);
	return n;
}

/* Each statement of the list is in the schema, and no other of that type. */
static void expect_same(const struct conn *conn, const char *type,
			const struct schema_text *want)
{
	sqlite3_stmt *have;
	size_t n = 0, i;

	assert_int_equal(
		sqlite3_prepare_v2(conn->db,
				   "SELECT name, sql FROM sqlite_schema"
				   " WHERE type = ?1",
				   -1, &have, NULL),
		SQLITE_OK);
	sqlite3_bind_text(have, 1, type, -1, SQLITE_STATIC);
	for (; sqlite3_step(have) == SQLITE_ROW; n++) {
		const char *name = (const char *)sqlite3_column_text(have, 0);
		const char *sql = (const char *)sqlite3_column_text(have, 1);

		for (i = 0; i < want->n; i++)
			if (!strcmp(want->rows[i].name, name))
				break;
		if (i == want->n)
			fail_msg("no %s %s", type, name);
		if (!schema_text_is_same(sql, want->rows[i].sql))
			fail_msg("not\n%s\nbut\n%s", sql, want->rows[i].sql);
	}
	sqlite3_finalize(have);
	assert_int_equal(n, want->n);
}

static void tables_of_each_version_are_known(void **state)
{
	(void)state;
	for (int version = 1; version <= STORE_SCHEMA_VERSION; version++) {
		struct conn conn = make(version);
		struct schema_text tables = { 0 };

		assert_int_equal(schema_text_tables(&tables, version), 0);
		expect_same(&conn, "table", &tables);
		schema_text_release(&tables);
		if (schema_check(conn.db, "a", version, &err))
			fail_msg("%s", err.msg);
		conn_close(&conn);
	}
}

static void a_schema_is_not_another_versions(void **state)
{
	struct conn conn = make(7);

	(void)state;
	assert_int_equal(schema_check(conn.db, "a", 8, &err), -EPROTO);
	assert_non_null(strstr(err.msg, "metric_interval"));
	conn_close(&conn);
}

static void views_are_known(void **state)
{
	(void)state;
	for (int has_tail = 0; has_tail < 2; has_tail++) {
		struct conn conn = make(STORE_SCHEMA_VERSION);
		struct schema_text views = { 0 };

		if (schema_make_views(&conn, has_tail, &err))
			fail_msg("%s", err.msg);
		assert_int_equal(schema_text_sample(&views, has_tail), 0);
		assert_int_equal(schema_text_views(&views), 0);
		expect_same(&conn, "view", &views);
		schema_text_release(&views);
		if (schema_use_own_views(conn.db, "a", &err))
			fail_msg("%s", err.msg);
		assert_int_equal(
			ask(&conn, "SELECT count(*) FROM sqlite_temp_schema"),
			0);
		conn_close(&conn);
	}
}

static void where_one_view_differs_all_are_shadowed(void **state)
{
	struct conn conn = make(STORE_SCHEMA_VERSION);

	(void)state;
	if (schema_make_views(&conn, false, &err))
		fail_msg("%s", err.msg);
	run(&conn, "DROP VIEW ledger; CREATE VIEW ledger AS SELECT 1 AS count");
	if (schema_use_own_views(conn.db, "a", &err))
		fail_msg("%s", err.msg);
	assert_int_equal(ask(&conn,
			     "SELECT count(*) FROM sqlite_schema v"
			     " JOIN sqlite_temp_schema t USING (type, name)"),
			 ask(&conn, "SELECT count(*) FROM sqlite_schema"
				    " WHERE type = 'view'"));
	assert_int_equal(ask(&conn, "SELECT count(*) FROM ledger"), 0);
	conn_close(&conn);
}

static void comments_and_blanks_do_not_count(void **state)
{
	(void)state;
	assert_true(schema_text_is_same("CREATE TABLE a (b /* c */, -- d\n e)",
					"CREATE TABLE a(b,e)"));
	assert_false(schema_text_is_same("CREATE TABLE a (b c)",
					 "CREATE TABLE a (bc)"));
	assert_false(schema_text_is_same("SELECT ' a'", "SELECT 'a'"));
	assert_false(schema_text_is_same("SELECT '--'", "SELECT ''"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_each_version_are_known),
		cmocka_unit_test(a_schema_is_not_another_versions),
		cmocka_unit_test(views_are_known),
		cmocka_unit_test(where_one_view_differs_all_are_shadowed),
		cmocka_unit_test(comments_and_blanks_do_not_count),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

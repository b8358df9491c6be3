/* SPDX-License-Identifier: MIT */
/* How a recording file comes to be, makes way, is shared and survives. */
#include <signal.h>
#include <sys/resource.h>

#include "store/inside.h"
#include "t_store.h"

static struct t_batch b;

static void a_new_file_is_private_and_says_what_it_is(void **state)
{
	struct store *st = t_open("a.db", false);
	struct stat status;

	(void)state;
	assert_int_equal(stat("a.db", &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	t_expect("a.db", "PRAGMA application_id", "2003134068");
	t_expect("a.db", "PRAGMA user_version", "10");
	t_expect("a.db", "PRAGMA journal_mode", "wal");
	t_expect("a.db", "PRAGMA auto_vacuum", "2");
	t_close(st);
	t_expect("a.db", "PRAGMA journal_mode", "delete");
	assert_int_not_equal(access("a.db-wal", F_OK), 0);
	assert_int_not_equal(access("a.db-shm", F_OK), 0);
	assert_int_not_equal(access("a.db.lock", F_OK), 0);
	assert_int_not_equal(access("a.db.new", F_OK), 0);
	assert_int_not_equal(access("a.db.old", F_OK), 0);
}

static void a_file_belongs_to_who_called_sudo(void **state)
{
	struct store *st;
	struct stat status;

	(void)state;
	if (geteuid() != 0)
		skip();
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "2345", 1);
	st = t_open("a.db", false);
	assert_int_equal(stat("a.db-wal", &status), 0);
	assert_int_equal(status.st_uid, 1234);
	assert_int_equal(stat("a.db.lock", &status), 0);
	assert_int_equal(status.st_uid, 1234);
	t_close(st);
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	assert_int_equal(stat("a.db", &status), 0);
	assert_int_equal(status.st_uid, 1234);
	assert_int_equal(status.st_gid, 2345);
}

static void an_older_recording_is_moved_to_old(void **state)
{
	struct store *st;

	(void)state;
	t_make_recording("a.db");
	st = t_open("a.db", false);
	t_expect("a.db", "SELECT count(*) FROM interval", "0");
	t_expect("a.db.old", "SELECT count(*) FROM sample", "4");
	t_close(st);
	/* And that makes way for the next. */
	st = t_open("a.db", false);
	t_close(st);
	t_expect("a.db.old", "SELECT count(*) FROM sample", "0");
}

static void
what_was_ended_as_it_began_does_not_push_out_an_older_one(void **state)
{
	struct store *st;

	(void)state;
	t_make_recording("a.db");
	st = t_open("a.db", false);
	t_close(st);
	/* As where the recorder is killed before it has committed that. */
	t_change("a.db", "DELETE FROM recording");
	st = t_open("a.db", false);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM recording", "1");
	t_expect("a.db.old", "SELECT count(*) FROM sample", "4");
}

static void spans_without_a_recording_are_moved_to_old(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_close(st);
	/* As where spans are imported into what was ended as it began. */
	t_change("a.db", "DELETE FROM recording;"
			 "INSERT INTO span (trace, span_id)"
			 " VALUES (1, zeroblob(8))");
	st = t_open("a.db", false);
	t_close(st);
	t_expect("a.db.old", "SELECT count(*) FROM span", "1");
}

static void a_killed_recording_is_whole_when_moved_to_old(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	store_abandon(st);
	assert_int_equal(access("a.db-wal", F_OK), 0);
	st = t_open("a.db", false);
	assert_int_not_equal(access("a.db.old-wal", F_OK), 0);
	t_expect("a.db.old",
		 "SELECT count(*), ended_ns FROM samples, recording", "4|NULL");
	t_expect("a.db", "SELECT count(*) FROM samples", "0");
	t_close(st);
}

static void a_reader_keeps_its_view_when_a_file_is_moved(void **state)
{
	struct store *st = t_open("a.db", false);
	sqlite3 *reader;

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(sqlite3_open("a.db", &reader), SQLITE_OK);
	sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sample", NULL, NULL,
		     NULL);
	store_abandon(st);
	/* The log cannot be taken in while it is read: it moves along. */
	st = t_open("a.db", false);
	assert_int_equal(access("a.db.old-wal", F_OK), 0);
	t_expect("a.db.old", "SELECT count(*) FROM sample", "4");
	assert_string_equal(t_ask_db(reader, "SELECT count(*) FROM sample"),
			    "4");
	sqlite3_close(reader);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM sample", "4");
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	t_expect("a.db.old", "PRAGMA integrity_check", "ok");
}

static void a_stale_log_does_not_spoil_a_new_file(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	store_abandon(st);
	assert_int_equal(unlink("a.db"), 0);
	st = t_open("a.db", false);
	t_expect("a.db", "SELECT count(*) FROM sample", "0");
	t_close(st);
	t_expect("a.db", "PRAGMA integrity_check", "ok");
}

static void append_adds_a_recording(void **state)
{
	struct store *st;

	(void)state;
	/* Also to nothing. */
	st = t_open("a.db", true);
	t_fill(&b);
	t_write(st, &b);
	store_abandon(st);
	st = t_open("a.db", true);
	t_write(st, &b);
	t_close(st);
	t_expect("a.db", "SELECT id, ended_ns IS NULL FROM recording",
		 "1|1\n2|0");
	t_expect("a.db",
		 "SELECT event_id, count(*) FROM sample GROUP BY event_id",
		 "1|4\n3|4");
	t_expect("a.db", "SELECT count(*) FROM sample_tail", "0");
	assert_int_not_equal(access("a.db.old", F_OK), 0);
}

static void words_keep_their_numbers_over_append(void **state)
{
	static const char *const entries[] = { "new", "fired" };
	struct store_opts opts = t_opts("a.db");
	struct store_ledger entry = { 0, 1, 5, 5, true };
	struct store_batch batch = { .ledger = &entry, .n_ledger = 1 };
	struct store *st;

	(void)state;
	t_make_recording("a.db");
	opts.append = true;
	opts.words.ledger_entry = entries;
	opts.words.n_ledger_entry = 2;
	assert_int_equal(store_open(&st, &opts, &err), 0);
	assert_int_equal(store_write(st, &batch, NULL, &err), 0);
	t_close(st);
	t_expect("a.db", "SELECT id, name FROM ledger_entry ORDER BY id",
		 "1|fired\n2|counted\n3|idle\n4|new");
	t_expect("a.db", "SELECT entry, count FROM ledger WHERE event_id = 3",
		 "fired|5");
}

/* Make a file of what schema 1 had. */
static void make_old_recording(const char *path)
{
	t_make_recording(path);
	t_change(path, "DROP TABLE pin; DROP TABLE binary_segment;"
		       "DROP VIEW metric_total; DROP VIEW metric_histogram;"
		       "DROP VIEW metric_loss; DROP VIEW metric_examples;"
		       "DROP TABLE metric_exemplar;"
		       "DROP TABLE metric_interval; DROP TABLE metric_bucket;"
		       "DROP TABLE metric_value; DROP TABLE metric_key;"
		       "DROP TABLE metric;"
		       "DROP INDEX stack_leaf_frame;"
		       "ALTER TABLE stack DROP COLUMN leaf_frame_id;"
		       "DROP VIEW stack_ends;"
		       "DROP TABLE stack_attribute_total;"
		       "DROP TABLE stack_attribute_count;"
		       "DROP TABLE shape_attribute;"
		       "DROP TABLE process_attribute;"
		       "DROP INDEX frame_identity;"
		       "DROP TABLE ledger_sum;"
		       "ALTER TABLE event DROP COLUMN cpu_ns;"
		       "ALTER TABLE event DROP COLUMN tau_ns;"
		       "ALTER TABLE frame DROP COLUMN version;"
		       "CREATE UNIQUE INDEX frame_identity"
		       " ON frame (binary_id, address, in_kernel);"
		       "ALTER TABLE stack DROP COLUMN ended;"
		       "UPDATE stack_node SET parent_id = parent_id % 16"
		       " WHERE parent_id < 0;"
		       "PRAGMA user_version = 1");
}

static void an_older_schema_is_migrated_when_added_to(void **state)
{
	struct store *st;

	(void)state;
	make_old_recording("a.db");
	st = t_open("a.db", true);
	t_expect("a.db", "PRAGMA user_version", "10");
	t_expect("a.db", "SELECT status, ended FROM stack ORDER BY id",
		 "lost|NULL\ncomplete|NULL\nbroken|NULL");
	t_fill(&b);
	b.stack[0].end = 0;
	t_write(st, &b);
	t_close(st);
	/* What ended for no known reason stays apart; the lost are one. */
	t_expect("a.db",
		 "SELECT status, ended, sum(count) FROM stack k"
		 " JOIN stack_total t ON t.stack_id = k.id GROUP BY k.id",
		 "complete|NULL|6\nbroken|NULL|7\n"
		 "complete|no_user|6\nbroken|no_frame|7");
	t_expect("a.db", "SELECT count(*) FROM stack WHERE status = 'lost'",
		 "1");
	t_expect("a.db", "PRAGMA integrity_check", "ok");
}

static void an_older_schema_makes_way_as_it_is(void **state)
{
	struct store *st;

	(void)state;
	make_old_recording("a.db");
	st = t_open("a.db", false);
	t_close(st);
	t_expect("a.db.old", "PRAGMA user_version", "1");
	t_expect("a.db.old", "SELECT count(*) FROM stack", "3");
	t_expect("a.db", "PRAGMA user_version", "10");
}

static void the_log_stays_small_without_readers(void **state)
{
	struct store *st = t_open("a.db", false);
	uint64_t most = 0;
	int i;

	(void)state;
	t_fill(&b);
	for (i = 0; i < 200; i++) {
		t_write(st, &b);
		if (store_wal_bytes(st) > most)
			most = store_wal_bytes(st);
		assert_int_equal(store_checkpoint(st, &err), 0);
		assert_int_equal(store_wal_bytes(st), 0);
	}
	assert_true(most > 0 && most < 1 << 20);
	assert_true(store_file_bytes(st) > 0);
	t_close(st);
}

static void a_reader_that_stays_shows_in_the_log(void **state)
{
	struct store *st = t_open("a.db", false);
	uint64_t before;
	sqlite3 *reader;
	int i;

	(void)state;
	t_fill(&b);
	t_write(st, &b);
	assert_int_equal(
		sqlite3_open_v2("a.db", &reader, SQLITE_OPEN_READONLY, NULL),
		SQLITE_OK);
	sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sample", NULL, NULL,
		     NULL);
	before = store_wal_bytes(st);
	for (i = 0; i < 50; i++) {
		t_write(st, &b);
		assert_int_equal(store_checkpoint(st, &err), 0);
	}
	assert_true(store_wal_bytes(st) > before);
	assert_string_equal(t_ask_db(reader, "SELECT count(*) FROM sample"),
			    "4");
	sqlite3_exec(reader, "COMMIT", NULL, NULL, NULL);
	assert_int_equal(store_checkpoint(st, &err), 0);
	assert_int_equal(store_wal_bytes(st), 0);

	/* Closing does not wait for it either. */
	sqlite3_exec(reader, "BEGIN; SELECT count(*) FROM sample", NULL, NULL,
		     NULL);
	t_close(st);
	assert_string_equal(t_ask_db(reader, "SELECT count(*) FROM sample"),
			    "204");
	sqlite3_close(reader);
	t_expect("a.db", "SELECT count(*), ended_ns FROM sample, recording",
		 "204|1700000001000000000");
	t_expect("a.db", "PRAGMA integrity_check", "ok");
}

static void a_closed_file_opens_from_a_read_only_place(void **state)
{
	pid_t child;
	int status;

	(void)state;
	t_make_recording("a.db");
	assert_int_equal(chmod("a.db", 0444), 0);
	assert_int_equal(chmod(place, 0555), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		t_expect("a.db", "SELECT count(*) FROM samples", "4");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(chmod(place, 0755), 0);
	assert_int_equal(status, 0);
}

static void a_file_size_limit_is_no_space(void **state)
{
	struct rlimit limit = { 600 << 10, 600 << 10 };
	struct store *st;
	pid_t child;
	int status, i, rc = 0;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		signal(SIGXFSZ, SIG_IGN);
		st = t_open("a.db", false);
		t_fill(&b);
		setrlimit(RLIMIT_FSIZE, &limit);
		for (i = 0; i < 1000 && !rc; i++)
			rc = store_write(st, &b.batch, b.row, &err);
		store_abandon(st);
		if (rc != -ENOSPC)
			print_error("%d: %s\n", rc, err.msg);
		_exit(rc != -ENOSPC);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	t_expect("a.db",
		 "SELECT count(*) = 4 * (SELECT count(*) FROM interval)"
		 " FROM sample",
		 "1");
}

static void write_until_killed(int ready)
{
	struct store *st = t_open("a.db", true);

	t_fill(&b);
	for (;;) {
		t_write(st, &b);
		if (write(ready, "x", 1) != 1)
			_exit(1);
		if (store_checkpoint(st, &err))
			_exit(1);
	}
}

static void sigkill_leaves_a_readable_file(void **state)
{
	int round, ready[2], status;
	char got[64], want[64];
	struct store *st;
	pid_t child;
	char c;

	(void)state;
	for (round = 1; round <= 8; round++) {
		assert_int_equal(pipe(ready), 0);
		child = fork();
		assert_true(child >= 0);
		if (!child)
			write_until_killed(ready[1]);
		close(ready[1]);
		for (int i = 0; i < 5 * round; i++)
			assert_int_equal(read(ready[0], &c, 1), 1);
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		close(ready[0]);

		t_expect("a.db", "PRAGMA integrity_check", "ok");
		snprintf(want, sizeof(want), "%d", round);
		t_expect("a.db", "SELECT count(*) FROM recording", want);
		t_expect("a.db",
			 "SELECT count(*) = 4 * (SELECT count(*) FROM interval)"
			 " FROM samples",
			 "1");
	}
	snprintf(got, sizeof(got), "%s",
		 t_ask("a.db", "SELECT count(*) FROM sample"));
	st = t_open("a.db", true);
	t_close(st);
	t_expect("a.db", "SELECT count(*) FROM sample_sealed", got);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_is_private_and_says_what_it_is),
		TEST(a_file_belongs_to_who_called_sudo),
		TEST(an_older_recording_is_moved_to_old),
		TEST(what_was_ended_as_it_began_does_not_push_out_an_older_one),
		TEST(spans_without_a_recording_are_moved_to_old),
		TEST(a_killed_recording_is_whole_when_moved_to_old),
		TEST(a_reader_keeps_its_view_when_a_file_is_moved),
		TEST(a_stale_log_does_not_spoil_a_new_file),
		TEST(append_adds_a_recording),
		TEST(words_keep_their_numbers_over_append),
		TEST(an_older_schema_is_migrated_when_added_to),
		TEST(an_older_schema_makes_way_as_it_is),
		TEST(the_log_stays_small_without_readers),
		TEST(a_reader_that_stays_shows_in_the_log),
		TEST(a_closed_file_opens_from_a_read_only_place),
		TEST(a_file_size_limit_is_no_space),
		TEST(sigkill_leaves_a_readable_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

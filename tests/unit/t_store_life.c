/* SPDX-License-Identifier: MIT */
/* How a recording file comes to be, makes way, is shared and survives. */
#include <signal.h>
#include <sys/resource.h>

#include "store/inside.h"
#include "t_store.h"

static struct t_batch b;

/* "FORMAT" with the place's name for %s: messages name files whole. */
static void expect_message(const char *format)
{
	char want[512];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(want, sizeof(want), format, place, place);
#pragma GCC diagnostic pop
	assert_string_equal(err.msg, want);
}

static void expect_refusal(const char *path, bool append, int code,
			   const char *format)
{
	struct store_opts opts = t_opts(path);
	struct store *st = (struct store *)&opts;

	opts.append = append;
	memset(&err, 0, sizeof(err));
	assert_int_equal(store_open(&st, &opts, &err), code);
	assert_null(st);
	expect_message(format);
}

/* One file's bytes; compared before and after. */
struct bytes {
	char *at;
	size_t n;
};

static struct bytes slurp(const char *path)
{
	struct bytes bytes = { 0 };
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	bytes.n = (size_t)st.st_size;
	bytes.at = malloc(bytes.n + 1);
	assert_non_null(bytes.at);
	assert_int_equal(read(fd, bytes.at, bytes.n), bytes.n);
	close(fd);
	return bytes;
}

static void spill(const char *path, const void *at, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, at, n), n);
	close(fd);
}

/* Refused with and without append, and not a byte of it changed. */
static void expect_untouched(const char *path, int code, const char *format)
{
	struct bytes before = slurp(path), after;
	char old[64];

	expect_refusal(path, false, code, format);
	expect_refusal(path, true, code, format);
	after = slurp(path);
	assert_int_equal(after.n, before.n);
	assert_memory_equal(after.at, before.at, before.n);
	free(before.at);
	free(after.at);
	snprintf(old, sizeof(old), "%s.old", path);
	assert_int_not_equal(access(old, F_OK), 0);
	snprintf(old, sizeof(old), "%s.lock", path);
	assert_int_not_equal(access(old, F_OK), 0);
	snprintf(old, sizeof(old), "%s.new", path);
	assert_int_not_equal(access(old, F_OK), 0);
}

static void change(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void make_recording(const char *path)
{
	struct store *st = t_open(path, false);

	t_fill(&b);
	t_write(st, &b);
	t_close(st);
}

static void a_new_file_is_private_and_says_what_it_is(void **state)
{
	struct store *st = t_open("a.db", false);
	struct stat status;

	(void)state;
	assert_int_equal(stat("a.db", &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	t_expect("a.db", "PRAGMA application_id", "2003134068");
	t_expect("a.db", "PRAGMA user_version", "7");
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
	make_recording("a.db");
	st = t_open("a.db", false);
	t_expect("a.db", "SELECT count(*) FROM interval", "0");
	t_expect("a.db.old", "SELECT count(*) FROM sample", "4");
	t_close(st);
	/* And that makes way for the next. */
	st = t_open("a.db", false);
	t_close(st);
	t_expect("a.db.old", "SELECT count(*) FROM sample", "0");
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
	make_recording("a.db");
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
	make_recording(path);
	change(path, "DROP TABLE binary_segment;"
		     "DROP VIEW metric_total; DROP VIEW metric_histogram;"
		     "DROP VIEW metric_loss; DROP VIEW metric_examples;"
		     "DROP TABLE metric_exemplar;"
		     "DROP TABLE metric_interval; DROP TABLE metric_bucket;"
		     "DROP TABLE metric_value; DROP TABLE metric_key;"
		     "DROP TABLE metric;"
		     "DROP VIEW stack_ends;"
		     "DROP TABLE stack_attribute_total;"
		     "DROP TABLE stack_attribute_count;"
		     "DROP TABLE shape_attribute;"
		     "DROP TABLE process_attribute;"
		     "DROP INDEX frame_identity;"
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
	t_expect("a.db", "PRAGMA user_version", "7");
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
	t_expect("a.db", "PRAGMA user_version", "7");
}

static void a_second_writer_is_refused(void **state)
{
	struct store *st = t_open("a.db", false);

	(void)state;
	expect_refusal("a.db", true, -EBUSY,
		       "'%s/a.db' is in use by another weft (it holds "
		       "'%s/a.db.lock'): wait for it, or choose another file");
	expect_refusal("a.db", false, -EBUSY,
		       "'%s/a.db' is in use by another weft (it holds "
		       "'%s/a.db.lock'): wait for it, or choose another file");
	memset(&err, 0, sizeof(err));
	t_close(st);
	st = t_open("a.db", true);
	t_close(st);
}

static void a_lock_file_left_behind_is_no_obstacle(void **state)
{
	struct store *st;

	(void)state;
	spill("a.db.lock", "", 0);
	st = t_open("a.db", false);
	t_close(st);
	assert_int_not_equal(access("a.db.lock", F_OK), 0);
}

static void foreign_files_are_refused_untouched(void **state)
{
	char noise[8192];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * i >> 3);
	spill("noise", noise, sizeof(noise));
	expect_untouched("noise", -EEXIST,
			 "'%s/noise' is not a weft file: move it away, or "
			 "choose another name");
	spill("text", "hello\n", 6);
	expect_untouched("text", -EEXIST,
			 "'%s/text' is not a weft file: move it away, or "
			 "choose another name");
	spill("empty", "", 0);
	expect_untouched("empty", -EEXIST,
			 "'%s/empty' is not a weft file: move it away, or "
			 "choose another name");
	change("other.db", "CREATE TABLE recording (id)");
	expect_untouched("other.db", -EEXIST,
			 "'%s/other.db' is not a weft file: move it away, or "
			 "choose another name");
}

static void what_is_no_file_is_refused(void **state)
{
	(void)state;
	assert_int_equal(mkdir("dir", 0700), 0);
	expect_refusal("dir", false, -EEXIST,
		       "'%s/dir' is not a regular file: choose another name");
	assert_int_equal(mkfifo("fifo", 0600), 0);
	expect_refusal("fifo", false, -EEXIST,
		       "'%s/fifo' is not a regular file: choose another name");
	assert_int_equal(symlink("nowhere", "link"), 0);
	expect_refusal("link", false, -ENOENT,
		       "cannot follow the symbolic link 'link': No such file "
		       "or directory");
}

static void a_link_leads_to_its_file(void **state)
{
	struct store *st;
	struct stat status;

	(void)state;
	make_recording("a.db");
	assert_int_equal(symlink("a.db", "link"), 0);
	st = t_open("link", true);
	expect_refusal("a.db", true, -EBUSY,
		       "'%s/a.db' is in use by another weft (it holds "
		       "'%s/a.db.lock'): wait for it, or choose another file");
	memset(&err, 0, sizeof(err));
	t_close(st);
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	t_expect("a.db", "SELECT count(*) FROM recording", "2");
}

static void a_foreign_old_file_is_not_replaced(void **state)
{
	struct stat status;

	(void)state;
	make_recording("a.db");
	spill("a.db.old", "dear diary", 10);
	expect_refusal("a.db", false, -EEXIST,
		       "cannot move '%s/a.db' to '%s/a.db.old', which is not a "
		       "weft file: move one of them away, or choose another "
		       "name");
	t_expect("a.db", "SELECT count(*) FROM sample", "4");
	assert_int_equal(stat("a.db.old", &status), 0);
	assert_int_equal(status.st_size, 10);
}

static void a_newer_file_is_refused_and_both_schemas_named(void **state)
{
	(void)state;
	make_recording("a.db");
	change("a.db", "PRAGMA user_version = 99");
	expect_untouched("a.db", -ENOTSUP,
			 "'%s/a.db' has schema 99, newer than this weft's (7): "
			 "use a newer weft, or choose another name");
}

static void a_damaged_file_is_refused_untouched(void **state)
{
	struct bytes bytes;
	char *page;

	(void)state;
	make_recording("a.db");
	bytes = slurp("a.db");
	spill("half.db", bytes.at, bytes.n / 2);
	expect_untouched("half.db", -EPROTO,
			 "'%s/half.db' is damaged (it is cut short): move it "
			 "away, or choose another name");
	page = bytes.at;
	memset(page + 100, 0x5a, 4000); /* the schema */
	spill("torn.db", bytes.at, bytes.n);
	expect_untouched("torn.db", -EPROTO,
			 "cannot read '%s/torn.db': it is damaged: database "
			 "disk image is malformed");
	free(bytes.at);
	change("a.db", "PRAGMA user_version = 0");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is damaged (it has no schema): move it "
			 "away, or choose another name");
}

static void an_altered_file_is_refused_untouched(void **state)
{
	(void)state;
	make_recording("a.db");
	change("a.db", "CREATE TRIGGER t AFTER INSERT ON interval"
		       " BEGIN DELETE FROM sample_tail; END");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is damaged (it has triggers): move it "
			 "away, or choose another name");
	change("a.db", "DROP TRIGGER t; DROP TABLE sample_tail;"
		       " CREATE VIEW sample_tail AS SELECT 1");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is damaged (a table is missing): move it "
			 "away, or choose another name");
}

static void a_directory_that_is_not_there_is_named(void **state)
{
	(void)state;
	expect_refusal("no/such/a.db", false, -ENOENT,
		       "cannot write to 'no/such/a.db': directory 'no/such' "
		       "does not exist");
}

static void a_directory_that_is_not_writable_is_named(void **state)
{
	struct store *st;
	struct store_opts opts = t_opts("ro/a.db");
	char want[256];
	pid_t child;
	int status;

	(void)state;
	assert_int_equal(mkdir("ro", 0555), 0);
	assert_int_equal(chmod(place, 0755), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		snprintf(want, sizeof(want),
			 "cannot write to '%s/ro/a.db': directory '%s/ro' is "
			 "not writable: Permission denied",
			 place, place);
		_exit(store_open(&st, &opts, &err) != -EACCES ||
		      strcmp(err.msg, want));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
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
	make_recording("a.db");
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
		TEST(a_killed_recording_is_whole_when_moved_to_old),
		TEST(a_reader_keeps_its_view_when_a_file_is_moved),
		TEST(a_stale_log_does_not_spoil_a_new_file),
		TEST(append_adds_a_recording),
		TEST(words_keep_their_numbers_over_append),
		TEST(an_older_schema_is_migrated_when_added_to),
		TEST(an_older_schema_makes_way_as_it_is),
		TEST(a_second_writer_is_refused),
		TEST(a_lock_file_left_behind_is_no_obstacle),
		TEST(foreign_files_are_refused_untouched),
		TEST(what_is_no_file_is_refused),
		TEST(a_link_leads_to_its_file),
		TEST(a_foreign_old_file_is_not_replaced),
		TEST(a_newer_file_is_refused_and_both_schemas_named),
		TEST(a_damaged_file_is_refused_untouched),
		TEST(an_altered_file_is_refused_untouched),
		TEST(a_directory_that_is_not_there_is_named),
		TEST(a_directory_that_is_not_writable_is_named),
		TEST(the_log_stays_small_without_readers),
		TEST(a_reader_that_stays_shows_in_the_log),
		TEST(a_closed_file_opens_from_a_read_only_place),
		TEST(a_file_size_limit_is_no_space),
		TEST(sigkill_leaves_a_readable_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* What is no place for a recording is refused by name, and left as it is. */
#include "t_store.h"

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
	t_change("other.db", "CREATE TABLE recording (id)");
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
	t_make_recording("a.db");
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
	t_make_recording("a.db");
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
	t_make_recording("a.db");
	t_change("a.db", "PRAGMA user_version = 99");
	expect_untouched(
		"a.db", -ENOTSUP,
		"'%s/a.db' has schema 99, newer than this weft's (10): "
		"use a newer weft, or choose another name");
}

static void a_damaged_file_is_refused_untouched(void **state)
{
	struct bytes bytes;
	char *page;

	(void)state;
	t_make_recording("a.db");
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
	t_change("a.db", "PRAGMA user_version = 0");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is damaged (it has no schema): move it "
			 "away, or choose another name");
}

static void an_altered_file_is_refused_untouched(void **state)
{
	(void)state;
	t_make_recording("a.db");
	t_change("a.db", "CREATE TRIGGER t AFTER INSERT ON interval"
			 " BEGIN DELETE FROM sample_tail; END");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is not as weft makes its files (it has "
			 "triggers): it is damaged, or was made to mislead; "
			 "`sqlite3` can look into it");
	t_change("a.db", "DROP TRIGGER t; DROP TABLE sample_tail;"
			 " CREATE VIEW sample_tail AS SELECT 1");
	expect_untouched("a.db", -EPROTO,
			 "'%s/a.db' is not as weft makes its files (it lacks "
			 "the table sample_tail): it is damaged, or was made "
			 "to mislead; `sqlite3` can look into it");
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

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

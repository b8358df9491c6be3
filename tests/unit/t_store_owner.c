/* SPDX-License-Identifier: MIT */
/*
 * What others may have put in our way: in a directory that they may write to
 * links and files of theirs, beside a recording its lock, its log and its
 * journal. They are refused by name, nothing is waited for, and no file that
 * they lead to is changed.
 */
#include "skip.h"
#include "t_store.h"

static const uid_t somebody = 1234;

/* "pub", where everybody may write, and outside of it a recording. */
static int enter_public(void **state)
{
	/* One that waits for a FIFO has to end; a watchdog, not a measure. */
	alarm(60);
	if (enter_place(state) || mkdir("pub", 0700) || chmod("pub", 01777))
		return -1;
	t_make_recording("mine.db");
	return 0;
}

static void expect_refusal(const char *path, bool append, int code,
			   const char *text)
{
	struct store_opts opts = t_opts(path);
	struct store *st;

	opts.append = append;
	memset(&err, 0, sizeof(err));
	assert_int_equal(store_open(&st, &opts, &err), code);
	assert_null(st);
	if (!strstr(err.msg, text))
		fail_msg("'%s' not in: %s", text, err.msg);
}

/* With and without append; and the recording outside stays as it is. */
static void expect_refused(const char *path, const char *text)
{
	struct stat before, after;

	assert_int_equal(stat("mine.db", &before), 0);
	expect_refusal(path, false, -EEXIST, text);
	expect_refusal(path, true, -EEXIST, text);
	assert_int_equal(stat("mine.db", &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	assert_int_equal(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	assert_int_equal(after.st_ino, before.st_ino);
	t_expect("mine.db", "SELECT count(*) FROM recording", "1");
}

static void a_symbolic_link_is_not_followed(void **state)
{
	(void)state;
	assert_int_equal(symlink("../mine.db", "pub/a.db"), 0);
	expect_refused("pub/a.db", "symbolic link");
	/* Nor one that leads to nothing yet. */
	assert_int_equal(symlink("../not_yet", "pub/b.db"), 0);
	expect_refused("pub/b.db", "symbolic link");
	assert_int_not_equal(access("not_yet", F_OK), 0);
}

/* Nor one on the way, or where one on the way leads. */
static void a_link_of_another_on_the_way_is_not_followed(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("needs root to make a link of another user");
	assert_int_equal(mkdir("mine", 0700), 0);
	assert_int_equal(symlink("../mine", "pub/way"), 0);
	t_make_recording("pub/way/ours.db");
	assert_int_equal(lchown("pub/way", somebody, somebody), 0);
	expect_refused("pub/way/a.db", "'pub/way' is a symbolic link of another"
				       " user (1234)");
	expect_refused("pub//way/./a.db", "is a symbolic link of another");
	assert_int_equal(symlink("pub/way", "by"), 0);
	expect_refused("by/a.db", "'./pub/way' is a symbolic link of another");
	assert_int_not_equal(access("mine/a.db", F_OK), 0);
	/* Where only we may write it is ours to make sense of. */
	assert_int_equal(chmod("pub", 0755), 0);
	t_make_recording("by/a.db");
	assert_int_equal(access("mine/a.db", F_OK), 0);
	/* Round in a circle. */
	assert_int_equal(symlink("circle", "circle"), 0);
	expect_refused("circle/a.db", "too many symbolic links");
}

static void a_hard_link_is_refused(void **state)
{
	(void)state;
	assert_int_equal(link("mine.db", "pub/a.db"), 0);
	expect_refused("pub/a.db", "hard link");
	assert_int_equal(access("pub/a.db", F_OK), 0);
	/* In a directory of ours it is what we have made of it. */
	assert_int_equal(link("mine.db", "other.db"), 0);
	t_close(t_open("other.db", true));
	t_expect("mine.db", "SELECT count(*) FROM recording", "2");
}

static void a_fifo_is_not_waited_for(void **state)
{
	(void)state;
	assert_int_equal(mkfifo("pub/a.db", 0666), 0);
	expect_refused("pub/a.db", "not a regular file");
}

static void a_file_of_another_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("needs root to make a file of another user");
	t_make_recording("pub/a.db");
	assert_int_equal(chown("pub/a.db", somebody, somebody), 0);
	expect_refused("pub/a.db", "another user (1234)");
	t_expect("pub/a.db", "SELECT count(*) FROM recording", "1");
	/* Unless it is who called sudo. */
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	t_close(t_open("pub/a.db", true));
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	t_expect("pub/a.db", "SELECT count(*) FROM recording", "2");
}

/* Everybody is not the only other. */
static void whose_directory_it_is_counts(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("needs root to make a directory of another user");
	assert_int_equal(symlink("../mine.db", "pub/a.db"), 0);
	assert_int_equal(link("mine.db", "pub/b.db"), 0);
	t_make_recording("pub/c.db");
	assert_int_equal(chown("pub/c.db", somebody, somebody), 0);
	/* Its owner's. */
	assert_int_equal(chmod("pub", 0755), 0);
	assert_int_equal(chown("pub", somebody, 0), 0);
	expect_refused("pub/a.db", "symbolic link");
	expect_refused("pub/b.db", "hard link");
	/* Who lets us write there has a file there. */
	t_close(t_open("pub/c.db", true));
	/* A group's. */
	assert_int_equal(chown("pub", 0, somebody), 0);
	assert_int_equal(chmod("pub", 0775), 0);
	expect_refused("pub/a.db", "symbolic link");
	expect_refused("pub/c.db", "another user (1234)");
	/* Who called sudo is nobody else. */
	setenv("SUDO_UID", "1234", 1);
	setenv("SUDO_GID", "1234", 1);
	assert_int_equal(chown("pub", somebody, somebody), 0);
	t_close(t_open("pub/a.db", true));
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	t_expect("mine.db", "SELECT count(*) FROM recording", "2");
}

/* SQLite takes them for the newest part of the file. */
static void what_another_put_beside_is_refused(void **state)
{
	static const char *const beside[] = { "pub/a.db-wal", "pub/a.db-shm",
					      "pub/a.db-journal" };

	(void)state;
	if (geteuid() != 0)
		SKIP_BECAUSE("needs root to make a file of another user");
	t_make_recording("pub/a.db");
	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		close(open(beside[i], O_WRONLY | O_CREAT, 0666));
		assert_int_equal(chown(beside[i], somebody, somebody), 0);
		expect_refused("pub/a.db", "another user (1234)");
		assert_int_equal(unlink(beside[i]), 0);
	}
}

static void a_lock_of_another_is_refused(void **state)
{
	struct stat status;

	(void)state;
	/* Where a symbolic link leads, no lock is made. */
	assert_int_equal(symlink("../not_yet", "pub/a.db.lock"), 0);
	expect_refusal("pub/a.db", false, -ELOOP, "pub/a.db");
	assert_int_not_equal(access("not_yet", F_OK), 0);
	assert_int_equal(link("mine.db", "pub/b.db.lock"), 0);
	expect_refused("pub/b.db", "hard link");
	assert_int_equal(mkfifo("pub/c.db.lock", 0666), 0);
	expect_refused("pub/c.db", "not a regular file");
	if (geteuid() != 0)
		SKIP_BECAUSE("needs root to make a file of another user");
	t_make_recording("pub/d.db");
	close(open("pub/d.db.lock", O_WRONLY | O_CREAT, 0666));
	assert_int_equal(chown("pub/d.db.lock", somebody, somebody), 0);
	expect_refused("pub/d.db", "another user (1234)");
	/* It is theirs still: not removed, not given to anybody. */
	assert_int_equal(stat("pub/d.db.lock", &status), 0);
	assert_int_equal(status.st_uid, somebody);
}

/* The name under which a file is built first is made anew. */
static void a_link_at_the_new_name_is_replaced(void **state)
{
	struct stat status;

	(void)state;
	assert_int_equal(symlink("../mine.db", "pub/a.db.new"), 0);
	t_close(t_open("pub/a.db", false));
	assert_int_equal(lstat("pub/a.db", &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	t_expect("mine.db", "SELECT count(*) FROM sample", "4");
}

static void what_would_make_way_is_checked_as_well(void **state)
{
	(void)state;
	t_make_recording("pub/a.db");
	assert_int_equal(symlink("../mine.db", "pub/a.db.old"), 0);
	expect_refusal("pub/a.db", false, -EEXIST, "cannot move");
	t_expect("mine.db", "SELECT count(*) FROM recording", "1");
	t_expect("pub/a.db", "SELECT count(*) FROM recording", "1");
}

/* SQLite deletes the file that the end of a journal names. The layout:
 * sqlite.org/fileformat.html, 3. */
static void a_journal_that_names_another_file_is_refused(void **state)
{
	static const unsigned char magic[] = { 0xd9, 0xd5, 0x05, 0xf9,
					       0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[64] = { 0 };
	char victim[128];
	uint32_t length, sum = 0;
	int fd;

	(void)state;
	snprintf(victim, sizeof(victim), "%s/mine.db", place);
	length = (uint32_t)strlen(victim);
	assert_true(length < 32);
	for (uint32_t i = 0; i < length; i++)
		sum += (uint32_t)(signed char)victim[i];
	memcpy(end, victim, length);
	end[length + 3] = (unsigned char)length;
	for (uint32_t i = 0; i < 4; i++)
		end[length + 4 + i] = (unsigned char)(sum >> (24 - 8 * i));
	memcpy(end + length + 8, magic, sizeof(magic));
	t_make_recording("a.db");
	fd = open("a.db-journal", O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	/* It begins with a header, of a journal that is hot. */
	assert_int_equal(write(fd, magic, sizeof(magic)), sizeof(magic));
	assert_int_equal(lseek(fd, 512, SEEK_SET), 512);
	assert_int_equal(write(fd, end, length + 16), length + 16);
	close(fd);
	expect_refusal("a.db", true, -EPROTO, "names another file");
	expect_refusal("a.db", false, -EPROTO, "names another file");
	t_expect("mine.db", "SELECT count(*) FROM recording", "1");
}

static void a_journal_that_is_no_file_is_refused(void **state)
{
	(void)state;
	t_make_recording("a.db");
	assert_int_equal(symlink("mine.db", "a.db-journal"), 0);
	expect_refused("a.db", "a.db-journal' is not a regular file");
	t_make_recording("b.db");
	assert_int_equal(mkfifo("b.db-journal", 0600), 0);
	expect_refused("b.db", "b.db-journal' is not a regular file");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_public, leave_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_symbolic_link_is_not_followed),
		TEST(a_link_of_another_on_the_way_is_not_followed),
		TEST(a_hard_link_is_refused),
		TEST(a_fifo_is_not_waited_for),
		TEST(a_file_of_another_is_refused),
		TEST(whose_directory_it_is_counts),
		TEST(what_another_put_beside_is_refused),
		TEST(a_lock_of_another_is_refused),
		TEST(a_link_at_the_new_name_is_replaced),
		TEST(what_would_make_way_is_checked_as_well),
		TEST(a_journal_that_names_another_file_is_refused),
		TEST(a_journal_that_is_no_file_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

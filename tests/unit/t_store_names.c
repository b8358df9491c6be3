/* SPDX-License-Identifier: MIT */
/* A file that is opened for its names, and nothing else of it changes. */
#include "tests/unit/t_store.h"

static const char text[] = "\0old\0new\0inner\0symtab\0dynsym";
enum {
	OLD = 1,
	NEW = 5,
	INNER = 9,
	SYMTAB = 15,
	DYNSYM = 22
};

/* A file whose first frame is called old. */
static void make(const char *path, int64_t frame_ids[2])
{
	struct store *st = t_open(path, false);
	struct t_batch b;
	struct store_name name;

	t_fill(&b);
	t_write(st, &b);
	frame_ids[0] = b.row[0].id;
	frame_ids[1] = b.row[1].id;
	name = (struct store_name){ .frame_id = frame_ids[0],
				    .name = OLD,
				    .source = DYNSYM };
	assert_int_equal(
		store_write_names(st, &name, 1, text, sizeof(text), &err), 0);
	t_close(st);
}

static struct store *open_names(const char *path)
{
	struct store *st;

	if (store_open_to_amend(&st, path, &err))
		fail_msg("store_open_to_amend: %s", err.msg);
	return st;
}

static int see(void *ctx, const struct store_known_frame *f)
{
	char *out = ctx;

	snprintf(out + strlen(out), 512 - strlen(out), "%llx %s %s %s %s %u\n",
		 (unsigned long long)f->address, f->path, f->build_id,
		 f->name ? f->name : "-", f->source ? f->source : "-",
		 f->levels);
	return 0;
}

static int stop(void *ctx, const struct store_known_frame *f)
{
	(void)f;
	++*(int *)ctx;
	return 7;
}

static void frames_of_files_are_listed(void **state)
{
	char seen[512] = "";
	struct store *st;
	int64_t ids[2];
	int n = 0;

	(void)state;
	make("a", ids);
	st = open_names("a");
	assert_int_equal(store_each_frame(st, see, seen, &err), 0);
	/* Neither the kernel's nor what is in no file. */
	assert_string_equal(seen, "10 /bin/x abcd old dynsym 1\n"
				  "20 /bin/x abcd - - 0\n");
	assert_int_equal(store_each_frame(st, stop, &n, &err), 7);
	assert_int_equal(n, 1);
	assert_int_equal(store_close(st, 0, &err), 0);
}

static void names_are_replaced_whole(void **state)
{
	struct store_name names[3];
	struct store *st;
	int64_t ids[2];

	(void)state;
	make("a", ids);
	st = open_names("a");
	names[0] = (struct store_name){ ids[0], 0, 3, INNER, 0, 0, 0, SYMTAB };
	names[1] = (struct store_name){ ids[0], 1, 4, NEW, 0, 0, 0, SYMTAB };
	names[2] = (struct store_name){ ids[1], 0, 0, NEW, 0, 0, 0, SYMTAB };
	assert_int_equal(
		store_replace_names(st, names, 3, text, sizeof(text), &err), 0);
	/* A bad one leaves all as it was. */
	names[0].name = NEW;
	names[2].frame_id = 99;
	assert_int_equal(
		store_replace_names(st, names, 3, text, sizeof(text), &err),
		-EINVAL);
	assert_int_equal(store_close(st, 0, &err), 0);
	t_expect("a",
		 "SELECT ff.frame_id, inline_depth, n.name, source, ff.line"
		 " FROM frame_function ff JOIN function n"
		 " ON n.id = function_id ORDER BY 1, 2",
		 "1|0|inner|symtab|3\n1|1|new|symtab|4\n2|0|new|symtab|NULL");
	/* What nothing is called by any more is gone. */
	t_expect("a", "SELECT count(*) FROM function", "2");
}

static void nothing_else_changes(void **state)
{
	static const char of_all[] =
		"SELECT (SELECT count(*) FROM recording),"
		" (SELECT ended_ns FROM recording),"
		" (SELECT count(*) FROM event),"
		" (SELECT count(*) FROM sample), (SELECT sum(id) FROM sample)";
	struct store *st;
	int64_t ids[2];
	char before[256];

	(void)state;
	make("a", ids);
	snprintf(before, sizeof(before), "%s", t_ask("a", of_all));
	st = open_names("a");
	assert_int_equal(store_close(st, 0, &err), 0);
	t_expect("a", of_all, before);
	t_expect("a", "PRAGMA journal_mode", "delete");
	assert_int_equal(access("a.lock", F_OK), -1);
}

static void what_is_no_recording_is_refused(void **state)
{
	struct store *st, *second;
	struct store_opts opts;
	int64_t ids[2];

	(void)state;
	assert_int_equal(store_open_to_amend(&st, "absent", &err), -ENOENT);
	assert_null(st);
	assert_int_equal(access("absent", F_OK), -1);
	assert_int_equal(access("absent.lock", F_OK), -1);
	memset(&err, 0, sizeof(err));
	make("a", ids);
	opts = t_opts("a");
	opts.append = true;
	assert_int_equal(store_open(&st, &opts, &err), 0);
	assert_int_equal(store_open_to_amend(&second, "a", &err), -EBUSY);
	memset(&err, 0, sizeof(err));
	t_close(st);
	st = open_names("a");
	assert_int_equal(store_open(&second, &opts, &err), -EBUSY);
	memset(&err, 0, sizeof(err));
	assert_int_equal(store_close(st, 0, &err), 0);
}

/* Its tail is sealed, but that it did not end stays to be seen. */
static void a_file_that_a_crash_left_is_put_right(void **state)
{
	struct store *st;
	struct t_batch b;

	(void)state;
	st = t_open("a", false);
	t_fill(&b);
	t_write(st, &b);
	store_abandon(st);
	st = open_names("a");
	assert_int_equal(store_close(st, 0, &err), 0);
	t_expect("a",
		 "SELECT (SELECT count(*) FROM sample_tail),"
		 " (SELECT count(*) FROM sample),"
		 " (SELECT ended_ns FROM recording)",
		 "0|4|NULL");
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, enter_place, leave_place)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(frames_of_files_are_listed),
		TEST(names_are_replaced_whole),
		TEST(nothing_else_changes),
		TEST(what_is_no_recording_is_refused),
		TEST(a_file_that_a_crash_left_is_put_right),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

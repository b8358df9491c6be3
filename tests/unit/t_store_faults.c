/* SPDX-License-Identifier: MIT */
/*
 * A recording on a disk that fails: the first, the second, the third ...
 * operation of each kind, until a recording is made without reaching it. Each
 * failure has a message that names the file; the store stays usable where it
 * says so, and the file is whole, with every interval that was said to be
 * stored. The same where memory is what fails. FAULTS=all in the environment
 * tries each operation (of memory each of the first 512, then fewer); without
 * it they are tried the less the later they come.
 */
#include "store/retention.h"
#include "t_store.h"

#include "fault_vfs.h"

enum {
	BATCHES = 2
};

static struct t_batch b;

/* What came of a recording. */
struct outcome {
	int opened;          /* 0, or why not */
	int stored, retried; /* batches */
	int first;           /* failure of a batch */
	int closed;
};

static void expect_said(int rc)
{
	if (rc && (!err.msg[0] || !strstr(err.msg, "a.db")))
		fail_msg("%s %d: failure %d says only '%s'",
			 fault_words[fault.kind], fault.at, rc, err.msg);
	memset(&err, 0, sizeof(err));
}

static int write_one(struct store *st, int i)
{
	static const char text[] = "\0main\0symtab";
	struct store_name name = { .name = 1, .source = 6 };
	struct store_segment segment = { .size = 0x1000, .address = 0x400000 };
	int rc;

	t_fill(&b);
	b.batch.interval.start_ns = 5000 + 1000 * (uint64_t)i;
	b.batch.interval.end_ns = 6000 + 1000 * (uint64_t)i;
	rc = store_write(st, &b.batch, b.row, &err);
	expect_said(rc);
	if (rc)
		return rc;
	name.frame_id = b.row[0].id;
	/* Names may be given again with the next. */
	expect_said(store_write_names(st, &name, 1, text, sizeof(text), &err));
	segment.frame_id = name.frame_id;
	expect_said(store_write_segments(st, &segment, 1, &err));
	(void)store_checkpoint(st, NULL);
	return 0;
}

/* Make a recording. Where a batch fails, the disk is mended, and the same
 * batch is given again. */
static struct outcome record(bool append)
{
	struct store_opts opts = t_opts("a.db");
	struct outcome out = { 0 };
	struct store *st;
	int i, rc;

	opts.append = append;
	out.opened = store_open(&st, &opts, &err);
	expect_said(out.opened);
	if (out.opened)
		return out;
	fault.is_held = false;
	for (i = 0; i < BATCHES; i++) {
		rc = write_one(st, i);
		if (rc == -ENOSPC || rc == -EBUSY || rc == -EIO ||
		    rc == -ENOMEM) {
			out.first = rc;
			fault.at = 0;
			out.retried++;
			rc = write_one(st, i);
		}
		if (rc)
			fail_msg("%s %d: a batch failed for good: %d",
				 fault_words[fault.kind], fault.at, rc);
		out.stored++;
	}
	out.closed = store_close(st, 1700000001000000000, &err);
	expect_said(out.closed);
	return out;
}

/* What was half done is undone by the first who may write. */
static void undo_half_done(void)
{
	sqlite3 *db;

	if (access("a.db-journal", F_OK))
		return;
	assert_int_equal(sqlite3_open("a.db", &db), SQLITE_OK);
	t_ask_db(db, "SELECT count(*) FROM sqlite_schema");
	sqlite3_close(db);
	assert_int_not_equal(access("a.db-journal", F_OK), 0);
}

static void expect_whole(const struct outcome *out, int intervals)
{
	char want[16];

	undo_half_done();
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	snprintf(want, sizeof(want), "%d", intervals);
	t_expect("a.db", "SELECT count(*) FROM interval", want);
	t_expect("a.db",
		 "SELECT count(*) FROM interval i WHERE (SELECT sum(count) "
		 "FROM stack_count WHERE interval_id = i.id) <> 13",
		 "0");
	t_expect("a.db",
		 "SELECT (SELECT sum(count) FROM stack_count)"
		 " = (SELECT sum(count) FROM stack_total)",
		 "1");
	if (!out->closed)
		t_expect("a.db", "SELECT min(ended_ns > 0) FROM recording",
			 "1");
}

static void clear(void)
{
	static const char *const names[] = { "a.db",     "a.db-wal",
					     "a.db-shm", "a.db-journal",
					     "a.db.old", "a.db.lock" };
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(names[i]);
}

/* How often what went wrong, over all operations of a kind. */
struct sums {
	int tried, open, batch, close, none;
};

/* One recording in which what is set up fails. Returns whether it did. */
static bool fail_one(const struct fault *what, struct sums *sums)
{
	struct outcome out;

	clear();
	fault = *what;
	out = record(false);
	fault.at = 0;
	if (out.opened) {
		sums->open++;
		/* Whatever was left behind is in nobody's way. */
		out = record(false);
		assert_int_equal(out.opened, 0);
		assert_int_equal(out.closed, 0);
	}
	expect_whole(&out, BATCHES);
	if (!fault.failed)
		return false;
	sums->tried++;
	sums->batch += out.retried;
	sums->close += out.closed != 0;
	sums->none += !out.opened && !out.retried && !out.closed;
	/* And it can be recorded into. */
	out = record(true);
	assert_int_equal(out.opened, 0);
	expect_whole(&out, 2 * BATCHES);
	return true;
}

static void fail_each(struct fault what)
{
	bool all = getenv("FAULTS") && !strcmp(getenv("FAULTS"), "all");
	struct sums sums = { 0 };

	for (what.at = 1; fail_one(&what, &sums);
	     what.at += 1 + (all ? what.at / 512 : what.at))
		continue;
	print_message("# %s%s%s%s, code %d: %d tried; failed: %d at open, "
		      "%d batches, %d at close; %d did not matter\n",
		      fault_words[what.kind], what.stays ? " for good" : "",
		      what.is_short ? " half way" : "",
		      what.is_held ? " once open" : "", what.code, sums.tried,
		      sums.open, sums.batch, sums.close, sums.none);
	print_message("# figure: faults_store %d\n", sums.tried);
}

static void each_operation_on_the_disk_may_fail(void **state)
{
	(void)state;
	fail_each((struct fault){ FAULT_OPEN, .code = SQLITE_CANTOPEN });
	fail_each((struct fault){ FAULT_READ, .code = SQLITE_IOERR_READ });
	fail_each((struct fault){ FAULT_WRITE, .code = SQLITE_IOERR_WRITE });
	fail_each((struct fault){ FAULT_WRITE, .code = SQLITE_FULL,
				  .is_short = true });
	fail_each((struct fault){ FAULT_WRITE, .code = SQLITE_FULL,
				  .stays = true });
	fail_each((struct fault){ FAULT_TRUNCATE,
				  .code = SQLITE_IOERR_TRUNCATE });
	fail_each((struct fault){ FAULT_SYNC, .code = SQLITE_IOERR_FSYNC });
	fail_each((struct fault){ FAULT_LOCK, .code = SQLITE_IOERR_LOCK });
	fail_each((struct fault){ FAULT_SHM, .code = SQLITE_IOERR_SHMMAP });
	fail_each((struct fault){ FAULT_DELETE, .code = SQLITE_IOERR_DELETE });
}

static void what_is_open_may_fail_later(void **state)
{
	(void)state;
	fail_each((struct fault){ FAULT_READ, .code = SQLITE_IOERR_READ,
				  .is_held = true });
	fail_each((struct fault){ FAULT_WRITE, .code = SQLITE_IOERR_WRITE,
				  .is_held = true });
	fail_each((struct fault){ FAULT_WRITE, .code = SQLITE_FULL,
				  .stays = true, .is_held = true });
}

static void each_piece_of_memory_may_be_refused(void **state)
{
	(void)state;
	fail_each((struct fault){ FAULT_MEMORY, .code = SQLITE_NOMEM });
	fail_each((struct fault){ FAULT_MEMORY, .code = SQLITE_NOMEM,
				  .is_held = true });
	fail_each((struct fault){ FAULT_MEMORY, .code = SQLITE_NOMEM,
				  .stays = true, .is_held = true });
}

/* ---- letting go */

static const struct store_event timer[] = {
	{ .name = "timer", .unit = "ns", .requested_hz = 997 },
};
static const char *const kept[] = { "counted", "selected", "stored" };

enum {
	OLD = 12 /* intervals */
};

/* A file with intervals of a second each, that may all go. */
static void make_old(void)
{
	static const struct store_ledger ledger[] = {
		{ 0, 0, 13, 1300, true },
		{ 0, 1, 4, 406, true },
		{ 0, 2, 4, 406, true },
	};
	struct store_opts opts = t_opts("a.db");
	struct store *st;

	clear();
	opts.events = timer;
	opts.n_events = 1;
	opts.words.ledger_entry = kept;
	opts.words.n_ledger_entry = ARRAY_LEN(kept);
	if (store_open(&st, &opts, &err))
		fail_msg("store_open: %s", err.msg);
	for (uint64_t i = 0; i < OLD; i++) {
		t_fill(&b);
		b.count[1].event = 0;
		b.batch.ledger = ledger;
		b.batch.n_ledger = ARRAY_LEN(ledger);
		b.batch.interval.start_ns = i * 1000000000;
		b.batch.interval.end_ns = (i + 1) * 1000000000;
		t_write(st, &b);
	}
	t_close(st);
	if (system("cp a.db old.db"))
		fail_msg("cannot copy");
}

/* Steps until nothing is to be done; a step that fails is done again once the
 * disk is mended. Returns the first failure. */
static int let_go(bool *is_closed)
{
	/* Detail goes, then intervals become one, then its counts go. */
	struct store_keep keep = { 0, 0, STORE_KEEP_ALL, 40000000000, 0 };
	struct store_gone gone = { 0 };
	struct store *st;
	bool more = true;
	int rc, first;

	*is_closed = false;
	first = store_open_to_amend(&st, "a.db", &err);
	expect_said(first);
	if (first)
		return first;
	fault.is_held = false;
	while (more) {
		rc = store_tend(st, &keep, 62000000000, &gone, &more, &err);
		expect_said(rc);
		if (!rc)
			continue;
		if (!fault.at)
			fail_msg("%s: a step failed for good: %d",
				 fault_words[fault.kind], rc);
		fault.at = 0;
		first = rc;
		more = true;
	}
	rc = store_close(st, 0, &err);
	expect_said(rc);
	*is_closed = !rc;
	return first ? first : rc;
}

static void expect_nothing_lost(void)
{
	undo_half_done();
	t_expect("a.db", "PRAGMA integrity_check", "ok");
	t_expect("a.db",
		 "SELECT (SELECT total(count) FROM stack_count)"
		 " = (SELECT total(count) FROM stack_total),"
		 " (SELECT total(count) FROM stack_count) + (SELECT"
		 " total(count) FROM ledger WHERE entry = 'expired_counts'),"
		 " (SELECT sum(count) FROM ledger WHERE entry = 'counted'),"
		 " (SELECT count(*) FROM sample) + (SELECT total(count) FROM"
		 " ledger WHERE entry = 'expired'),"
		 " (SELECT count(*) FROM sample) - (SELECT total(count) FROM"
		 " ledger WHERE entry = 'stored')",
		 "1|156.0|156|48.0|0.0");
}

static void let_go_where_each_may_fail(struct fault what)
{
	bool all = getenv("FAULTS") && !strcmp(getenv("FAULTS"), "all");
	int tried = 0, failed = 0;
	bool is_closed;

	for (what.at = 1;; what.at += 1 + (all ? what.at / 512 : what.at / 2)) {
		clear();
		if (system("cp old.db a.db"))
			fail_msg("cannot copy");
		fault = what;
		failed += let_go(&is_closed) != 0;
		fault.at = 0;
		expect_nothing_lost();
		if (!fault.failed)
			break;
		tried++;
		if (!is_closed)
			assert_int_equal(let_go(&is_closed), 0);
		t_expect("a.db", "SELECT count(*) FROM sample", "0");
		expect_nothing_lost();
	}
	print_message("# letting go, %s%s: %d tried, %d failed\n",
		      fault_words[what.kind], what.stays ? " for good" : "",
		      tried, failed);
	print_message("# figure: faults_store %d\n", tried);
	assert_true(failed > 0);
}

static void each_operation_of_letting_go_may_fail(void **state)
{
	(void)state;
	make_old();
	let_go_where_each_may_fail(
		(struct fault){ FAULT_WRITE, .code = SQLITE_FULL });
	let_go_where_each_may_fail((struct fault){
		FAULT_WRITE, .code = SQLITE_FULL, .is_short = true,
		.stays = true, .is_held = true });
	let_go_where_each_may_fail(
		(struct fault){ FAULT_READ, .code = SQLITE_IOERR_READ });
	let_go_where_each_may_fail((struct fault){
		FAULT_MEMORY, .code = SQLITE_NOMEM, .is_held = true });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_operation_on_the_disk_may_fail, enter_place,
			leave_place),
		cmocka_unit_test_setup_teardown(what_is_open_may_fail_later,
						enter_place, leave_place),
		cmocka_unit_test_setup_teardown(
			each_piece_of_memory_may_be_refused, enter_place,
			leave_place),
		cmocka_unit_test_setup_teardown(
			each_operation_of_letting_go_may_fail, enter_place,
			leave_place),
	};

	if (fault_register())
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

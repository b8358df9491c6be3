/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the store share: a place of their own on disk, a small
 * batch, and questions to a file as any reader would ask them.
 */
#ifndef T_STORE_H
#define T_STORE_H

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store.h"

static char place[64]; /* directory of the test that runs */
static struct weft_err err;

static inline int enter_place(void **state)
{
	(void)state;
	memset(&err, 0, sizeof(err));
	strcpy(place, "/tmp/t_store.XXXXXX");
	return mkdtemp(place) ? chdir(place) : -1;
}

static inline int leave_place(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", place);
	return chdir("/") || system(command);
}

static const struct store_event t_events[] = {
	{ .name = "timer", .unit = "ns", .requested_hz = 997 },
	{ .name = "fault", .unit = "events" },
};
static const char *const t_entries[] = { "fired", "counted", "idle" };
static const char *const t_sources[] = { "none", "otel" };
static const char *const t_statuses[] = { "ok", "null", "zero" };
static const char *const t_ends[] = { "no_user", "root", "no_frame", "fault" };

static inline struct store_opts t_opts(const char *path)
{
	return (struct store_opts){
		.path = path,
		.recording = { .started_ns = 1700000000000000000,
			       .host = "host",
			       .kernel = "6.1",
			       .arch = "x86_64",
			       .boot_id = "boot",
			       .cpus = 2,
			       .detail_n = 10,
			       .interval_ns = 1000000000 },
		.events = t_events,
		.n_events = ARRAY_LEN(t_events),
		.words = { .ledger_entry = t_entries,
			   .n_ledger_entry = ARRAY_LEN(t_entries),
			   .context_source = t_sources,
			   .n_context_source = ARRAY_LEN(t_sources),
			   .context_status = t_statuses,
			   .n_context_status = ARRAY_LEN(t_statuses),
			   .walk_end = t_ends,
			   .n_walk_end = ARRAY_LEN(t_ends) },
	};
}

static inline struct store *t_open_with(const struct store_opts *opts)
{
	struct store *st;

	if (store_open(&st, opts, &err))
		fail_msg("store_open: %s", err.msg);
	return st;
}

static inline struct store *t_open(const char *path, bool append)
{
	struct store_opts opts = t_opts(path);

	opts.append = append;
	return t_open_with(&opts);
}

static inline void t_close(struct store *st)
{
	if (store_close(st, 1700000001000000000, &err))
		fail_msg("store_close: %s", err.msg);
}

/* A batch that a test may change before it is written. Its text: comm at 1,
 * path at 5, build ID at 12, identity at 17; the last name is not UTF-8. */
enum {
	COMM = 1,
	PATH = 5,
	BUILD_ID = 12,
	IDENTITY = 17,
	NOT_UTF8 = 22
};

struct t_batch {
	struct store_batch batch;
	struct store_cpu cpu[1];
	struct store_process process[2];
	struct store_thread thread[2];
	struct store_binary binary[2];
	struct store_frame frame[4];
	struct store_stack stack[3];
	uint32_t stack_frame[6];
	struct store_count count[3];
	struct store_sample sample[4];
	struct store_ledger ledger[3];
	struct store_frame_row row[4];
};

static inline void t_fill_samples(struct t_batch *b)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(b->sample); i++) {
		b->sample[i] = (struct store_sample){
			.time_ns = 5000 + 10 * i,
			.thread = i % 2,
			.stack = i % 3,
			.cpu = 1,
			.value = 100 + i,
			.weight = 10,
			.has_trace = i != 3,
			.trace_flags = 1,
			.context_source = 1,
		};
		memset(b->sample[i].trace_id, i == 2 ? 0xbb : 0xaa, 16);
		memset(b->sample[i].span_id, (int)i + 1, 8);
	}
}

/* Three stacks: two of equal frames and unlike status, one that found no
 * room. Counts 0 and 2 are of the same process, event and stack. */
static inline void t_fill(struct t_batch *b)
{
	static const char text[] = "\0cmd\0/bin/x\0abcd\0dev1\0\xff\xfe";

	*b = (struct t_batch){
		.cpu = { { 0, 1, 1003009, 997, 997, 0, false } },
		.process = { { .pid = 10, .start_ns = 1, .comm = COMM },
			     { .pid = 11, .start_ns = 2, .comm = NOT_UTF8 } },
		.thread = { { 0, 10, 1, COMM }, { 1, 12, 3, NOT_UTF8 } },
		.binary = { { STORE_ELF, PATH, BUILD_ID, 0 },
			    { STORE_UNKNOWN, 0, 0, IDENTITY } },
		.frame = { { 0, false, 0x10, 0 },
			   { 0, false, 0x20, 7 },
			   { 1, false, 0xffffffffff600000, 0 },
			   { 0, true, 0x10, 0 } },
		.stack = { { STORE_COMPLETE, 1, 0, 3 },
			   { STORE_BROKEN, 2, 3, 3 },
			   { STORE_LOST, 0, 0, 0 } },
		.stack_frame = { 0, 1, 2, 0, 1, 2 },
		.count = { { 0, 0, 0, 5, 500 },
			   { 1, 1, 1, 7, 700 },
			   { 0, 0, 0, 1, 100 } },
		.ledger = { { 0, 0, 13, 1300, true },
			    { 0, 2, 0, 0, true },
			    { 1, 1, 0, 0, false } },
	};
	t_fill_samples(b);
	b->batch = (struct store_batch){
		.interval = { .start_ns = 5000, .end_ns = 6000 },
		.text = text,
		.text_size = sizeof(text),
		.cpus = b->cpu,
		.n_cpus = ARRAY_LEN(b->cpu),
		.processes = b->process,
		.n_processes = ARRAY_LEN(b->process),
		.threads = b->thread,
		.n_threads = ARRAY_LEN(b->thread),
		.binaries = b->binary,
		.n_binaries = ARRAY_LEN(b->binary),
		.frames = b->frame,
		.n_frames = ARRAY_LEN(b->frame),
		.stacks = b->stack,
		.n_stacks = ARRAY_LEN(b->stack),
		.stack_frames = b->stack_frame,
		.n_stack_frames = ARRAY_LEN(b->stack_frame),
		.counts = b->count,
		.n_counts = ARRAY_LEN(b->count),
		.samples = b->sample,
		.n_samples = ARRAY_LEN(b->sample),
		.ledger = b->ledger,
		.n_ledger = ARRAY_LEN(b->ledger),
	};
}

static inline void t_write(struct store *st, struct t_batch *b)
{
	if (store_write(st, &b->batch, b->row, &err))
		fail_msg("store_write: %s", err.msg);
}

/* Run SQL on a database, as somebody else who has the file. */
static inline void t_change(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

/* A closed recording of one batch. */
static inline void t_make_recording(const char *path)
{
	static struct t_batch b;
	struct store *st = t_open(path, false);

	t_fill(&b);
	t_write(st, &b);
	t_close(st);
}

/* Ask a database for all rows as text: columns by '|', rows by newline. */
static inline const char *t_ask_db(sqlite3 *db, const char *sql)
{
	static char answer[4096];
	sqlite3_stmt *stmt;
	size_t n = 0;
	int i;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	answer[0] = '\0';
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		for (i = 0; i < sqlite3_column_count(stmt); i++) {
			const char *text =
				(const char *)sqlite3_column_text(stmt, i);

			n += (size_t)snprintf(answer + n, sizeof(answer) - n,
					      "%s%s",
					      i   ? "|"
					      : n ? "\n"
						  : "",
					      text ? text : "NULL");
			assert_true(n < sizeof(answer));
		}
	}
	if (sqlite3_finalize(stmt))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return answer;
}

/* The same of a file, opened as a reader does it. */
static inline const char *t_ask(const char *path, const char *sql)
{
	const char *answer;
	sqlite3 *db;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL))
		fail_msg("%s: %s", path, sqlite3_errmsg(db));
	sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	answer = t_ask_db(db, sql);
	sqlite3_close(db);
	return answer;
}

static inline void t_expect(const char *path, const char *sql,
			    const char *answer)
{
	const char *got = t_ask(path, sql);

	if (strcmp(got, answer))
		fail_msg("%s\ngot:\n%s\nexpected:\n%s", sql, got, answer);
}

/* The batch is refused so, and a.db has nothing of it or any other. */
static inline void t_expect_refused(struct store *st, struct t_batch *b,
				    const char *message)
{
	memset(&err, 0, sizeof(err));
	assert_int_equal(store_write(st, &b->batch, b->row, &err), -EINVAL);
	assert_string_equal(err.msg, message);
	t_expect("a.db", "SELECT count(*) FROM interval", "0");
}

#endif

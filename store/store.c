/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store/file.h"
#include "store/inside.h"
#include "store/schema.h"

enum {
	STEP = 1000 /* of SQLite's machine: some tens of rows */
};

int store_stmt(struct store *st, enum store_sql which, sqlite3_stmt **out,
	       struct weft_err *err)
{
	int rc;

	*out = NULL;
	if (!st->stmt[which]) {
		rc = sqlite3_prepare_v3(st->conn.db, store_sql_text[which], -1,
					SQLITE_PREPARE_PERSISTENT,
					&st->stmt[which], NULL);
		if (rc)
			return conn_fail(&st->conn, rc, "write to", err);
	}
	*out = st->stmt[which];
	return 0;
}

int store_run(struct store *st, sqlite3_stmt *stmt, struct weft_err *err)
{
	int rc = sqlite3_step(stmt);

	/* The message is gone after the reset. */
	rc = rc == SQLITE_DONE ? 0 : conn_fail(&st->conn, rc, "write to", err);
	sqlite3_reset(stmt);
	return rc;
}

int store_find(struct store *st, sqlite3_stmt *stmt, int64_t *out,
	       struct weft_err *err)
{
	int rc = sqlite3_step(stmt);

	*out = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		rc = 0;
	else
		rc = conn_fail(&st->conn, rc, "read", err);
	sqlite3_reset(stmt);
	return rc;
}

void bind_text(sqlite3_stmt *stmt, int column, const char *text,
	       store_text offset)
{
	if (offset)
		sqlite3_bind_text(stmt, column, text + offset, -1,
				  SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, column);
}

void bind_text_or_empty(sqlite3_stmt *stmt, int column, const char *text,
			store_text offset)
{
	sqlite3_bind_text(stmt, column, offset ? text + offset : "", -1,
			  SQLITE_STATIC);
}

void bind_if(sqlite3_stmt *stmt, int column, bool is_there, uint64_t value)
{
	if (is_there)
		sqlite3_bind_int64(stmt, column, (int64_t)value);
	else
		sqlite3_bind_null(stmt, column);
}

static int add_recording(struct store *st, const struct store_recording *r,
			 struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = store_stmt(st, STORE_SQL_RECORDING_ADD, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, (int64_t)r->started_ns);
	sqlite3_bind_text(stmt, 2, r->host, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 3, r->kernel, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 4, r->arch, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 5, r->cpus);
	sqlite3_bind_text(stmt, 6, WEFT_VERSION, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 7, r->command, -1, SQLITE_STATIC);
	sqlite3_bind_text(stmt, 8, r->boot_id, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 9, (int64_t)r->detail_n);
	sqlite3_bind_int64(stmt, 10, (int64_t)r->interval_ns);
	rc = store_run(st, stmt, err);
	sqlite3_clear_bindings(stmt);
	st->recording_id = sqlite3_last_insert_rowid(st->conn.db);
	return rc;
}

static int add_events(struct store *st, const struct store_event *events,
		      size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	st->timer_event = UINT32_MAX;
	rc = store_stmt(st, STORE_SQL_EVENT_ADD, &stmt, err);
	for (i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, st->recording_id);
		sqlite3_bind_text(stmt, 2, events[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, events[i].unit, -1, SQLITE_STATIC);
		if (events[i].requested_hz && st->timer_event == UINT32_MAX)
			st->timer_event = (uint32_t)i;
		if (events[i].requested_hz)
			sqlite3_bind_int64(stmt, 4,
					   (int64_t)events[i].requested_hz);
		else
			sqlite3_bind_null(stmt, 4);
		if (events[i].is_by_size)
			sqlite3_bind_int64(stmt, 5, (int64_t)events[i].tau_ns);
		else
			sqlite3_bind_null(stmt, 5);
		rc = store_run(st, stmt, err);
		if (i == 0)
			st->first_event_id =
				sqlite3_last_insert_rowid(st->conn.db);
	}
	st->n_events = n;
	return rc;
}

/* Words whose number is their place in the list. */
static int put_words(struct store *st, enum store_sql which,
		     const char *const *words, size_t n, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	rc = store_stmt(st, which, &stmt, err);
	for (i = 0; i < n && !rc; i++) {
		sqlite3_bind_int64(stmt, 1, (int64_t)i);
		sqlite3_bind_text(stmt, 2, words[i], -1, SQLITE_STATIC);
		rc = store_run(st, stmt, err);
	}
	return rc;
}

/* Another version may have had other entries: their rows keep their ids. */
static int put_ledger_entries(struct store *st, const struct store_words *words,
			      struct weft_err *err)
{
	sqlite3_stmt *add, *find;
	size_t i;
	int rc;

	st->n_ledger_entries = words->n_ledger_entry;
	st->ledger_entry_id =
		calloc(words->n_ledger_entry + 1, sizeof(*st->ledger_entry_id));
	if (!st->ledger_entry_id)
		return weft_fail(err, -ENOMEM,
				 "cannot write to '%s': no memory", st->path);
	rc = store_stmt(st, STORE_SQL_LEDGER_ENTRY_ADD, &add, err);
	if (!rc)
		rc = store_stmt(st, STORE_SQL_LEDGER_ENTRY_FIND, &find, err);
	for (i = 0; i < words->n_ledger_entry && !rc; i++) {
		sqlite3_bind_text(add, 1, words->ledger_entry[i], -1,
				  SQLITE_STATIC);
		rc = store_run(st, add, err);
		if (rc)
			break;
		sqlite3_bind_text(find, 1, words->ledger_entry[i], -1,
				  SQLITE_STATIC);
		rc = store_find(st, find, &st->ledger_entry_id[i], err);
	}
	return rc;
}

static int begin_recording(struct store *st, const struct store_opts *opts,
			   struct weft_err *err)
{
	const struct store_words *words = &opts->words;
	int rc;

	rc = conn_begin(&st->conn, err);
	if (rc)
		return rc;
	rc = add_recording(st, &opts->recording, err);
	if (!rc)
		rc = add_events(st, opts->events, opts->n_events, err);
	if (!rc)
		rc = metric_add(st, opts->metrics, opts->n_metrics, err);
	if (!rc)
		rc = put_ledger_entries(st, words, err);
	if (!rc)
		rc = put_words(st, STORE_SQL_CONTEXT_SOURCE_PUT,
			       words->context_source, words->n_context_source,
			       err);
	if (!rc)
		rc = put_words(st, STORE_SQL_CONTEXT_STATUS_PUT,
			       words->context_status, words->n_context_status,
			       err);
	if (!rc)
		rc = schema_make_views(&st->conn, true, err);
	if (!rc)
		rc = conn_commit(&st->conn, err);
	if (rc)
		conn_rollback(&st->conn);
	return rc;
}

static int on_steps(void *ctx)
{
	struct store *st = ctx;

	st->steps++;
	return 0;
}

/*
 * cache_size holds the inner pages of the indexes while the tail is sealed:
 * with 8 MiB that takes twice the CPU time. Foreign keys are the writer's own
 * doing, and checking them per row is dear.
 */
static int configure(struct store *st, struct weft_err *err)
{
	sqlite3_stmt *stmt = NULL;
	bool is_wal;
	int rc;

	sqlite3_progress_handler(st->conn.db, STEP, on_steps, st);
	rc = conn_exec(&st->conn,
		       "PRAGMA journal_mode = WAL;"
		       "PRAGMA synchronous = NORMAL;"
		       "PRAGMA wal_autocheckpoint = 0;"
		       "PRAGMA journal_size_limit = 16777216;"
		       "PRAGMA temp_store = MEMORY;"
		       "PRAGMA cache_size = -65536;"
		       "PRAGMA foreign_keys = OFF;",
		       err);
	if (rc || st->in_memory)
		return rc;
	rc = sqlite3_prepare_v2(st->conn.db, "PRAGMA journal_mode", -1, &stmt,
				NULL);
	if (!rc)
		rc = sqlite3_step(stmt);
	is_wal = rc == SQLITE_ROW &&
		 !strcmp((const char *)sqlite3_column_text(stmt, 0), "wal");
	sqlite3_finalize(stmt);
	if (is_wal)
		return 0;
	return weft_fail(err, -ENOTSUP,
			 "cannot record into '%s': its file system has no "
			 "shared memory (a network mount?): choose another "
			 "place",
			 st->path);
}

static void destroy(struct store *st)
{
	size_t i;

	for (i = 0; i < STORE_SQL_COUNT; i++)
		sqlite3_finalize(st->stmt[i]);
	conn_close(&st->conn);
	lock_close(st->lock);
	memory_release(&st->node);
	memory_release(&st->frame);
	memory_release(&st->trace);
	idmap_release(&st->stack);
	free(st->ledger_entry_id);
	free(st->metric_has_value);
	free(st->metric_has_extremes);
	retention_free(st->retention);
	free(st->path);
	free(st);
}

/* Lock and look after the file, then open it. */
static int attach(struct store *st, const struct store_opts *opts,
		  struct weft_err *err)
{
	bool is_new = true;
	int64_t version = 0;
	int rc;

	if (!st->in_memory) {
		rc = lock_open(&st->lock, st->path, err);
		if (rc)
			return rc;
		rc = file_prepare(st->path, opts->append, &is_new, err);
		if (rc)
			return rc;
	}
	rc = conn_open(&st->conn, st->path,
		       st->in_memory ? CONN_MEMORY : CONN_WRITE, err);
	if (rc)
		return rc;
	rc = configure(st, err);
	if (!rc)
		rc = conn_int(&st->conn, "PRAGMA user_version", &version, err);
	/* Again: what was in a journal is only there now. */
	if (!rc && !is_new && !st->in_memory)
		rc = schema_check(st->conn.db, st->path, (int)version, err);
	if (!rc)
		rc = conn_migrate(&st->conn, version, STORE_SCHEMA_VERSION,
				  err);
	if (!rc && st->is_amended)
		return intern_count(st, err);
	if (!rc && !is_new)
		rc = intern_load(st, err);
	return rc;
}

static int open_store(struct store **out, const struct store_opts *opts,
		      bool is_amended, struct weft_err *err)
{
	struct store *st;
	int rc;

	*out = NULL;
	st = calloc(1, sizeof(*st));
	if (!st)
		return weft_fail(err, -ENOMEM, "cannot open '%s': no memory",
				 opts->path);
	st->in_memory = opts->in_memory;
	st->is_amended = is_amended;
	st->walk_end = opts->words.walk_end;
	st->n_walk_ends = opts->words.n_walk_end;
	st->next_sample = 1;
	st->tail_limit = STORE_TAIL_ROWS;
	st->sweep_after = SWEEP_AFTER;
	memory_init(&st->node, MAX_NODES);
	memory_init(&st->frame, MAX_FRAMES);
	memory_init(&st->trace, MAX_TRACES);
	idmap_init(&st->stack);
	st->stack_ceiling = MAX_STACKS;
	if (st->in_memory) {
		st->path = strdup(":memory:");
		rc = st->path ? 0 : -ENOMEM;
	} else {
		struct weft_err local = { 0 };

		st->path = file_resolve(opts->path, &local);
		rc = local.code;
		if (rc)
			weft_fail(err, rc, "%s", local.msg);
	}
	if (!rc)
		rc = attach(st, opts, err);
	if (!rc && !is_amended)
		rc = begin_recording(st, opts, err);
	if (rc) {
		destroy(st);
		return rc;
	}
	*out = st;
	return 0;
}

int store_open(struct store **out, const struct store_opts *opts,
	       struct weft_err *err)
{
	return open_store(out, opts, false, err);
}

int store_open_to_amend(struct store **out, const char *path,
			struct weft_err *err)
{
	struct store_opts opts = { .path = path, .append = true };
	struct stat status;

	*out = NULL;
	/* One that is not there would be made. */
	if (stat(path, &status)) {
		int rc = -errno;

		return weft_fail(err, rc, "cannot open '%s': %s%s", path,
				 strerror(-rc),
				 rc == -ENOENT ? "; name a recording with "
						 "-i FILE"
					       : "");
	}
	return open_store(out, &opts, true, err);
}

static uint64_t size_of(const char *path, const char *suffix)
{
	char name[PATH_MAX];
	struct stat status;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return stat(name, &status) == 0 ? (uint64_t)status.st_size : 0;
}

uint64_t store_steps(const struct store *st)
{
	return st->steps;
}

uint64_t store_wal_bytes(const struct store *st)
{
	return st->in_memory ? 0 : size_of(st->path, "-wal");
}

uint64_t store_file_bytes(const struct store *st)
{
	return st->in_memory ? 0 : size_of(st->path, "") + store_wal_bytes(st);
}

/* Move the log into the file, as far as readers let it. */
int store_checkpoint_log(struct store *st, struct weft_err *err)
{
	int in_log = 0, moved = 0, rc;

	if (st->in_memory)
		return 0;
	rc = sqlite3_wal_checkpoint_v2(st->conn.db, "main",
				       SQLITE_CHECKPOINT_PASSIVE, &in_log,
				       &moved);
	if (rc && rc != SQLITE_BUSY)
		return conn_fail(&st->conn, rc, "checkpoint", err);
	if (rc || in_log <= 0 || moved < in_log)
		return 0;
	/* All is moved: give the log's space back, unless a reader that
	 * still looks at it would have to be waited for. */
	sqlite3_busy_timeout(st->conn.db, 0);
	rc = sqlite3_wal_checkpoint_v2(st->conn.db, "main",
				       SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	sqlite3_busy_timeout(st->conn.db, CONN_BUSY_TIMEOUT_MS);
	if (rc && (rc & 0xff) != SQLITE_BUSY)
		return conn_fail(&st->conn, rc, "checkpoint", err);
	return 0;
}

int store_checkpoint(struct store *st, struct weft_err *err)
{
	int rc, rc_log;

	rc = store_checkpoint_log(st, err);
	/* While a reader keeps the log from being emptied, sealing would
	 * only make it longer, perhaps past what the caller allows. */
	if (rc || st->tail_rows < st->tail_limit || store_wal_bytes(st))
		return rc;
	rc = seal_tail(st, err);
	rc_log = store_checkpoint_log(st, err);
	return rc ? rc : rc_log;
}

static int end_recording(struct store *st, uint64_t ended_ns,
			 struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc;

	rc = store_stmt(st, STORE_SQL_RECORDING_END, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, st->recording_id);
	sqlite3_bind_int64(stmt, 2, (int64_t)ended_ns);
	return store_run(st, stmt, err);
}

static int drop_unused_functions(struct store *st, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = store_stmt(st, STORE_SQL_FUNCTION_DROP_UNUSED, &stmt, err);

	return rc ? rc : store_run(st, stmt, err);
}

/* Leave WAL mode, unless a reader is in the way. */
static int leave_log(struct store *st, struct weft_err *err)
{
	size_t i;
	int rc;

	/* An open statement would keep the file in use. */
	for (i = 0; i < STORE_SQL_COUNT; i++) {
		sqlite3_finalize(st->stmt[i]);
		st->stmt[i] = NULL;
	}
	rc = store_checkpoint_log(st, err);
	if (rc)
		return rc;
	rc = conn_exec(&st->conn, "PRAGMA journal_mode = DELETE", NULL);
	if (!rc && st->is_to_compact)
		return conn_exec(&st->conn,
				 "PRAGMA auto_vacuum = INCREMENTAL; VACUUM",
				 err);
	if (!rc || rc == -EBUSY)
		return 0;
	/* A journal may be left, which who only reads could not undo. */
	weft_fail(err, rc, "cannot close '%s': %s", st->path,
		  sqlite3_errmsg(st->conn.db));
	conn_close(&st->conn);
	return file_recover(st->path, NULL) ? rc : 0;
}

static int finish(struct store *st, uint64_t ended_ns, struct weft_err *err)
{
	int rc = st->is_amended ? drop_unused_functions(st, err)
				: end_recording(st, ended_ns, err);

	if (!rc)
		rc = seal_tail(st, err);
	return rc ? rc : seal_finish(st, err);
}

int store_close(struct store *st, uint64_t ended_ns, struct weft_err *err)
{
	int rc, rc_leave;

	if (!st)
		return 0;
	/* Each step leaves a file that can be read: go as far as it goes. */
	rc = st->is_trial ? 0 : finish(st, ended_ns, err);
	conn_rollback(&st->conn); /* of a trial */
	rc_leave = st->in_memory ? 0 : leave_log(st, err);
	destroy(st);
	return rc ? rc : rc_leave;
}

void store_abandon(struct store *st)
{
	if (st)
		destroy(st);
}

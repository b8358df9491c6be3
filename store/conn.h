/* SPDX-License-Identifier: MIT */
/*
 * A SQLite connection as the store uses it: opening, errors in our terms, and
 * the few statements that have no name (BEGIN, PRAGMA, whole scripts).
 */
#ifndef WEFT_CONN_H
#define WEFT_CONN_H

#include <sqlite3.h>

#include "store/weft.h"

struct conn {
	sqlite3 *db;      /* owned */
	const char *path; /* borrowed; for messages */
};

/* How long a busy file is waited for. */
enum {
	CONN_BUSY_TIMEOUT_MS = 2000
};

enum conn_flags {
	CONN_WRITE = 1 << 0,     /* else nothing of the file is changed */
	CONN_IMMUTABLE = 1 << 1, /* no log beside it: do not look for one */
	CONN_MEMORY = 1 << 2,    /* no file, path only names it */
};

/* Open the file at path, which is there. On failure conn is closed. */
int conn_open(struct conn *conn, const char *path, unsigned flags,
	      struct weft_err *err) MUST_CHECK;

/* A write-ahead log stays as it is. Accepts a closed conn. */
void conn_close(struct conn *conn);

/*
 * Turn the result code rc of SQLite into a negative errno, never 0, with a
 * message from the connection. verb completes "cannot ... 'FILE'".
 */
int conn_fail(const struct conn *conn, int rc, const char *verb,
	      struct weft_err *err);

/* Run statements that return no rows anyone needs. */
int conn_exec(const struct conn *conn, const char *sql,
	      struct weft_err *err) MUST_CHECK;

/* The first column of the first row, as a number; no row: 0. */
int conn_int(const struct conn *conn, const char *sql, int64_t *out,
	     struct weft_err *err) MUST_CHECK;

int conn_begin(const struct conn *conn, struct weft_err *err) MUST_CHECK;
int conn_commit(const struct conn *conn, struct weft_err *err) MUST_CHECK;

/* End a transaction that failed; does nothing outside of one. */
void conn_rollback(const struct conn *conn);

/* Run the migrations after schema version from, up to version to. */
int conn_migrate(const struct conn *conn, int64_t from, int64_t to,
		 struct weft_err *err) MUST_CHECK;

#endif

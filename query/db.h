/* SPDX-License-Identifier: MIT */
/*
 * A recording file, opened to be read and never written: read-only, no
 * checkpoints. Its tables must be made as ours are, else it is refused; views
 * that are not ours are not used, and texts have a limit. What an older schema
 * lacks is NULL. One snapshot lasts from
 * db_open() to db_release(), so that a report adds up while weft-record goes
 * on writing. One thread.
 */
#ifndef WEFT_DB_H
#define WEFT_DB_H

#include <stddef.h>

#include "gen/query_sql.h"
#include "store/weft.h"

struct sqlite3;
struct sqlite3_stmt;
struct db;

/*
 * Open db_choose(path).
 *
 * Returns 0 with *out owned by the caller, or with err filled and *out NULL:
 * -EACCES, -ENOENT and what else the system said; -EINVAL not a weft file;
 * -ENOTSUP written by a newer weft; -EPROTO damaged.
 */
int db_open(struct db **out, const char *path, struct weft_err *err) MUST_CHECK;

/* Show on a terminal that reading goes on, until db_release() or db_close():
 * for who prints nothing before. Statements fail where they take out of all
 * proportion to the file. */
void db_show_progress(struct db *db);

/* Is there an SQLite file of that name, of weft or not? */
bool db_is_there(const char *path);

/* path, or if that is NULL $WEFT_DB, else "weft.db"; borrowed. */
const char *db_choose(const char *path);

/* End the snapshot: what was read is now in memory and may be printed,
 * however slowly, without holding up the writer's log. */
void db_release(struct db *db);

void db_close(struct db *db);

/* Borrow a statement, reset and without bindings, until it is asked for again
 * or the file is closed. */
int db_query(struct db *db, enum query_sql id, struct sqlite3_stmt **out,
	     struct weft_err *err) MUST_CHECK;

/* 1: there is a row; 0: no more; negative errno with err filled. */
int db_step(struct db *db, struct sqlite3_stmt *stmt,
	    struct weft_err *err) MUST_CHECK;

/* The number that a statement gives, which is not negative; 0 where it gives
 * nothing. It is reset. Else a negative errno. */
int64_t db_ask(struct db *db, struct sqlite3_stmt *stmt,
	       struct weft_err *err) MUST_CHECK;

/* Copy a column's text, cut to size; "" where it is NULL. */
void db_copy_text(struct sqlite3_stmt *stmt, int column, char *out,
		  size_t size);

/* The same of a word that weft itself writes: a to z, 0 to 9, _ and -. What
 * else a file may have there reads '?'. */
void db_copy_word(struct sqlite3_stmt *stmt, int column, char *out,
		  size_t size);

/* A text, "" where it is none; until the next step. */
const char *db_text(struct sqlite3_stmt *stmt, int column);

/* A time, or a length of time: what no clock tells (damage) is brought between
 * 0 and 146 years, so that neither a difference nor a sum of two overflows. */
int64_t db_time(struct sqlite3_stmt *stmt, int column);

/*
 * A weight, or what such add up to: what is none (damage) reads 0. So that
 * their products and squares are numbers they are below 1e36, which a float can
 * hold, and above 1e-36.
 */
double db_weight(struct sqlite3_stmt *stmt, int column);
double db_weight_or_0(double weight);

/* Fill err with what SQLite last said about this file. */
int db_fail(struct db *db, const char *doing, struct weft_err *err);

/* Let statements make temporary tables and views of this connection, or no
 * longer. The file itself is never written. */
int db_allow_own(struct db *db, bool allow, struct weft_err *err) MUST_CHECK;

/* From now on let sorting that outgrows the page cache go to a temporary file
 * rather than to memory. Before the first temporary table or view. */
void db_sort_on_disk(struct db *db);

const char *db_path(const struct db *db);

/* For queries that a person typed; still owned by db. */
struct sqlite3 *db_handle(struct db *db);

#endif

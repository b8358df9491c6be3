/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query/db.h"
#include "query/progress.h"
#include "store/schema.h"
#include "store/store.h"

enum {
	BUSY_MS = 2000,
	/* What a crafted file must not exceed; honest ones keep far below. */
	VALUE_BYTES_MAX = 64 << 20, /* of a text, or a row */
	LONGEST_S = 30,             /* CPU time of a report, */
	LONGEST_S_PER_MIB = 10,     /* and for each MiB of the file */
	/* Of the file's pages in memory; of SQLite's sizes for one: what a file
	 * of ours has. */
	CACHE_BYTES = 8 << 20,
	PAGE_BYTES = 4096,
	HUGE_BYTES = 2 << 20,
};

static const double WEIGHT_LEAST = 1e-36, WEIGHT_MAX = 1e36;

struct db {
	sqlite3 *sql;                        /* owned */
	char *path;                          /* owned */
	sqlite3_stmt *stmt[QUERY_SQL_COUNT]; /* owned, NULL until first use */
	struct progress progress;
};

/* SQLite's result as one of our codes; never 0. */
static int to_errno(int result)
{
	switch (result & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EPROTO;
	case SQLITE_CANTOPEN:
		return -ENOENT;
	case SQLITE_INTERRUPT:
		return -EINTR;
	default:
		return -EIO;
	}
}

const char *db_text(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? text : "";
}

void db_copy_text(sqlite3_stmt *stmt, int column, char *out, size_t size)
{
	snprintf(out, size, "%s", db_text(stmt, column));
}

void db_copy_word(sqlite3_stmt *stmt, int column, char *out, size_t size)
{
	db_copy_text(stmt, column, out, size);
	for (; *out; out++)
		if (!(*out >= 'a' && *out <= 'z') &&
		    !(*out >= '0' && *out <= '9') && *out != '_' && *out != '-')
			*out = '?';
}

int64_t db_time(sqlite3_stmt *stmt, int column)
{
	const int64_t most = INT64_MAX / 2;
	int64_t ns = sqlite3_column_int64(stmt, column);

	return ns < 0 ? 0 : ns < most ? ns : most;
}

double db_weight(sqlite3_stmt *stmt, int column)
{
	return db_weight_or_0(sqlite3_column_double(stmt, column));
}

double db_weight_or_0(double weight)
{
	return weight >= WEIGHT_LEAST && weight <= WEIGHT_MAX ? weight : 0;
}

int db_fail(struct db *db, const char *doing, struct weft_err *err)
{
	int code = to_errno(sqlite3_extended_errcode(db->sql));

	if (db->progress.gave_up)
		return weft_fail(err, -EPROTO,
				 "cannot %s '%s': that takes far longer than a "
				 "file of its size should; it is damaged, or "
				 "was made to mislead",
				 doing, db->path);
	if (sqlite3_extended_errcode(db->sql) == SQLITE_READONLY_ROLLBACK)
		return weft_fail(err, code,
				 "cannot %s '%s': its writer left a change "
				 "unfinished ('%s-journal'); `weft gc %s` "
				 "undoes it, for who may write the file",
				 doing, db->path, db->path, db->path);
	if (code == -EPROTO)
		return weft_fail(err, code,
				 "cannot %s '%s': the file is damaged (%s); "
				 "`sqlite3 FILE .recover` may save a part",
				 doing, db->path, sqlite3_errmsg(db->sql));
	return weft_fail(err, code, "cannot %s '%s': %s", doing, db->path,
			 sqlite3_errmsg(db->sql));
}

/* Open a file to look at it. O_NONBLOCK: a FIFO of that name must not hang us.
 */
static int open_any(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool begins_as_sqlite(int fd)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)];

	return pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	       !memcmp(head, magic, sizeof(magic));
}

bool db_is_there(const char *path)
{
	bool is_there = false;
	struct stat st;
	int fd;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	fd = open_any(path);
	if (fd >= 0) {
		is_there = begins_as_sqlite(fd);
		close(fd);
	}
	return is_there;
}

/* What the file itself says, before SQLite is let near it. */
static int check_file(const char *path, struct weft_err *err)
{
	struct stat st;
	int code, fd;
	bool is_sqlite;

	fd = open_any(path);
	if (fd < 0) {
		code = -errno;
		return weft_fail(err, code, "cannot open '%s': %s%s", path,
				 strerror(-code),
				 code == -ENOENT ? "; record one with `weft "
						   "record`, or name one with "
						   "-i FILE"
						 : "");
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return weft_fail(err, -EINVAL,
				 "cannot open '%s': not a regular file", path);
	}
	is_sqlite = begins_as_sqlite(fd);
	close(fd);
	if (!is_sqlite)
		return weft_fail(err, -EINVAL,
				 "cannot open '%s': not a weft recording (not "
				 "an SQLite file)",
				 path);
	return 0;
}

/* path as a URI: file:PATH?mode=ro, with what is special escaped. */
static char *to_uri(const char *path, bool immutable)
{
	size_t size = 3 * strlen(path) + 64;
	char *uri = malloc(size);
	size_t n;

	if (!uri)
		return NULL;
	n = (size_t)snprintf(uri, size, "file:");
	for (; *path; path++)
		if (strchr("%?#", *path))
			n += (size_t)snprintf(uri + n, size - n, "%%%02x",
					      (unsigned char)*path);
		else
			uri[n++] = *path;
	snprintf(uri + n, size - n, "?mode=ro%s",
		 immutable ? "&immutable=1" : "");
	return uri;
}

static int run(struct db *db, const char *text, struct weft_err *err)
{
	if (sqlite3_exec(db->sql, text, NULL, NULL, NULL))
		return db_fail(db, "read", err);
	return 0;
}

/*
 * Memory for pages of the file, in few large pages of the machine where it has
 * them: each small one costs a fault, as much as reading a page. Without it
 * SQLite takes what it needs elsewhere.
 */
static void make_cache(void)
{
	int header = 0, slot;
	char *mapped, *cache;

	/* SQLite touches all of it at once. */
	mapped = mmap(NULL, CACHE_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mapped == MAP_FAILED)
		return;
	cache = (char *)(((uintptr_t)mapped + HUGE_BYTES - 1) &
			 ~(uintptr_t)(HUGE_BYTES - 1));
	(void)madvise(cache, CACHE_BYTES, MADV_HUGEPAGE);
	(void)sqlite3_config(SQLITE_CONFIG_PCACHE_HDRSZ, &header);
	slot = (PAGE_BYTES + header + 7) & ~7;
	(void)sqlite3_config(SQLITE_CONFIG_PAGECACHE, cache, slot,
			     CACHE_BYTES / slot);
}

/* Open the connection and take the snapshot: the first real read. */
static int attach(struct db *db, bool immutable, struct weft_err *err)
{
	const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
	struct stat st;
	char *uri = to_uri(db->path, immutable);
	int result;

	if (!uri)
		return weft_fail(err, -ENOMEM, "out of memory");
	/* There is one thread: no locks for each row and each allocation. Not
	 * for the second file, but then it is so already. */
	(void)sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	if (!sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) &&
	    !stat(db->path, &st) && st.st_size >= CACHE_BYTES)
		make_cache();
	result = sqlite3_open_v2(uri, &db->sql, flags, NULL);
	free(uri);
	if (result)
		return db_fail(db, "open", err);
	sqlite3_busy_timeout(db->sql, BUSY_MS);
	sqlite3_extended_result_codes(db->sql, 1);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->sql, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_wal_autocheckpoint(db->sql, 0);
	sqlite3_limit(db->sql, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db->sql, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
	/* Not mapped: its owner can cut it. */
	return run(db,
		   "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0; "
		   "PRAGMA query_only = 1; BEGIN; "
		   "SELECT count(*) FROM sqlite_schema",
		   err);
}

/* Is nothing waiting in that file beside it? */
static bool is_nothing_in(const struct db *db, const char *ending)
{
	size_t size = strlen(db->path) + strlen(ending) + 1;
	char *beside = malloc(size);
	struct stat st;
	bool nothing;

	if (!beside)
		return false;
	snprintf(beside, size, "%s%s", db->path, ending);
	nothing = stat(beside, &st) || st.st_size == 0;
	free(beside);
	return nothing;
}

/*
 * A file left in WAL mode in a place where no -shm file can be made: it can
 * still be read as it is, if no log is waiting beside it, and no journal of a
 * change that is half done.
 */
static bool may_be_immutable(const struct db *db)
{
	return is_nothing_in(db, "-wal") && is_nothing_in(db, "-journal");
}

static int read_pragma(struct db *db, const char *text, int *out,
		       struct weft_err *err)
{
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(db->sql, text, -1, &stmt, NULL))
		return db_fail(db, "read", err);
	if (sqlite3_step(stmt) != SQLITE_ROW) {
		sqlite3_finalize(stmt);
		return db_fail(db, "read", err);
	}
	*out = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return 0;
}

static int check_version(struct db *db, int *out, struct weft_err *err)
{
	int id, version, rc;

	rc = read_pragma(db, "PRAGMA application_id", &id, err);
	if (rc)
		return rc;
	rc = read_pragma(db, "PRAGMA user_version", &version, err);
	if (rc)
		return rc;
	if (id != STORE_APPLICATION_ID)
		return weft_fail(err, -EINVAL,
				 "cannot open '%s': an SQLite file, but not a "
				 "weft recording",
				 db->path);
	if (version > STORE_SCHEMA_VERSION)
		return weft_fail(err, -ENOTSUP,
				 "cannot open '%s': its schema %d is newer "
				 "than this weft's (%d); use the weft that "
				 "recorded it, or a newer one",
				 db->path, version, STORE_SCHEMA_VERSION);
	if (version < 1)
		return weft_fail(err, -EPROTO,
				 "cannot open '%s': it has no schema; the "
				 "recording did not get as far as its first "
				 "interval",
				 db->path);
	*out = version;
	return 0;
}

int db_allow_own(struct db *db, bool allow, struct weft_err *err)
{
	return run(db,
		   allow ? "PRAGMA query_only = 0" : "PRAGMA query_only = 1",
		   err);
}

void db_sort_on_disk(struct db *db)
{
	/* Refused where there are temporary views already (an older schema):
	 * then memory has to do. */
	sqlite3_exec(db->sql, "PRAGMA temp_store = FILE", NULL, NULL, NULL);
}

/* Make a file of an older schema, or with other views, read like one of ours,
 * for this connection only. */
static int adapt(struct db *db, int version, struct weft_err *err)
{
	static const struct {
		int first, last; /* schemas that lack it so */
		enum query_sql id;
	} steps[] = {
		{ 1, 1, QUERY_SQL_DB_SCHEMA_1 },
		{ 1, 3, QUERY_SQL_DB_SCHEMA_3_PROCESS },
		{ 1, 3, QUERY_SQL_DB_SCHEMA_3_SHAPE },
		{ 1, 3, QUERY_SQL_DB_SCHEMA_3_COUNT },
		{ 1, 3, QUERY_SQL_DB_SCHEMA_3_TOTAL },
		{ 1, 4, QUERY_SQL_DB_SCHEMA_4 },
		{ 2, 8, QUERY_SQL_DB_SCHEMA_8 },
		{ 5, 9, QUERY_SQL_DB_SCHEMA_9 },
		{ 1, 9, QUERY_SQL_DB_SCHEMA_9_CPU },
		{ 1, 9, QUERY_SQL_DB_SCHEMA_9_SUM },
	};
	size_t i;
	int rc;

	rc = db_allow_own(db, true, err);
	for (i = 0; !rc && i < ARRAY_LEN(steps); i++)
		if (version >= steps[i].first && version <= steps[i].last)
			rc = run(db, query_sql_text[steps[i].id], err);
	if (!rc)
		rc = schema_use_own_views(db->sql, db->path, err);
	if (!rc)
		rc = db_allow_own(db, false, err);
	return rc;
}

const char *db_choose(const char *path)
{
	if (!path)
		path = getenv("WEFT_DB");
	return path && *path ? path : "weft.db";
}

int db_open(struct db **out, const char *path, struct weft_err *err)
{
	struct weft_err first = { 0 };
	struct db *db;
	int version = 0, rc;

	*out = NULL;
	path = db_choose(path);
	rc = check_file(path, err);
	if (rc)
		return rc;
	db = calloc(1, sizeof(*db));
	if (!db)
		return weft_fail(err, -ENOMEM, "out of memory");
	db->path = strdup(path);
	if (!db->path) {
		rc = weft_fail(err, -ENOMEM, "out of memory");
		goto fail;
	}
	rc = attach(db, false, &first);
	if (rc && rc != -EPROTO && may_be_immutable(db)) {
		sqlite3_close(db->sql);
		db->sql = NULL;
		rc = attach(db, true, &first);
	}
	if (rc) {
		rc = weft_fail(err, first.code, "%s", first.msg);
		goto fail;
	}
	sqlite3_exec(db->sql,
		     "PRAGMA cache_size = -7680; PRAGMA temp_store = MEMORY",
		     NULL, NULL, NULL);
	rc = check_version(db, &version, err);
	if (!rc)
		rc = schema_check(db->sql, db->path, version, err);
	if (!rc)
		rc = adapt(db, version, err);
	if (rc)
		goto fail;
	*out = db;
	return 0;
fail:
	db_close(db);
	return rc;
}

void db_show_progress(struct db *db)
{
	struct stat st = { 0 };

	(void)stat(db->path, &st);
	progress_begin(&db->progress, db->sql, db->path,
		       LONGEST_S + LONGEST_S_PER_MIB * (double)st.st_size /
					   (1 << 20));
}

void db_release(struct db *db)
{
	size_t i;

	progress_end(&db->progress, db->sql);
	for (i = 0; i < QUERY_SQL_COUNT; i++)
		sqlite3_reset(db->stmt[i]);
	sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
}

void db_close(struct db *db)
{
	size_t i;

	if (!db)
		return;
	progress_end(&db->progress, db->sql);
	for (i = 0; i < QUERY_SQL_COUNT; i++)
		sqlite3_finalize(db->stmt[i]);
	sqlite3_close(db->sql);
	free(db->path);
	free(db);
}

int db_query(struct db *db, enum query_sql id, sqlite3_stmt **out,
	     struct weft_err *err)
{
	*out = NULL;
	if (!db->stmt[id] &&
	    sqlite3_prepare_v3(db->sql, query_sql_text[id], -1,
			       SQLITE_PREPARE_PERSISTENT, &db->stmt[id], NULL))
		return db_fail(db, "read", err);
	sqlite3_reset(db->stmt[id]);
	sqlite3_clear_bindings(db->stmt[id]);
	*out = db->stmt[id];
	return 0;
}

int db_step(struct db *db, sqlite3_stmt *stmt, struct weft_err *err)
{
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return db_fail(db, "read", err);
	}
}

int64_t db_ask(struct db *db, sqlite3_stmt *stmt, struct weft_err *err)
{
	int64_t answer = db_step(db, stmt, err);

	if (answer > 0)
		answer = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return answer;
}

const char *db_path(const struct db *db)
{
	return db->path;
}

sqlite3 *db_handle(struct db *db)
{
	return db->sql;
}

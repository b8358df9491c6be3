/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen/store_sql.h"
#include "store/conn.h"
#include "store/store.h"

_Static_assert((int)STORE_MIGRATIONS == STORE_SCHEMA_VERSION,
	       "each migration raises the schema version");

static int to_errno(const struct conn *conn, int rc)
{
	int now = errno;
	int system = conn->db ? sqlite3_system_errno(conn->db) : 0;

	/* A commit that fails does not record it. */
	if (!system)
		system = now;
	switch (rc & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_IOERR:
		/* A quota or a file size limit is a full disk to us. */
		if (system == EDQUOT || system == EFBIG || system == ENOSPC)
			return -ENOSPC;
		return -EIO;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EPROTO;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return system > 0 ? -system : -EACCES;
	default:
		return -EINVAL;
	}
}

int conn_fail(const struct conn *conn, int rc, const char *verb,
	      struct weft_err *err)
{
	int code = to_errno(conn, rc);
	const char *text =
		conn->db ? sqlite3_errmsg(conn->db) : sqlite3_errstr(rc);

	if (code == -ENOSPC)
		return weft_fail(err, code,
				 "cannot %s '%s': no space left for it", verb,
				 conn->path);
	if (code == -EBUSY)
		return weft_fail(err, code,
				 "cannot %s '%s': another program keeps it "
				 "locked",
				 verb, conn->path);
	if (code == -EPROTO)
		return weft_fail(err, code, "cannot %s '%s': it is damaged: %s",
				 verb, conn->path, text);
	return weft_fail(err, code, "cannot %s '%s': %s", verb, conn->path,
			 text);
}

/* "file:PATH?immutable=1", with what is special in a URI escaped. */
static char *immutable_uri(const char *path)
{
	static const char end[] = "?immutable=1";
	size_t room = sizeof("file:") + 3 * strlen(path) + sizeof(end);
	char *uri = malloc(room);
	size_t n;

	if (!uri)
		return NULL;
	n = (size_t)snprintf(uri, room, "file:");
	for (; *path; path++) {
		if (strchr("%?#", *path))
			n += (size_t)snprintf(uri + n, room - n, "%%%02x",
					      (unsigned char)*path);
		else
			uri[n++] = *path;
	}
	memcpy(uri + n, end, sizeof(end));
	return uri;
}

int conn_open(struct conn *conn, const char *path, unsigned flags,
	      struct weft_err *err)
{
	/* One thread at a time uses a store: no mutexes needed. */
	int open_flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
			 SQLITE_OPEN_PRIVATECACHE;
	char *uri = NULL;
	int rc;

	conn->db = NULL;
	conn->path = path;
	if (flags & CONN_MEMORY)
		open_flags |= SQLITE_OPEN_MEMORY | SQLITE_OPEN_READWRITE;
	else
		open_flags |= SQLITE_OPEN_NOFOLLOW |
			      (flags & CONN_WRITE ? SQLITE_OPEN_READWRITE
						  : SQLITE_OPEN_READONLY);
	if (flags & CONN_IMMUTABLE) {
		open_flags |= SQLITE_OPEN_URI;
		uri = immutable_uri(path);
		if (!uri)
			return weft_fail(err, -ENOMEM,
					 "cannot open '%s': no memory", path);
	}
	rc = sqlite3_open_v2(uri ? uri : path, &conn->db, open_flags, NULL);
	free(uri);
	if (rc) {
		rc = conn_fail(conn, rc, "open", err);
		conn_close(conn);
		return rc;
	}
	sqlite3_busy_timeout(conn->db, CONN_BUSY_TIMEOUT_MS);
	sqlite3_db_config(conn->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_db_config(conn->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(conn->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	/* We make none: one would be somebody else's, run with our rights. */
	sqlite3_db_config(conn->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	return 0;
}

void conn_close(struct conn *conn)
{
	sqlite3_close_v2(conn->db);
	conn->db = NULL;
}

int conn_exec(const struct conn *conn, const char *sql, struct weft_err *err)
{
	int rc = sqlite3_exec(conn->db, sql, NULL, NULL, NULL);

	return rc ? conn_fail(conn, rc, "write to", err) : 0;
}

int conn_int(const struct conn *conn, const char *sql, int64_t *out,
	     struct weft_err *err)
{
	sqlite3_stmt *stmt = NULL;
	int rc;

	*out = 0;
	rc = sqlite3_prepare_v2(conn->db, sql, -1, &stmt, NULL);
	if (rc)
		return conn_fail(conn, rc, "read", err);
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		*out = sqlite3_column_int64(stmt, 0);
		rc = SQLITE_DONE;
	}
	rc = rc == SQLITE_DONE ? 0 : conn_fail(conn, rc, "read", err);
	sqlite3_finalize(stmt);
	return rc;
}

void conn_rollback(const struct conn *conn)
{
	/* SQLite itself rolls back after some failures. */
	if (conn->db && !sqlite3_get_autocommit(conn->db))
		(void)sqlite3_exec(conn->db, "ROLLBACK", NULL, NULL, NULL);
}

int conn_begin(const struct conn *conn, struct weft_err *err)
{
	/* Where memory was short, the last one may still be there. */
	conn_rollback(conn);
	return conn_exec(conn, "BEGIN IMMEDIATE", err);
}

int conn_commit(const struct conn *conn, struct weft_err *err)
{
	return conn_exec(conn, "COMMIT", err);
}

static int migrate_one(const struct conn *conn, int64_t version,
		       struct weft_err *err)
{
	char set_version[64];
	int rc;

	snprintf(set_version, sizeof(set_version), "PRAGMA user_version = %d",
		 (int)version);
	rc = conn_begin(conn, err);
	if (rc)
		return rc;
	rc = conn_exec(conn, store_migration_text[version - 1], err);
	if (!rc)
		rc = conn_exec(conn, set_version, err);
	if (!rc)
		rc = conn_commit(conn, err);
	if (rc)
		conn_rollback(conn);
	return rc;
}

int conn_migrate(const struct conn *conn, int64_t from, int64_t to,
		 struct weft_err *err)
{
	int rc = 0;

	while (!rc && from < to)
		rc = migrate_one(conn, ++from, err);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * A new file is built complete under the name PATH.new and then renamed, so
 * that whatever happens, PATH is a whole weft file, the older one, or absent.
 *
 * An older file that its writer left behind (SIGKILL) may keep its newest
 * rows in a write-ahead log. Its name decides where SQLite looks for that
 * log, so it is taken in before the file is renamed; where a reader prevents
 * that, log and index move along with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/conn.h"
#include "store/file.h"
#include "store/owner.h"
#include "store/schema.h"
#include "store/store.h"

/* Names that SQLite puts beside a database. */
static const char *const suffixes[] = { "-wal", "-shm", "-journal" };

enum {
	WAL,
	SHM,
	JOURNAL
};

/* Where the facts stand in the first page: sqlite.org/fileformat.html. */
enum {
	HEADER_SIZE = 100,
	AT_PAGE_SIZE = 16,
	AT_CHANGE_COUNTER = 24,
	AT_PAGES = 28,
	AT_USER_VERSION = 60,
	AT_APPLICATION_ID = 68,
	AT_VALID_FOR = 92,
};

static uint32_t read_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

char *file_resolve(const char *path, struct weft_err *err)
{
	char *copy = NULL, *directory = NULL, *resolved = NULL;
	struct stat st;

	if (owner_check_way(path, err))
		return NULL;
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		if (owner_is_public_place(path)) {
			weft_fail(err, -EEXIST,
				  "'%s' is a symbolic link in a directory that "
				  "others may write to: name the file that it "
				  "leads to",
				  path);
			return NULL;
		}
		resolved = realpath(path, NULL);
		if (!resolved)
			weft_fail(err, -errno,
				  "cannot follow the symbolic link '%s': %s",
				  path, strerror(errno));
		return resolved;
	}
	copy = strdup(path);
	if (!copy)
		goto out;
	directory = realpath(dirname(copy), NULL);
	if (!directory) {
		weft_fail(err, -errno,
			  errno == ENOENT
				  ? "cannot write to '%s': directory '%s' does "
				    "not exist"
				  : "cannot write to '%s': cannot enter '%s'",
			  path, copy);
		goto out;
	}
	free(copy);
	copy = strdup(path);
	if (!copy)
		goto out;
	if (asprintf(&resolved, "%s/%s",
		     strcmp(directory, "/") ? directory : "",
		     basename(copy)) < 0)
		resolved = NULL;
out:
	free(copy);
	free(directory);
	if (!resolved)
		weft_fail(err, -ENOMEM, "cannot open '%s': no memory", path);
	return resolved;
}

/* PATH with a suffix; fails for lack of memory only by cutting short. */
static const char *beside(char buf[PATH_MAX], const char *path, const char *old,
			  const char *suffix)
{
	snprintf(buf, PATH_MAX, "%s%s%s", path, old, suffix);
	return buf;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_size : 0;
}

static int fail_foreign(const char *path, struct weft_err *err)
{
	return weft_fail(err, -EEXIST,
			 "'%s' is not a weft file: move it away, or choose "
			 "another name",
			 path);
}

static int fail_damaged(const char *path, const char *how, struct weft_err *err)
{
	return weft_fail(err, -EPROTO,
			 "'%s' is damaged (%s): move it away, or choose "
			 "another name",
			 path, how);
}

static int fail_newer(const char *path, int64_t version, struct weft_err *err)
{
	return weft_fail(err, -ENOTSUP,
			 "'%s' has schema %lld, newer than this weft's (%d): "
			 "use a newer weft, or choose another name",
			 path, (long long)version, STORE_SCHEMA_VERSION);
}

/* Judge the first bytes of the file at path, which has size bytes. */
static int check_header(const char *path, const unsigned char *header,
			off_t size, struct weft_err *err)
{
	char name[PATH_MAX];
	uint32_t page_size, version;

	if (memcmp(header, "SQLite format 3", 16) ||
	    read_u32(header + AT_APPLICATION_ID) != STORE_APPLICATION_ID)
		return fail_foreign(path, err);
	version = read_u32(header + AT_USER_VERSION);
	if (version > STORE_SCHEMA_VERSION)
		return fail_newer(path, version, err);
	if (!version)
		return fail_damaged(path, "it has no schema", err);
	page_size =
		(uint32_t)header[AT_PAGE_SIZE] << 8 | header[AT_PAGE_SIZE + 1];
	if (page_size == 1)
		page_size = 65536;
	/* A log may hold pages that the file lacks, and a journal put it
	 * right; otherwise it must be as long as it says. */
	if (size_of(beside(name, path, "", suffixes[WAL])) ||
	    size_of(beside(name, path, "", suffixes[JOURNAL])))
		return 0;
	if (read_u32(header + AT_CHANGE_COUNTER) ==
		    read_u32(header + AT_VALID_FOR) &&
	    (uint64_t)size < (uint64_t)page_size * read_u32(header + AT_PAGES))
		return fail_damaged(path, "it is cut short", err);
	return 0;
}

/*
 * Is a weft file at path, as far as its first bytes tell? Reads only; does
 * not wait on a FIFO. is_there is set also on failure.
 */
static int probe(const char *path, bool *is_there, struct weft_err *err)
{
	unsigned char header[HEADER_SIZE];
	struct stat st;
	ssize_t n;
	int fd, rc = 0;

	*is_there = false;
	fd = open(path,
		  O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return 0;
	*is_there = true;
	if (fd < 0)
		return weft_fail(err, -errno, "cannot open '%s': %s", path,
				 strerror(errno));
	if (fstat(fd, &st)) {
		rc = weft_fail(err, -errno, "cannot look at '%s': %s", path,
			       strerror(errno));
		goto out;
	}
	rc = owner_check(path, &st, err);
	if (rc)
		goto out;
	n = pread(fd, header, sizeof(header), 0);
	if (n < 0)
		rc = weft_fail(err, -errno, "cannot read '%s': %s", path,
			       strerror(errno));
	else if (n < (ssize_t)sizeof(header))
		rc = fail_foreign(path, err);
	else
		rc = check_header(path, header, st.st_size, err);
out:
	close(fd);
	return rc;
}

/* Open what lies beside the file, if anything does: fd is -1 then. SQLite would
 * take it for the newest part of the file, so whose it is matters as much. */
static int open_beside(const char *name, int *fd, struct weft_err *err)
{
	struct stat st;
	int rc;

	*fd = open(name,
		   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (*fd < 0 && errno == ENOENT)
		return 0;
	if (*fd < 0 || fstat(*fd, &st))
		rc = weft_fail(err, -EEXIST,
			       "'%s' is not a regular file that can be read: "
			       "move it away, or choose another name",
			       name);
	else
		rc = owner_check(name, &st, err);
	if (rc && *fd >= 0)
		close(*fd);
	return rc;
}

/* A log, or its index. */
static int check_log(const char *path, const char *suffix, struct weft_err *err)
{
	char name[PATH_MAX];
	int fd, rc;

	rc = open_beside(beside(name, path, "", suffix), &fd, err);
	if (!rc && fd >= 0)
		close(fd);
	return rc;
}

/*
 * A journal may end with the name of another above it, of several files that
 * were written together. SQLite deletes that file when it rolls back; our
 * writer never has one, so it is somebody's trap. sqlite.org/fileformat.html,
 * 3; the name is followed by its length, a checksum, and the magic number.
 */
static int check_journal(const char *path, struct weft_err *err)
{
	static const unsigned char magic[] = { 0xd9, 0xd5, 0x05, 0xf9,
					       0x20, 0xa1, 0x63, 0xd7 };
	unsigned char end[sizeof(magic)];
	char name[PATH_MAX];
	struct stat st;
	bool is_trap;
	int fd, rc;

	beside(name, path, "", suffixes[JOURNAL]);
	rc = open_beside(name, &fd, err);
	if (rc || fd < 0)
		return rc;
	is_trap = !fstat(fd, &st) && st.st_size >= (off_t)sizeof(end) &&
		  pread(fd, end, sizeof(end),
			st.st_size - (off_t)sizeof(end)) == sizeof(end) &&
		  !memcmp(end, magic, sizeof(end));
	close(fd);
	return is_trap ? weft_fail(err, -EPROTO,
				   "'%s' names another file, which weft never "
				   "does: move it away, or choose another name",
				   name)
		       : 0;
}

/* Look inside the file without changing it. */
static int inspect(const char *path, struct weft_err *err)
{
	struct conn conn;
	char name[PATH_MAX];
	int64_t version;
	int rc;

	rc = check_journal(path, err);
	if (!rc)
		rc = check_log(path, suffixes[WAL], err);
	if (!rc)
		rc = check_log(path, suffixes[SHM], err);
	if (rc)
		return rc;
	/* Only a writer can roll a journal back: file_recover() comes first. */
	if (size_of(beside(name, path, "", suffixes[JOURNAL])))
		return 0;
	rc = conn_open(&conn, path,
		       size_of(beside(name, path, "", suffixes[WAL]))
			       ? 0
			       : CONN_IMMUTABLE,
		       err);
	if (rc)
		return rc;
	rc = conn_int(&conn, "PRAGMA user_version", &version, err);
	if (!rc && version > STORE_SCHEMA_VERSION)
		rc = fail_newer(path, version, err);
	if (!rc)
		rc = schema_check(conn.db, path, (int)version, err);
	conn_close(&conn);
	return rc;
}

int file_recover(const char *path, struct weft_err *err)
{
	struct conn conn;
	int rc;

	rc = conn_open(&conn, path, CONN_WRITE, err);
	if (rc)
		return rc;
	/* Needs the file for itself; with a reader there it stays a log. */
	rc = conn_exec(&conn, "PRAGMA journal_mode = DELETE", NULL);
	if (rc == -EBUSY)
		rc = 0;
	else if (rc)
		rc = weft_fail(err, rc,
			       "cannot recover '%s' after its writer was "
			       "stopped: %s",
			       path, sqlite3_errmsg(conn.db));
	conn_close(&conn);
	return rc;
}

/* Whether the file holds a recording, or spans that were imported: one that
 * was ended while it was being begun has neither. What cannot be read counts as
 * if it had. */
static bool is_worth_keeping(const char *path)
{
	struct conn conn;
	int64_t n = 1;

	if (conn_open(&conn, path, 0, NULL))
		return true;
	if (conn_int(&conn,
		     "SELECT EXISTS (SELECT 1 FROM recording) OR "
		     "EXISTS (SELECT 1 FROM span)",
		     &n, NULL))
		n = 1;
	conn_close(&conn);
	return n;
}

/* Move the file at path to PATH.old, with all that belongs to it. */
static int retire(const char *path, struct weft_err *err)
{
	char old[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
	bool is_there;
	size_t i;
	int rc;

	beside(old, path, ".old", "");
	rc = probe(old, &is_there, NULL);
	if (rc && rc != -EPROTO && rc != -ENOTSUP)
		return weft_fail(err, -EEXIST,
				 "cannot move '%s' to '%s', which is not a "
				 "weft file: move one of them away, or choose "
				 "another name",
				 path, old);
	/* A log of the file that is replaced would spoil the new one. */
	for (i = 0; i < ARRAY_LEN(suffixes); i++)
		(void)unlink(beside(to, path, ".old", suffixes[i]));
	if (rename(path, old))
		return weft_fail(err, -errno, "cannot move '%s' to '%s': %s",
				 path, old, strerror(errno));
	for (i = 0; i < ARRAY_LEN(suffixes); i++) {
		beside(from, path, "", suffixes[i]);
		beside(to, path, ".old", suffixes[i]);
		if (rename(from, to) && errno != ENOENT)
			return weft_fail(err, -errno,
					 "cannot move '%s' to '%s': %s", from,
					 to, strerror(errno));
	}
	return 0;
}

/* Fill the empty file at path with the schema. */
static int build(const char *path, struct weft_err *err)
{
	struct conn conn;
	int rc;

	rc = conn_open(&conn, path, CONN_WRITE, err);
	if (rc)
		return rc;
	/* Space that retention frees can only be given back where this is
	 * chosen before the first table; it costs a page in a thousand. */
	rc = conn_exec(&conn,
		       "PRAGMA page_size = 4096;"
		       "PRAGMA auto_vacuum = INCREMENTAL;"
		       "PRAGMA journal_mode = MEMORY;",
		       err);
	if (!rc)
		rc = conn_migrate(&conn, 0, STORE_SCHEMA_VERSION, err);
	conn_close(&conn);
	return rc;
}

/* Make a whole new file at PATH.new: its name goes to fresh. */
static int create(const char *path, char fresh[PATH_MAX], struct weft_err *err)
{
	int fd, rc;

	beside(fresh, path, ".new", "");
	(void)unlink(fresh);
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  0600);
	if (fd < 0)
		return weft_fail(err, -errno, "cannot create '%s': %s", fresh,
				 strerror(errno));
	owner_give_to_user(fd);
	close(fd);
	rc = build(fresh, err);
	if (rc)
		(void)unlink(fresh);
	return rc;
}

/* Give the new file its name, unless something else has got it meanwhile. */
static int settle(const char *fresh, const char *path, struct weft_err *err)
{
	char name[PATH_MAX];
	size_t i;
	int rc;

	/* A log without its file is of no use, and dangerous beside another. */
	for (i = 0; i < ARRAY_LEN(suffixes); i++)
		(void)unlink(beside(name, path, "", suffixes[i]));
	rc = renameat2(AT_FDCWD, fresh, AT_FDCWD, path, RENAME_NOREPLACE);
	if (rc && (errno == EINVAL || errno == ENOSYS))
		rc = rename(fresh, path); /* a file system without it */
	if (!rc)
		return 0;
	rc = weft_fail(err, -errno, "cannot create '%s': %s", path,
		       strerror(errno));
	(void)unlink(fresh);
	return rc;
}

int file_prepare(const char *path, bool append, bool *is_new,
		 struct weft_err *err)
{
	char fresh[PATH_MAX];
	bool is_there, is_kept = true;
	int rc;

	if (strlen(path) + sizeof(".old-journal") > PATH_MAX)
		return weft_fail(err, -ENAMETOOLONG, "cannot write to '%s': %s",
				 path, strerror(ENAMETOOLONG));
	rc = probe(path, &is_there, err);
	if (rc)
		return rc;
	*is_new = !is_there || !append;
	if (is_there) {
		rc = inspect(path, err);
		if (!rc)
			rc = file_recover(path, err);
		if (rc || append)
			return rc;
		is_kept = is_worth_keeping(path);
	}
	rc = create(path, fresh, err);
	if (rc)
		return rc;
	if (is_there && is_kept)
		rc = retire(path, err);
	else if (is_there && unlink(path))
		rc = weft_fail(err, -errno, "cannot replace '%s': %s", path,
			       strerror(errno));
	if (rc) {
		(void)unlink(fresh);
		return rc;
	}
	return settle(fresh, path, err);
}

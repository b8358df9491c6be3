/* SPDX-License-Identifier: MIT */
/*
 * SIGKILL, or a stop for ever, at a named point: loaded into a recorder by
 * LD_PRELOAD, it stands between the recorder and the libraries that it calls,
 * so that the program that is shipped needs no such switch. In the environment:
 *
 *   CRASH_AT=POINT:N   die at the N-th time that POINT is reached, from 1
 *   CRASH_STALLS=1     do not die: the call does not come back
 *   CRASH_LOG=FILE     gets a line "stored" for each interval of which SQLite
 *                      has said that it is committed, and at that moment
 *                      "died NS", by the boot clock
 *
 *   swap        an epoch was swapped, a map of it is being emptied
 *   batch       rows of an interval are being written
 *   names       names are being written
 *   commit      a file is being written to, whatever for
 *   checkpoint  the same, while the log is moved into the file
 *   seal        the same, from when the newest samples are sealed
 *   close       the same, from when the log is given up
 *   recover     the same, where that is what another recording left
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int bpf_map_lookup_and_delete_batch(int fd, void *in, void *out, void *keys,
				    void *values, unsigned int *n,
				    const void *opts);

static struct {
	char point[16]; /* empty: none */
	long at, n;
	pid_t pid; /* not in those that it forks */
	bool is_checkpointing, is_sealing, is_closing, is_storing;
	bool has_stored; /* an interval */
} crash;

static void *next(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f)
		abort();
	return f;
}

__attribute__((constructor)) static void set_up(void)
{
	const char *text = getenv("CRASH_AT");

	crash.pid = getpid();
	if (text && sscanf(text, "%15[a-z]:%ld", crash.point, &crash.at) != 2)
		abort();
}

/* Opened each time: the recorder closes what it does not know. */
static void note(const char *line)
{
	const char *log = getenv("CRASH_LOG");
	int fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%s\n", line);
	close(fd);
}

static void die(void)
{
	struct timespec now;
	char line[64];

	clock_gettime(CLOCK_BOOTTIME, &now);
	snprintf(line, sizeof(line), "died %lld%09ld", (long long)now.tv_sec,
		 now.tv_nsec);
	note(line);
	while (getenv("CRASH_STALLS"))
		pause();
	kill(getpid(), SIGKILL);
}

static void reached(const char *point)
{
	if (!strcmp(point, crash.point) && crash.pid == getpid() &&
	    __atomic_add_fetch(&crash.n, 1, __ATOMIC_RELAXED) == crash.at)
		die();
}

/* A file is about to change. */
static void on_change(void)
{
	reached("commit");
	if (crash.is_checkpointing)
		reached("checkpoint");
	if (crash.is_sealing)
		reached("seal");
	if (crash.is_closing)
		reached(crash.has_stored ? "close" : "recover");
}

int sqlite3_step(sqlite3_stmt *stmt)
{
	static int (*real)(sqlite3_stmt * stmt);
	const char *text = sqlite3_sql(stmt);

	if (!real)
		real = next("sqlite3_step");
	if (text && strstr(text, "INTO interval "))
		crash.is_storing = true;
	if (text && strstr(text, "INTO stack_count "))
		reached("batch");
	if (text && strstr(text, "INTO frame_function "))
		reached("names");
	if (text && strstr(text, "INTO sample_sealed "))
		crash.is_sealing = true;
	return real(stmt);
}

int sqlite3_exec(sqlite3 *db, const char *sql,
		 int (*fn)(void *, int, char **, char **), void *ctx,
		 char **message)
{
	static int (*real)(sqlite3 *, const char *,
			   int (*)(void *, int, char **, char **), void *,
			   char **);
	int rc;

	if (!real)
		real = next("sqlite3_exec");
	if (strstr(sql, "journal_mode = DELETE"))
		crash.is_closing = true;
	rc = real(db, sql, fn, ctx, message);
	if (!strcmp(sql, "COMMIT") && !rc && crash.is_storing) {
		crash.has_stored = true;
		crash.is_closing = false;
		note("stored");
	}
	if (!strcmp(sql, "COMMIT") || !strcmp(sql, "ROLLBACK"))
		crash.is_storing = false;
	return rc;
}

int sqlite3_wal_checkpoint_v2(sqlite3 *db, const char *name, int mode,
			      int *in_log, int *moved)
{
	static int (*real)(sqlite3 *, const char *, int, int *, int *);
	int rc;

	if (!real)
		real = next("sqlite3_wal_checkpoint_v2");
	crash.is_checkpointing = true;
	rc = real(db, name, mode, in_log, moved);
	crash.is_checkpointing = false;
	return rc;
}

int bpf_map_lookup_and_delete_batch(int fd, void *in, void *out, void *keys,
				    void *values, unsigned int *n,
				    const void *opts)
{
	static int (*real)(int, void *, void *, void *, void *, unsigned int *,
			   const void *);

	if (!real)
		real = next("bpf_map_lookup_and_delete_batch");
	reached("swap");
	return real(fd, in, out, keys, values, n, opts);
}

/* What SQLite changes files by. */

ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off64_t);

	if (!real)
		real = next("pwrite64");
	on_change();
	return real(fd, from, size, at);
}

int ftruncate64(int fd, off64_t size)
{
	static int (*real)(int, off64_t);

	if (!real)
		real = next("ftruncate64");
	on_change();
	return real(fd, size);
}

int unlink(const char *path)
{
	static int (*real)(const char *);

	if (!real)
		real = next("unlink");
	on_change();
	return real(path);
}

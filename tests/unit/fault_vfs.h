/* SPDX-License-Identifier: MIT */
/*
 * A file system for SQLite that fails: the default one, in which the n-th of
 * the operations of a kind fails, and all that follow if it is to stay broken.
 * And an allocator that does the same, for SQLite and for who is linked with
 * --wrap of malloc() and its kin.
 */
#ifndef FAULT_VFS_H
#define FAULT_VFS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>

enum fault_kind {
	FAULT_OPEN,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_TRUNCATE,
	FAULT_SYNC,
	FAULT_LOCK,
	FAULT_SHM,
	FAULT_DELETE,
	FAULT_MEMORY,
	FAULT_KINDS
};

static const char *const fault_words[FAULT_KINDS] = {
	[FAULT_OPEN] = "open",         [FAULT_READ] = "read",
	[FAULT_WRITE] = "write",       [FAULT_TRUNCATE] = "truncate",
	[FAULT_SYNC] = "sync",         [FAULT_LOCK] = "lock",
	[FAULT_SHM] = "shared memory", [FAULT_DELETE] = "delete",
	[FAULT_MEMORY] = "memory",
};

/* What is to fail. */
static struct fault {
	enum fault_kind kind;
	int at;   /* the how manieth, from 1; 0: none */
	int code; /* of SQLite */
	bool stays;
	bool is_short; /* half of what is to be written is */
	bool is_held;  /* not yet */
	int n;         /* how many there were */
	int failed;
} fault;

struct fault_file {
	sqlite3_file base;
	sqlite3_file *real; /* owned */
};

static int fault_hits(enum fault_kind kind)
{
	if (kind != fault.kind || !fault.at || fault.is_held)
		return SQLITE_OK;
	fault.n++;
	if (fault.n < fault.at || (fault.n > fault.at && !fault.stays))
		return SQLITE_OK;
	fault.failed++;
	return fault.code;
}

static sqlite3_file *fault_real(sqlite3_file *file)
{
	return ((struct fault_file *)file)->real;
}

static int fault_close(sqlite3_file *file)
{
	sqlite3_file *real = fault_real(file);
	int rc = real->pMethods ? real->pMethods->xClose(real) : SQLITE_OK;

	sqlite3_free(real);
	return rc;
}

static int fault_read(sqlite3_file *file, void *to, int n, sqlite3_int64 at)
{
	int rc = fault_hits(FAULT_READ);

	return rc ? rc
		  : fault_real(file)->pMethods->xRead(fault_real(file), to, n,
						      at);
}

static int fault_write(sqlite3_file *file, const void *from, int n,
		       sqlite3_int64 at)
{
	sqlite3_file *real = fault_real(file);
	int rc = fault_hits(FAULT_WRITE);

	if (rc && fault.is_short)
		(void)real->pMethods->xWrite(real, from, n / 2, at);
	return rc ? rc : real->pMethods->xWrite(real, from, n, at);
}

static int fault_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int rc = fault_hits(FAULT_TRUNCATE);

	return rc ? rc
		  : fault_real(file)->pMethods->xTruncate(fault_real(file),
							  size);
}

/* Nobody cuts the power: what is written is there. */
static int fault_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return fault_hits(FAULT_SYNC);
}

static int fault_size(sqlite3_file *file, sqlite3_int64 *size)
{
	return fault_real(file)->pMethods->xFileSize(fault_real(file), size);
}

static int fault_lock(sqlite3_file *file, int level)
{
	int rc = fault_hits(FAULT_LOCK);

	return rc ? rc
		  : fault_real(file)->pMethods->xLock(fault_real(file), level);
}

static int fault_unlock(sqlite3_file *file, int level)
{
	return fault_real(file)->pMethods->xUnlock(fault_real(file), level);
}

static int fault_check(sqlite3_file *file, int *out)
{
	return fault_real(file)->pMethods->xCheckReservedLock(fault_real(file),
							      out);
}

static int fault_control(sqlite3_file *file, int op, void *arg)
{
	return fault_real(file)->pMethods->xFileControl(fault_real(file), op,
							arg);
}

static int fault_sector(sqlite3_file *file)
{
	return fault_real(file)->pMethods->xSectorSize(fault_real(file));
}

static int fault_traits(sqlite3_file *file)
{
	return fault_real(file)->pMethods->xDeviceCharacteristics(
		fault_real(file));
}

static int fault_shm_map(sqlite3_file *file, int page, int size, int extend,
			 void volatile **out)
{
	int rc = fault_hits(FAULT_SHM);

	*out = NULL;
	return rc ? rc
		  : fault_real(file)->pMethods->xShmMap(fault_real(file), page,
							size, extend, out);
}

static int fault_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	/* Letting go does not fail. */
	int rc = flags & SQLITE_SHM_LOCK ? fault_hits(FAULT_SHM) : SQLITE_OK;

	return rc ? rc
		  : fault_real(file)->pMethods->xShmLock(fault_real(file), at,
							 n, flags);
}

static void fault_shm_barrier(sqlite3_file *file)
{
	fault_real(file)->pMethods->xShmBarrier(fault_real(file));
}

static int fault_shm_unmap(sqlite3_file *file, int remove)
{
	return fault_real(file)->pMethods->xShmUnmap(fault_real(file), remove);
}

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file,
		      int flags, int *out_flags)
{
	static const sqlite3_io_methods methods = {
		2, /* no memory mapping: that is not what is used */
		fault_close,
		fault_read,
		fault_write,
		fault_truncate,
		fault_sync,
		fault_size,
		fault_lock,
		fault_unlock,
		fault_check,
		fault_control,
		fault_sector,
		fault_traits,
		fault_shm_map,
		fault_shm_lock,
		fault_shm_barrier,
		fault_shm_unmap,
		NULL,
		NULL,
	};
	struct fault_file *own = (struct fault_file *)file;
	sqlite3_vfs *real = vfs->pAppData;
	int rc = fault_hits(FAULT_OPEN);

	own->base.pMethods = NULL;
	if (rc)
		return rc;
	own->real = sqlite3_malloc(real->szOsFile);
	if (!own->real)
		return SQLITE_NOMEM;
	own->real->pMethods = NULL;
	rc = real->xOpen(real, name, own->real, flags, out_flags);
	if (!rc || own->real->pMethods)
		own->base.pMethods = &methods;
	else
		sqlite3_free(own->real);
	return rc;
}

static int fault_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	sqlite3_vfs *real = vfs->pAppData;
	int rc = fault_hits(FAULT_DELETE);

	(void)sync;
	return rc ? rc : real->xDelete(real, name, 0);
}

/* ---- memory */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t size);
void *__real_reallocarray(void *at, size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t size);
void *__wrap_reallocarray(void *at, size_t n, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
	return fault_hits(FAULT_MEMORY) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fault_hits(FAULT_MEMORY) ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return fault_hits(FAULT_MEMORY) ? NULL : __real_realloc(at, size);
}

void *__wrap_reallocarray(void *at, size_t n, size_t size)
{
	return fault_hits(FAULT_MEMORY) ? NULL
					: __real_reallocarray(at, n, size);
}

char *__wrap_strdup(const char *text)
{
	return fault_hits(FAULT_MEMORY) ? NULL : __real_strdup(text);
}

static sqlite3_mem_methods fault_memory;

static void *fault_malloc(int size)
{
	return fault_hits(FAULT_MEMORY) ? NULL : fault_memory.xMalloc(size);
}

static void *fault_realloc(void *at, int size)
{
	return fault_hits(FAULT_MEMORY) ? NULL
					: fault_memory.xRealloc(at, size);
}

/* From here on all of SQLite's files and memory are ours. Returns its code. */
static int fault_register(void)
{
	static sqlite3_vfs vfs;
	sqlite3_vfs *real;
	sqlite3_mem_methods memory;
	int rc = sqlite3_config(SQLITE_CONFIG_GETMALLOC, &fault_memory);

	memory = fault_memory;
	memory.xMalloc = fault_malloc;
	memory.xRealloc = fault_realloc;
	if (!rc)
		rc = sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	if (!rc)
		rc = sqlite3_initialize();
	if (rc)
		return rc;
	real = sqlite3_vfs_find(NULL);
	vfs = *real;
	vfs.zName = "fault";
	vfs.pAppData = real;
	vfs.szOsFile = sizeof(struct fault_file);
	vfs.xOpen = fault_open;
	vfs.xDelete = fault_delete;
	return sqlite3_vfs_register(&vfs, 1);
}

#endif

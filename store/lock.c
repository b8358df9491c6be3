/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/lock.h"
#include "store/owner.h"

/* Say what is wrong with the directory of path, if that is what is wrong. */
static int fail_to_create(const char *path, int code, struct weft_err *err)
{
	const char *slash = strrchr(path, '/');
	int length = slash ? (int)(slash - path) : 1;
	const char *directory = slash ? path : ".";

	if (slash == path)
		length = 1;
	if (code == -ENOENT)
		return weft_fail(err, code,
				 "cannot write to '%s': directory '%.*s' does "
				 "not exist",
				 path, length, directory);
	if (code == -EACCES || code == -EPERM || code == -EROFS)
		return weft_fail(err, code,
				 "cannot write to '%s': directory '%.*s' is "
				 "not writable: %s",
				 path, length, directory, strerror(-code));
	return weft_fail(err, code, "cannot write to '%s': %s", path,
			 strerror(-code));
}

/* Does the name still lead to the file that fd is of? */
static bool is_still_there(const struct lock *lock)
{
	struct stat by_fd, by_name;

	return fstat(lock->fd, &by_fd) == 0 &&
	       lstat(lock->path, &by_name) == 0 &&
	       by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

/* One that we did not make is anybody's: it is not given to anyone. */
static int open_or_make(struct lock *lock, const char *path,
			struct weft_err *err)
{
	const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;

	lock->fd = open(lock->path, flags | O_CREAT | O_EXCL, 0600);
	if (lock->fd >= 0) {
		owner_give_to_user(lock->fd);
		return 0;
	}
	if (errno == EEXIST)
		lock->fd = open(lock->path, flags | O_CREAT, 0600);
	if (lock->fd < 0)
		return fail_to_create(path, -errno, err);
	if (fstat(lock->fd, &st))
		return weft_fail(err, -errno, "cannot look at '%s': %s",
				 lock->path, strerror(errno));
	return owner_check(lock->path, &st, err);
}

static int take(struct lock *lock, const char *path, struct weft_err *err)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int code, rc;

	rc = open_or_make(lock, path, err);
	if (rc)
		return rc;
	if (fcntl(lock->fd, F_OFD_SETLK, &whole) == 0)
		return 0;
	code = -errno;
	if (code == -EAGAIN || code == -EACCES)
		return weft_fail(err, -EBUSY,
				 "'%s' is in use by another weft (it holds "
				 "'%s'): wait for it, or choose another file",
				 path, lock->path);
	return weft_fail(err, code, "cannot lock '%s': %s", lock->path,
			 strerror(-code));
}

static void release(struct lock *lock)
{
	if (lock->fd >= 0)
		close(lock->fd);
	lock->fd = -1;
}

int lock_open(struct lock **out, const char *path, struct weft_err *err)
{
	struct lock *lock;
	int rc = -ENOMEM;

	*out = NULL;
	lock = calloc(1, sizeof(*lock));
	if (!lock)
		return weft_fail(err, rc, "cannot lock '%s': no memory", path);
	lock->fd = -1;
	if (asprintf(&lock->path, "%s.lock", path) < 0) {
		lock->path = NULL;
		rc = weft_fail(err, rc, "cannot lock '%s': no memory", path);
		goto fail;
	}
	/* The holder before us may have removed the name between our open
	 * and our lock; then others would lock another file than we did. */
	do {
		release(lock);
		rc = take(lock, path, err);
		if (rc)
			goto fail;
	} while (!is_still_there(lock));
	*out = lock;
	return 0;

fail:
	release(lock);
	free(lock->path);
	free(lock);
	return rc;
}

void lock_close(struct lock *lock)
{
	if (!lock)
		return;
	/* First the name, then the lock: see lock_open(). */
	(void)unlink(lock->path);
	release(lock);
	free(lock->path);
	free(lock);
}

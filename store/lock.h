/* SPDX-License-Identifier: MIT */
/*
 * The lock of a recording file: whoever writes to FILE holds a write lock
 * (fcntl F_OFD_SETLK) on FILE.lock. It ends with its holder, however that
 * ends, so a FILE.lock that a crash left behind is no obstacle. A child made
 * by fork() shares the lock: fork before, or close the descriptor there.
 */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

#include "store/weft.h"

struct lock {
	char *path; /* owned */
	int fd;     /* owned */
};

/*
 * Take the lock of the recording file at path, without waiting.
 *
 * Returns 0, -EBUSY where another holds it, or what the system said; *out is
 * then NULL and err names the directory where that is what is at fault.
 */
int lock_open(struct lock **out, const char *path,
	      struct weft_err *err) MUST_CHECK;

/* Remove the lock file and give the lock up. Accepts NULL. */
void lock_close(struct lock *lock);

#endif

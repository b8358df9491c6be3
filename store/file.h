/* SPDX-License-Identifier: MIT */
/*
 * The recording file as a file: whether what stands at a path is ours, how a
 * new one comes into being, how an old one makes way. The caller holds the
 * lock (store/lock.h).
 */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include "store/weft.h"

/*
 * The one name that path has: of the file that a symbolic link leads to, and
 * with its directory absolute. Returned owned; NULL with err filled where the
 * directory or a link's target is missing.
 */
char *file_resolve(const char *path, struct weft_err *err);

/*
 * See that a recording file stands at path, ready to be opened and added to:
 * a new one, after moving an older one to PATH.old; or with append the one
 * that is there, if there is one. is_new says which.
 *
 * What is not a weft file, damaged, or of a newer schema is refused and stays
 * byte for byte. Errors as store_open().
 */
int file_prepare(const char *path, bool append, bool *is_new,
		 struct weft_err *err) MUST_CHECK;

/* Take what a writer that was stopped left in log or journal into the file at
 * path. 0 too where a reader is in the way of doing so whole. */
int file_recover(const char *path, struct weft_err *err) MUST_CHECK;

#endif

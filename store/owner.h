/* SPDX-License-Identifier: MIT */
/* Whose a file is, where others may put files of theirs in our way. */
#ifndef WEFT_OWNER_H
#define WEFT_OWNER_H

#include "store/weft.h"

#include <sys/stat.h>

/* Give a file that we made, as root for sudo, to the user who called that. */
void owner_give_to_user(int fd);

/*
 * May we write to what is there? Anywhere it has to be a regular file. In a
 * directory that others may write to (as /tmp) it also has to be of root,
 * of us, of the user who called sudo, or of whose directory it is, and to have
 * no other name: a link there may lead to any file. Returns 0, or -EEXIST with
 * err filled.
 */
int owner_check(const char *path, const struct stat *file,
		struct weft_err *err) MUST_CHECK;

/*
 * Is the way to path's directory ours? A symbolic link on it, or on where such
 * a link leads, that another may have put there would take us where they want.
 * Returns 0, or -EEXIST with err filled; what cannot be looked at is for who
 * goes there.
 */
int owner_check_way(const char *path, struct weft_err *err) MUST_CHECK;

/* Is the directory of path one that others may write to: everybody, who owns
 * it, or its group? Others are who is neither root, nor we, nor who called
 * sudo. */
bool owner_is_public_place(const char *path);

#endif

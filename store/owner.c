/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/owner.h"

void owner_give_to_user(int fd)
{
	uid_t uid;
	gid_t gid;

	/* Where the file system has no owners, root's file is still a file. */
	if (weft_sudo_user(&uid, &gid) && fchown(fd, uid, gid))
		return;
}

/* Of root, of us, or of who called sudo. */
static bool is_ours(const struct stat *file)
{
	uid_t uid;
	gid_t gid;

	return !file->st_uid || file->st_uid == geteuid() ||
	       (weft_sudo_user(&uid, &gid) && file->st_uid == uid);
}

static bool is_of_our_group(const struct stat *file)
{
	uid_t uid;
	gid_t gid;

	return !file->st_gid || file->st_gid == getegid() ||
	       (weft_sudo_user(&uid, &gid) && file->st_gid == gid);
}

/* The directory of path. Returns false where it cannot be told. */
static bool look_at_directory(const char *path, struct stat *out)
{
	char *copy = strdup(path);
	bool is_known = copy && !stat(dirname(copy), out);

	free(copy);
	return is_known;
}

static bool others_may_write(const struct stat *directory)
{
	return !is_ours(directory) || directory->st_mode & S_IWOTH ||
	       (directory->st_mode & S_IWGRP && !is_of_our_group(directory));
}

bool owner_is_public_place(const char *path)
{
	struct stat directory;

	/* What cannot be told apart is the less safe of both. */
	return !look_at_directory(path, &directory) ||
	       others_may_write(&directory);
}

int owner_check(const char *path, const struct stat *file, struct weft_err *err)
{
	struct stat directory = { 0 };
	bool is_known;

	if (!S_ISREG(file->st_mode))
		return weft_fail(err, -EEXIST,
				 "'%s' is not a regular file: choose another "
				 "name",
				 path);
	is_known = look_at_directory(path, &directory);
	if (is_known && !others_may_write(&directory))
		return 0;
	if (!is_ours(file) && !(is_known && file->st_uid == directory.st_uid))
		return weft_fail(err, -EEXIST,
				 "'%s' is of another user (%u), in a directory "
				 "that others may write to: choose another "
				 "place",
				 path, file->st_uid);
	/* 0: it was removed meanwhile; who holds a lock does that. */
	if (file->st_nlink > 1)
		return weft_fail(err, -EEXIST,
				 "'%s' has another name, too (a hard link), in "
				 "a directory that others may write to: choose "
				 "another place",
				 path);
	return 0;
}

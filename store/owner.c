/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/owner.h"

enum {
	LINKS_MAX = 40 /* as the kernel has it */
};

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

static int check_way(const char *path, int links, struct weft_err *err);

/* Is this part of the way a link, of whom, and where does it lead? */
static int check_part(const char *part, int links, struct weft_err *err)
{
	char target[PATH_MAX], way[2 * PATH_MAX + 2], *copy;
	struct stat st;
	ssize_t n;

	if (lstat(part, &st) || !S_ISLNK(st.st_mode))
		return 0;
	if (links == LINKS_MAX)
		return weft_fail(err, -EEXIST,
				 "'%s' leads through too many symbolic links: "
				 "choose another place",
				 part);
	if (!is_ours(&st) && owner_is_public_place(part))
		return weft_fail(err, -EEXIST,
				 "'%s' is a symbolic link of another user (%u) "
				 "in a directory that others may write to: "
				 "choose another place",
				 part, st.st_uid);
	n = readlink(part, target, sizeof(target) - 1);
	if (n < 0)
		return 0;
	target[n] = '\0';
	copy = strdup(part);
	if (!copy)
		return weft_fail(err, -ENOMEM, "out of memory");
	if (target[0] == '/')
		snprintf(way, sizeof(way), "%s/", target);
	else
		snprintf(way, sizeof(way), "%s/%s/", dirname(copy), target);
	free(copy);
	return check_way(way, links + 1, err);
}

static int check_way(const char *path, int links, struct weft_err *err)
{
	const char *end = *path ? strchr(path + 1, '/') : NULL;
	char *part;
	int rc = 0;

	for (; end && !rc; end = strchr(end + 1, '/')) {
		part = strndup(path, (size_t)(end - path));
		rc = part ? check_part(part, links, err)
			  : weft_fail(err, -ENOMEM, "out of memory");
		free(part);
	}
	return rc;
}

int owner_check_way(const char *path, struct weft_err *err)
{
	return check_way(path, 0, err);
}

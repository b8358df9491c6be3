/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "query/db.h"
#include "query/output.h"
#include "store/owner.h"

int output_open(FILE **to, const char *path, struct weft_err *err)
{
	/* Where others may put links, one leads to where they want. */
	int flags = owner_is_public_place(path) ? O_NOFOLLOW : 0;
	int fd, code;

	*to = NULL;
	code = owner_check_way(path, err);
	if (code)
		return code;
	if (db_is_there(path))
		return weft_fail(err, -EEXIST,
				 "'%s' is a database, and is not written over",
				 path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | flags, 0666);
	if (fd >= 0)
		*to = fdopen(fd, "w");
	if (*to)
		return 0;
	code = -errno;
	if (fd >= 0)
		close(fd);
	if (code == -ELOOP && flags)
		return weft_fail(
			err, code,
			"cannot create '%s': it is a symbolic link, in "
			"a directory that others may write to; choose "
			"another place",
			path);
	return weft_fail(err, code, "cannot create '%s': %s", path,
			 strerror(-code));
}

static void take_back(const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISREG(st.st_mode))
		(void)unlink(path);
	else if (truncate(path, 0))
		return; /* a pipe or a device: it has what it has */
}

int output_close(FILE *to, const char *path, int rc, struct weft_err *err)
{
	int code = ferror(to) ? -EIO : 0;

	if (fclose(to))
		code = -errno;
	if (!rc && code)
		rc = weft_fail(err, code, "cannot write '%s': %s", path,
			       strerror(-code));
	if (rc)
		take_back(path);
	return rc;
}

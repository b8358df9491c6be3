/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/tracefs.h"
#include "collector/tracepoints.h"
#include "collector/words.h"

int tracepoints_open(struct weft_err *err)
{
	int fd = tracefs_open("events");

	if (fd >= 0)
		return fd;
	if (geteuid())
		return weft_fail(err, -EPERM,
				 "cannot list tracepoints: it needs root");
	return weft_fail(
		err, fd,
		"cannot list tracepoints: this kernel shows none in tracefs: %s",
		strerror(-fd));
}

static int look_up(int events, const char *category, const char *name)
{
	char path[TRACEFS_NAME_MAX];

	if (strchr(category, '/') || strchr(name, '/') || *category == '.' ||
	    *name == '.' ||
	    snprintf(path, sizeof(path), "%s/%s", category, name) >=
		    (int)sizeof(path))
		return -ENOENT;
	return faccessat(events, path, F_OK, AT_EACCESS) ? -errno : 0;
}

static DIR *open_directory(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static int list_category(struct words *l, int events, const char *category)
{
	DIR *dir = open_directory(events, category);
	const struct dirent *entry;
	int rc = 0;

	while (dir && !rc && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			rc = words_add(l, category, entry->d_name);
	if (dir)
		closedir(dir);
	return rc;
}

static int list_all(struct words *l, int events)
{
	DIR *dir = open_directory(events, ".");
	const struct dirent *entry;
	int rc = 0;

	/* Those of ftrace itself are no tracepoints. */
	while (dir && !rc && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    strcmp(entry->d_name, "ftrace") != 0)
			rc = list_category(l, events, entry->d_name);
	if (dir)
		closedir(dir);
	words_sort(l);
	return rc;
}

int tracepoints_each(int events, void (*fn)(void *ctx, const char *name),
		     void *ctx, struct weft_err *err)
{
	struct words l = { 0 };
	int rc = list_all(&l, events);

	for (size_t i = 0; i < l.n && !rc; i++)
		fn(ctx, l.word[i]);
	words_release(&l);
	return rc ? weft_fail(err, rc, "cannot list tracepoints: %s",
			      strerror(-rc))
		  : 0;
}

int tracepoints_check(int events, const char *category, const char *name,
		      struct weft_err *err)
{
	int rc = look_up(events, category, name);
	struct words l = { 0 };
	const char *near = NULL;
	char wanted[512];

	if (rc != -ENOENT)
		return rc ? weft_fail(err, rc,
				      "cannot look up tracepoint %s:%s: %s",
				      category, name, strerror(-rc))
			  : 0;
	snprintf(wanted, sizeof(wanted), "%s:%s", category, name);
	if (!list_all(&l, events))
		near = words_nearest(&l, wanted);
	rc = weft_fail(
		err, -ENOENT,
		"this kernel has no tracepoint '%s'%s%s%s (`weft list tracepoints`)",
		wanted, near ? "; did you mean '" : "", near ? near : "",
		near ? "'?" : "");
	words_release(&l);
	return rc;
}

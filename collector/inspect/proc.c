/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/inspect/proc.h"

static const char deleted[] = " (deleted)";

int procfs_open(struct procfs *proc, const struct weft_identity *who)
{
	char path[32];
	int rc;

	proc->pid = who->pid;
	snprintf(path, sizeof(path), "/proc/%u", who->pid);
	proc->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	rc = procfs_check(proc, who->start_ns);
	if (rc)
		procfs_close(proc);
	return rc;
}

void procfs_close(struct procfs *proc)
{
	if (proc->dir >= 0)
		close(proc->dir);
	proc->dir = -1;
}

int procfs_check(const struct procfs *proc, uint64_t start_ns)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	char text[1024];
	unsigned long long ticks;
	const char *rest;
	ssize_t size = procfs_read(proc, "stat", text, sizeof(text));

	if (size < 0)
		return size == -ENOENT ? -ESRCH : (int)size;
	/* The name before the parenthesis may hold anything. */
	rest = strrchr(text, ')');
	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			    "%*u %*d %*d %*d %*d %*d %*d %llu",
			    &ticks) != 1)
		return -EPROTO;
	return ticks == start_ns / tick_ns ? 0 : -ESRCH;
}

ssize_t procfs_read(const struct procfs *proc, const char *name, char *out,
		    size_t size)
{
	int fd = openat(proc->dir, name, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = -errno;

	out[0] = '\0';
	if (fd < 0)
		return got;
	do {
		got = read(fd, out + length, size - 1 - length);
		if (got > 0)
			length += (size_t)got;
	} while (got > 0 && length < size - 1);
	if (got < 0)
		got = -errno;
	close(fd);
	if (got < 0)
		length = 0;
	out[length] = '\0';
	return got < 0 ? got : (ssize_t)length;
}

uint32_t procfs_find_number(const char *status, const char *name)
{
	const char *line = strstr(status, name);
	const char *end = line ? strchr(line + strlen(name), '\n') : NULL;
	unsigned long number = 0;

	if (!end)
		return 0;
	for (const char *at = line + strlen(name); at < end;) {
		char *stop;

		number = strtoul(at, &stop, 10);
		if (stop == at)
			return 0;
		at = stop;
	}
	return (uint32_t)number;
}

ssize_t procfs_read_link(const struct procfs *proc, const char *name, char *out,
			 size_t size)
{
	ssize_t length = readlinkat(proc->dir, name, out, size - 1);

	if (length < 0) {
		length = -errno;
		out[0] = '\0';
		return length;
	}
	out[length] = '\0';
	return length;
}

int procfs_read_memory(const struct procfs *proc, uint64_t addr, void *out,
		       size_t size)
{
	struct iovec local = { out, size };
	struct iovec remote = { (void *)(uintptr_t)addr, size };
	ssize_t got =
		process_vm_readv((pid_t)proc->pid, &local, 1, &remote, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

size_t procfs_strip_deleted(char *path, size_t length)
{
	size_t tail = sizeof(deleted) - 1;

	if (length <= tail || memcmp(path + length - tail, deleted, tail))
		return length;
	path[length - tail] = '\0';
	return length - tail;
}

/* The kernel writes a newline within a path as \012, and nothing else so. */
static size_t undo_escapes(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		bool is_newline = !strncmp(from, "\\012", 4);

		*to = (char)(is_newline ? '\n' : *from);
		from += is_newline ? 4 : 1;
	}
	*to = '\0';
	return (size_t)(to - path);
}

static bool take_number(char **at, int base, char end, uint64_t *out)
{
	char *stop;

	/* strtoull() would take blanks and signs. */
	if (!strchr("0123456789abcdefABCDEF", **at) || !**at)
		return false;
	errno = 0;
	*out = strtoull(*at, &stop, base);
	if (errno || *stop != end)
		return false;
	*at = stop + (end != '\0');
	return true;
}

bool procfs_maps_parse(char *line, struct procfs_mapping *out)
{
	uint64_t major, minor;
	char *at = line, *modes;

	*out = (struct procfs_mapping){ .path = "" };
	if (!take_number(&at, 16, '-', &out->start) ||
	    !take_number(&at, 16, ' ', &out->end) || out->start >= out->end)
		return false;
	modes = at;
	if (strnlen(modes, 5) < 5 || modes[4] != ' ')
		return false;
	out->is_executable = modes[2] == 'x';
	out->is_shared = modes[3] == 's';
	at = modes + 5;
	if (!take_number(&at, 16, ' ', &out->file_offset) ||
	    !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor) || major > UINT32_MAX ||
	    minor > UINT32_MAX)
		return false;
	out->dev_major = (uint32_t)major;
	out->dev_minor = (uint32_t)minor;
	/* After the inode come blanks, if anything. */
	if (take_number(&at, 10, '\0', &out->inode))
		return true;
	if (!take_number(&at, 10, ' ', &out->inode))
		return false;
	at += strspn(at, " ");
	out->path = at;
	out->path_size = undo_escapes(at);
	return true;
}

int procfs_maps_open(struct procfs_maps *maps, const struct procfs *proc)
{
	maps->fill = 0;
	maps->at = 0;
	maps->n = 0;
	maps->is_end = false;
	maps->fd = openat(proc->dir, "maps", O_RDONLY | O_CLOEXEC);
	return maps->fd < 0 ? -errno : 0;
}

void procfs_maps_close(struct procfs_maps *maps)
{
	if (maps->fd >= 0)
		close(maps->fd);
	maps->fd = -1;
}

/* Find the end of the line at maps->at, reading on as needed. Returns NULL at
 * the end of the file; a line longer than the buffer counts as that. */
static char *find_line_end(struct procfs_maps *maps, int *rc)
{
	*rc = 0;
	for (;;) {
		char *end = memchr(maps->buffer + maps->at, '\n',
				   maps->fill - maps->at);
		ssize_t got;

		if (end || maps->is_end)
			return end;
		memmove(maps->buffer, maps->buffer + maps->at,
			maps->fill - maps->at);
		maps->fill -= maps->at;
		maps->at = 0;
		got = read(maps->fd, maps->buffer + maps->fill,
			   PROCFS_MAPS_BUFFER - maps->fill);
		if (got < 0) {
			*rc = -errno;
			return NULL;
		}
		maps->is_end = !got;
		maps->fill += (size_t)got;
	}
}

int procfs_maps_next(struct procfs_maps *maps, struct procfs_mapping *out)
{
	char *line, *end;
	int rc;

	if (maps->n == PROCFS_MAPS_LINES_MAX)
		return 0;
	do {
		end = find_line_end(maps, &rc);
		if (!end)
			return rc;
		*end = '\0';
		line = maps->buffer + maps->at;
		maps->at = (size_t)(end - maps->buffer) + 1;
	} while (!procfs_maps_parse(line, out));
	maps->n++;
	return 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * A process as /proc shows it, held by its directory: what is read through
 * it is that process's or fails, also when the pid is given to another.
 */
#ifndef WEFT_INSPECT_PROC_H
#define WEFT_INSPECT_PROC_H

#include "collector/inspect/wire.h"

#include <sys/types.h>

struct procfs {
	int dir; /* -1: not open */
	uint32_t pid;
};

/*
 * Open the directory of who and check that it is who (start time; exec_seq
 * does not show in /proc). Returns 0, -ESRCH (gone, or another now), or
 * another negative errno. Close with procfs_close().
 */
int procfs_open(struct procfs *proc,
		const struct weft_identity *who) MUST_CHECK;
void procfs_close(struct procfs *proc);

/* Whether it is still there and was started at start_ns. */
int procfs_check(const struct procfs *proc, uint64_t start_ns) MUST_CHECK;

/*
 * Read the start of a small file, or a link, into out, NUL-terminated and cut
 * to size - 1 bytes. Returns the length or a negative errno; out is then "".
 */
ssize_t procfs_read(const struct procfs *proc, const char *name, char *out,
		    size_t size);
ssize_t procfs_read_link(const struct procfs *proc, const char *name, char *out,
			 size_t size);

/* In the text of status: the number after name, the last where there are
 * several; 0 if none. name is "\nWORD:\t", so that no process's own name can
 * pass for it. */
uint32_t procfs_find_number(const char *status, const char *name);

/* Read memory. It may block for ever, on a page that the process serves
 * itself. Returns 0 or a negative errno (-EFAULT: not all of it is there). */
int procfs_read_memory(const struct procfs *proc, uint64_t addr, void *out,
		       size_t size) MUST_CHECK;

/* Cut " (deleted)" off a path that the kernel wrote. Returns its length. */
size_t procfs_strip_deleted(char *path, size_t length);

/* A line of /proc/PID/maps. */
struct procfs_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t dev_major, dev_minor;
	bool is_executable, is_shared;
	const char *path; /* as the kernel wrote it; "" if none */
	size_t path_size; /* without the NUL */
};

/* Parse one line, which is changed: ended by a NUL, escapes undone. Returns
 * false if it is not a line of maps. */
bool procfs_maps_parse(char *line, struct procfs_mapping *out);

enum {
	PROCFS_MAPS_BUFFER = 65536,
	PROCFS_MAPS_LINES_MAX = 200000 /* that are told of one process */
};

struct procfs_maps {
	int fd;
	size_t fill, at; /* of buffer */
	uint32_t n;      /* lines told */
	bool is_end;
	char buffer[PROCFS_MAPS_BUFFER + 1];
};

int procfs_maps_open(struct procfs_maps *maps,
		     const struct procfs *proc) MUST_CHECK;
void procfs_maps_close(struct procfs_maps *maps);

/* Next line that parses. Returns 1, 0 at the end or after the last that is
 * told, or a negative errno. What out points at is good until the next call. */
int procfs_maps_next(struct procfs_maps *maps, struct procfs_mapping *out);

#endif

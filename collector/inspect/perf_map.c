/* SPDX-License-Identifier: MIT */
/* Names for addresses of JIT code. A map grows all the time: what was read is
 * kept, and only what came since is read the next time. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/inspect/names.h"
#include "collector/perf_map.h"

enum {
	KEPT_MAX = 64,
	TAIL_SIZE = 64,
	BLOCK_SIZE = 1 << 20,
	/* For one request: a deadline is no place to read a large map. */
	READ_MAX = 16 << 20,
};

static const size_t kept_bytes_max = 192 << 20;

struct kept {
	dev_t dev;
	ino_t inode;
	uint64_t start_ns; /* of the process */
	off_t at;          /* read up to here */
	off_t skipped;     /* bytes at its begin that were not read */
	bool is_cut;       /* at is within a line to be skipped */
	/* The bytes before at: a file that was written anew differs. */
	char tail[TAIL_SIZE];
	size_t tail_size;
	uint64_t used; /* 0: empty */
	struct perf_map map;
};

static struct kept kept[KEPT_MAX];
static uint64_t kept_clock;

static void drop(struct kept *entry)
{
	perf_map_release(&entry->map);
	*entry = (struct kept){ 0 };
}

/* Returns bytes read, which may be fewer, or a negative errno. */
static ssize_t read_at(int fd, char *out, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got =
			pread(fd, out + done, size - done, at + (off_t)done);

		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static bool is_continued(const struct kept *entry, int fd,
			 const struct stat *st)
{
	char there[TAIL_SIZE];

	/* What was skipped may have replaced what was read. */
	return st->st_size >= entry->at &&
	       st->st_size - entry->at <= PERF_MAP_BYTES_MAX &&
	       read_at(fd, there, entry->tail_size,
		       entry->at - (off_t)entry->tail_size) ==
		       (ssize_t)entry->tail_size &&
	       !memcmp(there, entry->tail, entry->tail_size);
}

static size_t bytes_of(const struct perf_map *map)
{
	return map->room * sizeof(*map->entries) + map->names_room +
	       map->places_room * sizeof(*map->places);
}

/* Drop those that were not asked for longest, but not the newest. */
static void make_room(const struct kept *newest)
{
	for (;;) {
		struct kept *oldest = NULL;
		size_t bytes = 0;

		for (int i = 0; i < KEPT_MAX; i++) {
			bytes += bytes_of(&kept[i].map);
			if (kept[i].used && &kept[i] != newest &&
			    (!oldest || kept[i].used < oldest->used))
				oldest = &kept[i];
		}
		if (bytes <= kept_bytes_max || !oldest)
			return;
		drop(oldest);
	}
}

static struct kept *find_kept(int fd, const struct stat *st, uint64_t start_ns)
{
	struct kept *entry = NULL, *oldest = &kept[0];

	for (int i = 0; i < KEPT_MAX; i++) {
		if (kept[i].used < oldest->used)
			oldest = &kept[i];
		if (kept[i].used && kept[i].dev == st->st_dev &&
		    kept[i].inode == st->st_ino && kept[i].start_ns == start_ns)
			entry = &kept[i];
	}
	if (entry && is_continued(entry, fd, st))
		return entry;
	if (!entry)
		entry = oldest;
	drop(entry);
	entry->dev = st->st_dev;
	entry->inode = st->st_ino;
	entry->start_ns = start_ns;
	/* Of a file beyond the limit the end counts: later entries win. The
	 * line that is cut there is malformed, or has a wrong address. */
	if (st->st_size > PERF_MAP_BYTES_MAX) {
		entry->skipped = st->st_size - PERF_MAP_BYTES_MAX;
		entry->at = entry->skipped;
		entry->is_cut = true;
	}
	return entry;
}

static void keep_tail(struct kept *entry, const char *text, size_t used)
{
	entry->tail_size = used < TAIL_SIZE ? used : TAIL_SIZE;
	memcpy(entry->tail, text + used - entry->tail_size, entry->tail_size);
}

/* Skip to the line after the place where reading began within one. */
static size_t skip_cut_line(const char *text, size_t size)
{
	const char *end = memchr(text, '\n', size);

	return end ? (size_t)(end - text) + 1 : size;
}

/* Returns 0, -EAGAIN (there is more to read, by another request), or why it
 * failed. */
static int read_on(struct kept *entry, int fd, const struct stat *st)
{
	static char block[BLOCK_SIZE];
	off_t end = entry->at + READ_MAX;

	while (entry->at < st->st_size) {
		ssize_t size = read_at(fd, block, sizeof(block), entry->at);
		size_t used = 0;
		int rc = 0;

		if (size <= 0)
			return (int)size;
		if (entry->at >= end)
			return -EAGAIN;
		if (entry->is_cut)
			used = skip_cut_line(block, (size_t)size);
		else
			rc = perf_map_feed(&entry->map, block, (size_t)size,
					   &used);
		if (rc)
			return rc;
		entry->is_cut = false;
		/* A line that is longer than a block is not one; one that is
		 * cut at the end of the file may become one. */
		if (!used && size < BLOCK_SIZE)
			return 0;
		if (!used) {
			used = (size_t)size;
			entry->is_cut = true;
		}
		keep_tail(entry, block, used);
		entry->at += (off_t)used;
	}
	return 0;
}

/* Real and effective user. Returns how many, 0 where not to be told. */
static size_t read_uids(const struct procfs *proc, uid_t uids[2],
			uint32_t *inner_pid)
{
	char text[4096];
	const char *line;

	if (procfs_read(proc, "status", text, sizeof(text)) < 0)
		return 0;
	if (!*inner_pid)
		*inner_pid = procfs_find_number(text, "\nNSpid:\t");
	line = strstr(text, "\nUid:\t");
	return line && sscanf(line, "\nUid:\t%u\t%u", &uids[0], &uids[1]) == 2
		       ? 2
		       : 0;
}

static int open_map(const struct request *request)
{
	uint32_t inner_pid = request->head->inner_pid;
	struct procfs proc;
	uid_t uids[2];
	char path[48];
	int root, rc = procfs_open(&proc, &request->head->process);
	size_t n;

	if (rc)
		return rc;
	n = read_uids(&proc, uids, &inner_pid);
	snprintf(path, sizeof(path), "tmp/perf-%u.map", inner_pid);
	root = openat(proc.dir, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		rc = -errno;
		procfs_close(&proc);
		return rc;
	}
	rc = perf_map_open(root, path, uids, n);
	close(root);
	/* The process is there, its map is not. */
	if (rc == -ENOENT)
		rc = -ENODATA;
	procfs_close(&proc);
	return rc;
}

/* *out is what is kept of the process's map: nothing where it has none. */
static int load(const struct request *request, struct kept **out)
{
	static struct kept none;
	struct kept *entry;
	struct stat st;
	int fd = open_map(request), rc;

	*out = &none;
	if (fd < 0)
		return fd == -ENODATA ? 0 : fd;
	rc = fstat(fd, &st) ? -errno : 0;
	if (rc) {
		close(fd);
		return rc;
	}
	entry = find_kept(fd, &st, request->head->process.start_ns);
	rc = read_on(entry, fd, &st);
	close(fd);
	if (rc && rc != -EAGAIN) {
		drop(entry);
		return rc;
	}
	entry->used = ++kept_clock;
	make_room(entry);
	*out = entry;
	return rc;
}

enum inspect_status inspect_op_perf_map(const struct request *request,
					struct reply *reply)
{
	const struct perf_entry *found[INSPECT_NAMES_MAX];
	struct perf_map *map;
	struct kept *entry;
	int rc = load(request, &entry);

	if (rc == -EAGAIN)
		return INSPECT_DEFERRED;
	map = &entry->map;
	reply->own.perf_map = (struct wire_perf_map){
		.bad_lines = map->bad_lines,
		.first_bad_line = map->first_bad_line,
		.skipped_bytes = (uint64_t)entry->skipped,
		.dropped = map->dropped,
	};
	reply->own_size = sizeof(reply->own.perf_map);
	if (!rc)
		perf_map_find(map, request->offsets, request->head->n_offsets,
			      found);
	for (uint32_t i = 0; i < request->head->n_offsets && !rc; i++) {
		struct wire_name wire = { .name = WIRE_NO_STRING,
					  .linkage_name = WIRE_NO_STRING,
					  .source = WIRE_SOURCE_PERF_MAP };

		if (found[i]) {
			wire.start = found[i]->start;
			wire.version = perf_map_version(map, found[i]);
			rc = inspect_add_name(reply,
					      map->names + found[i]->name,
					      found[i]->name_size, &wire);
		}
		if (!rc)
			rc = reply_add(reply, &wire, sizeof(wire));
	}
	return inspect_to_status(rc);
}

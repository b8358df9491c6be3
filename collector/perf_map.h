/* SPDX-License-Identifier: MIT */
/*
 * The list of functions that a JIT compiler leaves in /tmp/perf-PID.map: lines
 * of start, size (hex) and name. Anybody can have put it there.
 */
#ifndef WEFT_PERF_MAP_H
#define WEFT_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PERF_MAP_BYTES_MAX = 64 << 20, /* of a file, from its end */
	PERF_MAP_ENTRIES_MAX = 2 << 20,
	PERF_MAP_NAME_MAX = 16384,
	/* Entries looked at for one address, where many cover it. */
	PERF_MAP_STEPS_MAX = 1 << 16,
};

struct perf_entry {
	uint64_t start, end;
	uint32_t name; /* in names */
	uint32_t name_size;
};

/* An entry in the order of starts. */
struct perf_place {
	uint64_t start;
	uint64_t reach; /* the highest end of this and those before it */
	uint32_t entry;
};

/* Zero is an empty map. */
struct perf_map {
	struct perf_entry *entries; /* owned; in the order of the file */
	size_t n, room;
	char *names; /* owned; in the same order */
	size_t names_size, names_room;
	struct perf_place *places; /* owned; of the first n_places entries */
	size_t n_places, places_room;
	uint64_t lines, bad_lines;
	uint64_t first_bad_line; /* counted from 1; 0: none */
	uint64_t dropped;        /* the oldest, at the limits above */
};

void perf_map_release(struct perf_map *map);

/*
 * Take the whole lines of text; *used is how many bytes these are. A line cut
 * at the end is left for the next time. Malformed lines are counted; where
 * there are too many good ones, the oldest go. Returns 0 or -ENOMEM.
 */
int perf_map_feed(struct perf_map *map, const char *text, size_t size,
		  size_t *used);

/*
 * For each address the entry that covers it, or NULL. Where several do, the
 * latest in the file: code is replaced at its address.
 */
void perf_map_find(struct perf_map *map, const uint64_t *addresses, size_t n,
		   const struct perf_entry **out);

/*
 * A number that tells functions apart which lay at one address after each
 * other, never 0. Lines that are equal in start, size and name are one
 * function: JITs repeat themselves, and write their whole map anew.
 */
uint32_t perf_map_version(const struct perf_map *map,
			  const struct perf_entry *entry);

/*
 * Open a perf map below a root directory: no link is followed out of the
 * root, none at the end; a regular file, of one name, owned by one of the
 * uids or by root. Returns an fd, or a negative errno: -ENOENT (there is
 * none), -EPERM (it is another's), -EINVAL (not a regular file), -ELOOP (a
 * link), -EMLINK.
 */
int perf_map_open(int root, const char *path, const uid_t *uids, size_t n_uids);

#endif

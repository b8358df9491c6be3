/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/perf_map.h"

enum {
	UNSORTED_MAX = 1024 /* of the newest entries */
};

void perf_map_release(struct perf_map *map)
{
	free(map->entries);
	free(map->names);
	free(map->places);
	*map = (struct perf_map){ 0 };
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read a number, with or without 0x, and the blanks after it, of which there
 * must be some. Returns what follows, or NULL. */
static const char *take_hex(const char *at, const char *end, uint64_t *out)
{
	const char *first;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	*out = 0;
	for (first = at; at < end && hex_digit(*at) >= 0; at++) {
		if (*out >> 60)
			return NULL;
		*out = *out << 4 | (uint64_t)hex_digit(*at);
	}
	if (at == first || at == end || (*at != ' ' && *at != '\t'))
		return NULL;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

static int grow(void **data, size_t *room, size_t want, size_t each)
{
	size_t more = *room ? *room : 1024;
	void *bigger;

	if (want <= *room)
		return 0;
	while (more < want)
		more *= 2;
	bigger = reallocarray(*data, more, each);
	if (!bigger)
		return -ENOMEM;
	*data = bigger;
	*room = more;
	return 0;
}

/* What is older counts least: it is the likeliest to have been replaced. */
static void drop_older_half(struct perf_map *map)
{
	size_t n = (map->n + 1) / 2;
	size_t size = n < map->n ? map->entries[n].name : map->names_size;

	map->n -= n;
	map->names_size -= size;
	memmove(map->entries, map->entries + n, map->n * sizeof(*map->entries));
	memmove(map->names, map->names + size, map->names_size);
	for (size_t i = 0; i < map->n; i++)
		map->entries[i].name -= (uint32_t)size;
	map->dropped += n;
	map->n_places = 0;
}

static int append(struct perf_map *map, uint64_t start, uint64_t size,
		  const char *name, size_t name_size)
{
	void *entries = map->entries, *names = map->names;
	int rc;

	while (map->n == PERF_MAP_ENTRIES_MAX ||
	       map->names_size + name_size > PERF_MAP_BYTES_MAX)
		drop_older_half(map);
	rc = grow(&entries, &map->room, map->n + 1, sizeof(*map->entries));
	map->entries = entries;
	if (rc)
		return rc;
	rc = grow(&names, &map->names_room, map->names_size + name_size, 1);
	map->names = names;
	if (rc)
		return rc;
	memcpy(map->names + map->names_size, name, name_size);
	map->entries[map->n++] = (struct perf_entry){
		.start = start,
		.end = start + size,
		.name = (uint32_t)map->names_size,
		.name_size = (uint32_t)name_size,
	};
	map->names_size += name_size;
	return 0;
}

/* Returns 0, -EINVAL (malformed) or -ENOMEM. */
static int take_line(struct perf_map *map, const char *at, const char *end)
{
	uint64_t start, size;

	if (end > at && end[-1] == '\r')
		end--;
	at = take_hex(at, end, &start);
	if (at)
		at = take_hex(at, end, &size);
	if (!at || at == end || !size || size > UINT64_MAX - start ||
	    end - at > PERF_MAP_NAME_MAX || memchr(at, 0, (size_t)(end - at)))
		return -EINVAL;
	return append(map, start, size, at, (size_t)(end - at));
}

int perf_map_feed(struct perf_map *map, const char *text, size_t size,
		  size_t *used)
{
	const char *at = text, *end = text + size;
	int rc = 0;

	while (at < end && rc != -ENOMEM) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		if (!stop)
			break;
		rc = take_line(map, at, stop);
		map->lines++;
		if (rc == -EINVAL) {
			map->bad_lines++;
			if (!map->first_bad_line)
				map->first_bad_line = map->lines;
		}
		at = stop + 1;
	}
	*used = (size_t)(at - text);
	return rc == -ENOMEM ? rc : 0;
}

struct asked {
	uint64_t address;
	size_t at; /* in the caller's order */
};

static int compare(const void *a, const void *b)
{
	const struct asked *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* The first of the sorted addresses that is not below start. */
static size_t find_first(const struct asked *asked, size_t n, uint64_t start)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (asked[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int compare_places(const void *a, const void *b)
{
	const struct perf_place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->entry > y->entry) - (x->entry < y->entry);
}

/* Sort all entries by start. Without memory there are no places, and finding
 * goes through the entries. */
static void make_places(struct perf_map *map)
{
	void *places = map->places;
	uint64_t reach = 0;

	map->n_places = 0;
	if (grow(&places, &map->places_room, map->n, sizeof(*map->places)))
		return;
	map->places = places;
	for (size_t i = 0; i < map->n; i++)
		map->places[i] = (struct perf_place){
			.start = map->entries[i].start,
			.entry = (uint32_t)i,
		};
	qsort(map->places, map->n, sizeof(*map->places), compare_places);
	for (size_t i = 0; i < map->n; i++) {
		uint64_t end = map->entries[map->places[i].entry].end;

		reach = end > reach ? end : reach;
		map->places[i].reach = reach;
	}
	map->n_places = map->n;
}

static const struct perf_entry *find_in_places(const struct perf_map *map,
					       uint64_t address)
{
	const struct perf_entry *latest = NULL;
	size_t low = 0, high = map->n_places;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (map->places[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (int steps = 0; low-- && map->places[low].reach > address;
	     steps++) {
		const struct perf_entry *entry =
			&map->entries[map->places[low].entry];

		if (steps == PERF_MAP_STEPS_MAX)
			return NULL; /* made to be slow */
		if (entry->end > address && (!latest || entry > latest))
			latest = entry;
	}
	return latest;
}

/* There are few questions and many entries: the questions are sorted, and
 * entries too, but for the newest, which are too few to sort all for. */
void perf_map_find(struct perf_map *map, const uint64_t *addresses, size_t n,
		   const struct perf_entry **out)
{
	struct asked *asked = calloc(n + 1, sizeof(*asked));

	for (size_t i = 0; i < n; i++)
		out[i] = NULL;
	if (!asked)
		return;
	for (size_t i = 0; i < n; i++)
		asked[i] = (struct asked){ addresses[i], i };
	qsort(asked, n, sizeof(*asked), compare);
	if (map->n - map->n_places > UNSORTED_MAX + map->n_places / 4)
		make_places(map);
	for (size_t i = map->n; i-- > map->n_places;) {
		const struct perf_entry *entry = &map->entries[i];
		size_t k = find_first(asked, n, entry->start);

		for (; k < n && asked[k].address < entry->end; k++) {
			if (!out[asked[k].at])
				out[asked[k].at] = entry;
		}
	}
	free(asked);
	for (size_t i = 0; i < n; i++) {
		if (!out[i])
			out[i] = find_in_places(map, addresses[i]);
	}
}

/* FNV-1a. */
static uint64_t hash_more(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *at = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3;
	return hash;
}

/* Depends on the entry alone: whichever inspector reads it, and in whichever
 * recording, the number is the same. */
uint32_t perf_map_version(const struct perf_map *map,
			  const struct perf_entry *entry)
{
	uint64_t hash = 0xcbf29ce484222325;
	uint32_t folded;

	hash = hash_more(hash, &entry->start, sizeof(entry->start));
	hash = hash_more(hash, &entry->end, sizeof(entry->end));
	hash = hash_more(hash, map->names + entry->name, entry->name_size);
	folded = (uint32_t)(hash ^ hash >> 32);
	return folded ? folded : 1;
}

static int check(int fd, const uid_t *uids, size_t n_uids)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* Another name of a file that root owns is no perf map of root's. */
	if (st.st_nlink != 1)
		return -EMLINK;
	if (!st.st_uid)
		return 0;
	for (size_t i = 0; i < n_uids; i++) {
		if (st.st_uid == uids[i])
			return 0;
	}
	return -EPERM;
}

int perf_map_open(int root, const char *path, const uid_t *uids, size_t n_uids)
{
	/* A reference only: opening a FIFO or a device can block or act. */
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	char link[32];
	int rc;

	if (fd < 0)
		return -errno;
	rc = check(fd, uids, n_uids);
	if (!rc) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		rc = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (rc < 0)
			rc = -errno;
	}
	close(fd);
	return rc;
}

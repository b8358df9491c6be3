/* SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/throttle.h"

enum {
	/* After the page that describes it: room for what two seconds of
	 * throttling in each tick of 250 Hz leave. A power of two. */
	DATA_PAGES = 8
};

void throttle_open(struct throttle *t, int fd)
{
	*t = (struct throttle){
		.size = (1 + DATA_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
	};
	t->ring =
		mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t->ring == MAP_FAILED)
		t->ring = NULL;
}

void throttle_close(struct throttle *t)
{
	if (t->ring)
		munmap(t->ring, t->size);
	*t = (struct throttle){ 0 };
}

/* Copy from the ring, which may go on at its beginning. */
static void copy_from(const char *data, uint64_t room, uint64_t at, void *to,
		      size_t size)
{
	size_t first = room - at % room < size ? room - at % room : size;

	memcpy(to, data + at % room, first);
	memcpy((char *)to + first, data, size - first);
}

uint64_t throttle_take(struct throttle *t)
{
	struct perf_event_mmap_page *page = t->ring;
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
	} record;
	uint64_t n = 0, at, end, room;
	const char *data;

	if (!page)
		return 0;
	data = (const char *)t->ring + page->data_offset;
	room = page->data_size;
	at = page->data_tail;
	end = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	while (end - at >= sizeof(record.header)) {
		copy_from(data, room, at, &record.header,
			  sizeof(record.header));
		if (record.header.size < sizeof(record.header))
			break;
		if (record.header.type == PERF_RECORD_THROTTLE)
			n++;
		/* Each time it is held back it is let go again, too. */
		if (record.header.type == PERF_RECORD_LOST) {
			copy_from(data, room, at, &record, sizeof(record));
			n += record.lost / 2;
		}
		at += record.header.size;
	}
	__atomic_store_n(&page->data_tail, end, __ATOMIC_RELEASE);
	return n;
}

/* SPDX-License-Identifier: MIT */
/* The runtime of Go, of version OLDER_GO ("go1.24.2"), as far as labels need
 * it: OLDER_CURG, OLDER_AT and OLDER_SLICE say how that one lays them out. */
#ifndef OLDER_GO_H
#define OLDER_GO_H

#include <string.h>

#include "tests/load/older/ids.h"

/* As in debug/buildinfo: the version's length stands before it. */
__attribute__((section(".go.buildinfo"), used, aligned(16))) static struct {
	char magic[14];
	uint8_t pointer_size, flags;
	uint8_t unused[16];
	uint8_t length;
	char version[sizeof(OLDER_GO) - 1];
} build_info = { "\xff Go buildinf:",  8,       2, { 0 },
		 sizeof(OLDER_GO) - 1, OLDER_GO };

__thread void *tlsg __asm__("runtime.tlsg");
/* That the variable is not the program's only one, nor the last. */
static __thread uint64_t other[3];

struct go_string {
	const char *at;
	size_t size;
};

struct go_writer {
	uint8_t m[512], g0[512], g[512];
	struct {
		struct ids ids;
		struct {
			struct go_string key, value;
		} list[3];
		struct {
			uint8_t hashes[8];
			struct go_string keys[8], values[8];
			void *next;
		} buckets[2];
		struct {
			uint64_t count;
			uint8_t flags, log2_buckets, rest[6];
			void *buckets;
		} map;
		union {
			void *map;
			struct {
				void *at;
				size_t size, room;
			} slice;
		} labels;
	} both[2];
	unsigned turn;
};

static struct go_string go_text(const char *text)
{
	return (struct go_string){ text, strlen(text) };
}

static void put(void *at, size_t offset, const void *pointer)
{
	memcpy((uint8_t *)at + offset, &pointer, sizeof(pointer));
}

static void go_attach(struct go_writer *w, const struct ids *ids)
{
	unsigned turn = w->turn++ & 1;
	struct go_string route = go_text("route"), value = go_text("/x");

	w->both[turn].ids = *ids;
	if (OLDER_SLICE) {
		w->both[turn].list[0].key = route;
		w->both[turn].list[0].value = value;
		w->both[turn].list[1].key = go_text("span_id");
		w->both[turn].list[1].value = go_text(w->both[turn].ids.span);
		w->both[turn].list[2].key = go_text("trace_id");
		w->both[turn].list[2].value = go_text(w->both[turn].ids.trace);
		w->both[turn].labels.slice.at = w->both[turn].list;
		w->both[turn].labels.slice.size = 3;
	} else {
		/* Empty and moved slots are below 5. */
		memset(w->both[turn].buckets, 0, sizeof(w->both[0].buckets));
		w->both[turn].buckets[0].hashes[1] = 77;
		w->both[turn].buckets[0].keys[1] = route;
		w->both[turn].buckets[0].values[1] = value;
		w->both[turn].buckets[0].hashes[2] = 4;
		w->both[turn].buckets[0].keys[2] = go_text("trace_id");
		w->both[turn].buckets[0].values[2] =
			go_text("00000000000000000000000000000001");
		w->both[turn].buckets[1].hashes[0] = 200;
		w->both[turn].buckets[1].keys[0] = go_text("trace_id");
		w->both[turn].buckets[1].values[0] =
			go_text(w->both[turn].ids.trace);
		w->both[turn].buckets[1].hashes[7] = 5;
		w->both[turn].buckets[1].keys[7] = go_text("span_id");
		w->both[turn].buckets[1].values[7] =
			go_text(w->both[turn].ids.span);
		w->both[turn].map.count = 3;
		w->both[turn].map.log2_buckets = 1;
		w->both[turn].map.buckets = w->both[turn].buckets;
		w->both[turn].labels.map = &w->both[turn].map;
	}
	/* The thread is on its scheduler's stack: not g0's labels count, but
	 * those of the goroutine that runs. */
	put(w->g0, 48, w->m);
	put(w->g, 48, w->m);
	put(w->m, 0, w->g0);
	put(w->m, OLDER_CURG, w->g);
	tlsg = w->g0;
	other[0]++;
	BARRIER();
	put(w->g, OLDER_AT, &w->both[turn].labels);
}

static void go_detach(struct go_writer *w)
{
	put(w->g, OLDER_AT, NULL);
}

#endif

/* SPDX-License-Identifier: MIT */
/* Rings of perf's side-band, with records in them as no kernel writes them.
 * The source is included: what reads the rings is its own. The kernel program's
 * notices are left out. */
#include <bpf/libbpf.h>
#define ring_buffer__consume(notices) ((void)(notices))

#include "collector/sideband.c"

#include "tests/fuzz/fuzz.h"

enum {
	RING = 8192,
	PAGE = 4096
};

static void look(void *ctx, const struct sideband_event *e)
{
	size_t *seen = ctx;

	if (e->kind == SIDEBAND_MMAP) {
		*seen += strlen(e->mmap.path);
		if (e->mmap.build_id_size > SIDEBAND_BUILD_ID_MAX)
			abort();
	}
	if (e->kind == SIDEBAND_KSYMBOL)
		*seen += strlen(e->ksymbol.name);
	if (e->kind == SIDEBAND_EXEC || e->kind == SIDEBAND_COMM)
		*seen += strlen(e->comm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *memory = calloc(1, PAGE + RING);
	struct ring ring = { .fd = -1, .page = (void *)memory };
	struct sideband s = { .rings = &ring,
			      .n_rings = 1,
			      .ring_bytes = RING,
			      .page_bytes = PAGE,
			      .record = malloc(RECORD_MAX) };
	struct weft_err err;
	size_t seen = 0;
	uint64_t from;

	/* Records begin at multiples of 8 and may wrap around the end. */
	if (memory && s.record && size > 2 && size - 2 <= RING) {
		from = (data[0] | (uint64_t)data[1] << 8) * 8;
		ring.page->data_tail = from;
		ring.page->data_head = from + ((size - 2) & ~(size_t)7);
		for (size_t i = 0; i + 2 < size; i++)
			memory[PAGE + (from + i) % RING] = data[i + 2];
		(void)!sideband_drain(&s, UINT64_MAX, look, &seen, &err);
		if (sideband_is_pending(&s) ||
		    ring.page->data_tail > ring.page->data_head)
			abort();
	}
	free(s.record);
	free(s.pending);
	free(s.text);
	free(memory);
	return seen > SIZE_MAX / 2;
}

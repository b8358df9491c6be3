/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <errno.h>

#include "collector/map_drain.h"

int map_drain(int fd, void *keys, void *values, uint32_t room,
	      int (*fn)(void *ctx, uint32_t n), void *ctx)
{
	uint64_t position = 0; /* opaque to us */
	void *from = NULL;

	for (;;) {
		uint32_t n = room;
		int rc = bpf_map_lookup_and_delete_batch(
			fd, from, &position, keys, values, &n, NULL);
		bool is_last = rc == -ENOENT;

		if (rc && !is_last)
			return rc;
		rc = fn(ctx, n);
		if (rc || is_last)
			return rc;
		from = &position;
	}
}

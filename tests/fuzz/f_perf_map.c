/* SPDX-License-Identifier: MIT */
#include "collector/perf_map.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint64_t addresses[] = { 0, 0x1000, 0x1010, ~UINT64_C(0) };
	const struct perf_entry *found[4];
	struct perf_map map = { 0 };
	size_t used;

	if (!perf_map_feed(&map, (const char *)data, size, &used))
		perf_map_find(&map, addresses, 4, found);
	perf_map_release(&map);
	return 0;
}

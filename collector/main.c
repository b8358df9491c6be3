/* SPDX-License-Identifier: MIT */
/* weft-record: the recorder. */
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>
#include <uv.h>

#include "collector/record.h"

/*
 * Intervals are large arrays that come and go, on two threads. By itself glibc
 * would soon take them from the heap, where they leave holes, and of each
 * thread its own: a recording held twice the memory that it used. From this
 * size on they are mappings, which are given back (and grow without a copy).
 */
static void give_memory_back(void)
{
	mallopt(M_MMAP_THRESHOLD, 256 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	mallopt(M_ARENA_MAX, 2);
}

/* Where libuv's table of descriptors cannot grow it aborts. It is to end with a
 * sentence; what was committed is in the file. */
static void *grow_or_end(void *old, size_t size)
{
	void *grown = realloc(old, size);

	if (!grown && size) {
		weft_log(WEFT_ERROR, "out of memory for the event loop; what "
				     "was written so far is in the file");
		_exit(WEFT_EXIT_FAILED);
	}
	return grown;
}

int main(int argc, char **argv)
{
	struct record_opts opts;
	int status = WEFT_EXIT_OK;

	give_memory_back();
	uv_replace_allocator(malloc, grow_or_end, calloc, free);
	weft_log_init("weft record", WEFT_INFO);
	switch (options_parse(argc, argv, &opts)) {
	case OPTIONS_DONE:
		break;
	case OPTIONS_REFUSED:
		status = WEFT_EXIT_USAGE;
		break;
	case OPTIONS_RECORD:
		weft_log_init("weft record", opts.log_level);
		status = record(&opts);
	}
	options_release(&opts);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * A sealed recording of very many samples, to ask questions of. The same
 * numbers make the same file. It is made under another name, so that a file
 * of that name is always a whole one.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/service.h"

enum {
	SAMPLES_OF_INTERVAL = 10000,
	/* Of ten million samples two thirds are of a million requests. */
	LONGEST = 22
};

int main(int argc, char **argv)
{
	uint64_t samples = 10000000, n, intervals;
	const struct store_batch *batch;
	struct weft_err err = { 0 };
	char path[PATH_MAX];
	struct service *s;
	struct store *st;

	if (argc < 2 || argc > 3 ||
	    (argc == 3 && weft_parse_u64(argv[2], SAMPLES_OF_INTERVAL,
					 1000000000, &samples))) {
		fprintf(stderr, "usage: generate FILE [SAMPLES]\n");
		return 2;
	}
	intervals = samples / SAMPLES_OF_INTERVAL;
	snprintf(path, sizeof(path), "%s.new", argv[1]);
	s = service_new(SAMPLES_OF_INTERVAL, LONGEST, 1);
	st = service_open(path);
	for (n = 0; n < intervals; n++) {
		batch = service_next(s);
		service_write(s, st, batch);
		service_checkpoint(st);
	}
	if (store_close(st, service_end_ns(intervals), &err)) {
		fprintf(stderr, "generate: %s\n", err.msg);
		return 1;
	}
	service_free(s);
	if (rename(path, argv[1])) {
		perror("generate: cannot rename the finished file");
		return 1;
	}
	return 0;
}

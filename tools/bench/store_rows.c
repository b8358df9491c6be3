/* SPDX-License-Identifier: MIT */
/*
 * CPU time that the writer takes for detail rows, with all that comes with
 * them: stacks, traces, names, sealing, close; and with the counts of shape,
 * unless they are left out. Making the rows up is not measured. Prints rows,
 * CPU seconds of writing, of sealing and checkpoints, and of closing, and rows
 * per CPU-second.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/bench/service.h"

enum {
	LONGEST = 150 /* samples of a request */
};

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	uint64_t rows, per_interval, n = 0;
	double writing = 0, sealing = 0, closing, start;
	struct store_batch batch;
	struct weft_err err = { 0 };
	struct service *s;
	struct store *st;
	bool with_shape = argc == 4;

	if (argc < 4 || argc > 5 || (argc == 5 && strcmp(argv[4], "detail")) ||
	    weft_parse_u64(argv[2], 1, 1000000000, &rows) ||
	    weft_parse_u64(argv[3], 1, 10000000, &per_interval)) {
		fprintf(stderr, "usage: store_rows FILE ROWS PER_INTERVAL "
				"[detail]\n");
		return 2;
	}
	s = service_new((uint32_t)per_interval, LONGEST, 1);
	st = service_open(argv[1]);
	while (n < rows) {
		batch = *service_next(s);
		if (!with_shape)
			batch.n_counts = 0;
		start = cpu_seconds();
		service_write(s, st, &batch);
		writing += cpu_seconds() - start;
		start = cpu_seconds();
		service_checkpoint(st);
		sealing += cpu_seconds() - start;
		n += per_interval;
	}
	start = cpu_seconds();
	if (store_close(st, service_end_ns(n / per_interval), &err)) {
		fprintf(stderr, "store_rows: %s\n", err.msg);
		return 1;
	}
	closing = cpu_seconds() - start;
	printf("%llu\t%.2f\t%.2f\t%.2f\t%.0f\n", (unsigned long long)n, writing,
	       sealing, closing, (double)n / (writing + sealing + closing));
	service_free(s);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The short form of recording measures: weft-record, as a child of ours. */
#ifndef WEFT_MEASURE_RUN_H
#define WEFT_MEASURE_RUN_H

#include "store/weft.h"

struct measure_run {
	const char *const *text; /* measures */
	size_t n_text;
	const char *pid, *tid, *cgroup, *duration, *max_keys; /* NULL: none */
	uint64_t examples;    /* of each bucket; 0: none */
	const char *output;   /* NULL: a file that is gone afterwards */
	char *const *command; /* NULL: none */
	uint64_t every_ns;    /* 0: only at the end */
	/* Called every so often, and once at the end; path is the file. Its
	 * failures while recording are not told: there may be nothing yet. */
	int (*print)(void *ctx, const char *path, bool is_last,
		     struct weft_err *err);
	void *ctx;
};

/* Record, and print. Returns an exit status: that of weft-record, which is
 * CMD's, unless printing fails; has said what went wrong. */
int measure_run(const struct measure_run *run);

#endif

/* SPDX-License-Identifier: MIT */
/* Where the time went, added up and sorted. What weft top prints. */
#ifndef WEFT_TOP_H
#define WEFT_TOP_H

#include "query/report.h"
#include "query/stacks.h"

enum top_by {
	TOP_BY_FUNCTION,
	TOP_BY_STACK,
	TOP_BY_PROCESS,
	TOP_BY_THREAD,
	TOP_BY_BINARY,
	TOP_BY_COUNT
};

/* A row that has been added up. */
struct top_row {
	char *name;    /* owned: function, path, folded stack or comm */
	char *more;    /* owned: binary of a function, exe of a process */
	char *service; /* owned, or NULL */
	int64_t id, pid, tid; /* what there is of them, else 0 */
	struct tally self, total;
	struct ends *ends; /* owned; of a process, else NULL */
};

/* Zero, then set the inputs. */
struct top {
	/* Inputs. */
	enum top_by by;
	int64_t pid; /* 0: all */

	struct report report;
	struct stacks *stacks; /* owned; NULL by process and thread */
	bool is_estimated;
	int64_t trace; /* 0: all */
	char hex[33];
	struct top_row *rows; /* owned; the largest first */
	size_t n_rows;
	struct tally all;
	struct ends ends; /* of all; not by thread */
};

/* Open the file and load it all; trace: an ID, NULL for all. Release on every
 * path. */
int top_load(struct top *top, const struct cli_common *common, const char *file,
	     const char *trace, struct weft_err *err) MUST_CHECK;
void top_release(struct top *top);

#endif

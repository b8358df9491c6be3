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
	TOP_BY_ATTRIBUTE, /* of --shape-by */
	TOP_BY_COUNT
};

/* A row that has been added up. */
struct top_row {
	char *name;    /* owned: function, path, folded stack or comm */
	char *more;    /* owned: binary of a function, exe of a process */
	char *service; /* owned, or NULL */
	int64_t id, pid, tid; /* what there is of them, else 0 */
	struct tally self, total;
	struct stats_interval self_in, total_in; /* of the share, in a pool */
	struct ends *ends; /* owned; of a process, else NULL */
};

struct pool;

/* Zero, then set the inputs. */
struct top {
	/* Inputs. */
	enum top_by by;
	int64_t pid;       /* 0: all */
	const char *value; /* of --shape-by's attribute; NULL: all */

	struct report report;
	struct stacks *stacks; /* owned; NULL by process and thread */
	bool is_estimated;
	bool is_by_value; /* shares are of values, not of samples: of blocks */
	int64_t trace;    /* 0: all */
	char hex[33];
	struct top_row *rows; /* owned; the largest first */
	size_t n_rows;
	struct tally all;
	struct ends ends;  /* of all; not by thread */
	struct pool *pool; /* owned; NULL: not of pooled requests (pool.h) */
};

/* Open the file and load it all; trace: an ID, NULL for all. Release on every
 * path. */
int top_load(struct top *top, const struct cli_common *common, const char *file,
	     const char *trace, struct weft_err *err) MUST_CHECK;
void top_release(struct top *top);

/* ---- For what loads it otherwise (pool.c). */

/* New rows: of a stack, its name one line; of a function or binary; of a
 * process or thread (columns: id, pid, tid, comm, service, exe). NULL: out of
 * memory. */
struct top_row *top_add_stack(struct top *top, int64_t stack_id);
struct top_row *top_add_function(struct top *top, const struct stacks_row *of);
struct top_row *top_add_task(struct top *top, struct sqlite3_stmt *stmt);

/* What rows are of by function and by binary. */
enum stacks_by top_stacks_by(const struct top *top);

/* All rows are there: sort them. -ENODATA: there is no sample. */
int top_finish(struct top *top, struct weft_err *err) MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/* What the parts of store/retention.h share; nobody else includes it. */
#ifndef WEFT_STORE_RETAIN_H
#define WEFT_STORE_RETAIN_H

#include "store/inside.h"
#include "store/retention.h"

enum {
	/* Samples in a step. Each touches a page of an index at random: this
	 * bounds what a step adds to the log. */
	RETAIN_SAMPLES = 4096,
	/* Rows of counts in a step: they lie side by side. */
	RETAIN_COUNTS = 32768,
	/* Rows that a step of a sweep reads, and at most deletes. */
	RETAIN_SWEPT = 8192,
};

/* How detail and counts stand in time, for one step. */
struct retention {
	const struct store_keep *keep; /* of this step; borrowed */
	struct store_gone *gone;       /* the same */
	int64_t now_ns;
	size_t stage;
	int64_t newest;    /* interval that nothing of goes */
	bool is_pressed;   /* over max_bytes: age does not matter */
	bool has_no_more;  /* detail that may go, while pressed */
	int64_t past;      /* samples up to that id are settled */
	int64_t traces_at; /* the same of traces, in this pass */
	int64_t reached_ns;
	int64_t merge_at[2]; /* intervals before are settled, by level */
	struct sweep *sweep; /* owned; NULL: none is under way */
	uint64_t removed;    /* rows that went since the last */
	bool has_swept;      /* in this pass */
};

/*
 * The stages. Each does one step: returns 1 if there may be more for it to do,
 * 0 if not, or a negative errno.
 */
int expire_detail(struct store *st, struct retention *r, struct weft_err *err);
int expire_exemplars(struct store *st, struct retention *r,
		     struct weft_err *err);
int expire_spans(struct store *st, struct retention *r, struct weft_err *err);
int rollup_minutes(struct store *st, struct retention *r, struct weft_err *err);
int rollup_hours(struct store *st, struct retention *r, struct weft_err *err);
int expire_counts(struct store *st, struct retention *r, struct weft_err *err);
int sweep_step(struct store *st, struct retention *r, struct weft_err *err);

/* What intervals may go by: Unix time up to which they ended. INT64_MIN: none.
 */
int64_t retain_until(const struct retention *r, uint64_t age_ns);

/* A transaction, or part of the one that is undone in the end. */
int retain_begin(struct store *st, struct weft_err *err) MUST_CHECK;
/* Commit if rc is 0, else roll back. Returns rc, or why it did not commit. */
int retain_end(struct store *st, int rc, struct weft_err *err) MUST_CHECK;

/* Run a statement with numbers for its parameters. */
int retain_run(struct store *st, enum store_sql which, const int64_t *values,
	       int n, struct weft_err *err) MUST_CHECK;

/* The number that a statement finds; 0: none. */
int retain_find(struct store *st, enum store_sql which, const int64_t *values,
		int n, int64_t *out, struct weft_err *err) MUST_CHECK;

/* Ids, ascending. */
struct retain_ids {
	int64_t id[RETAIN_SWEPT];
	size_t n;
};

/* Rows of these ids are no more: forget them. */
void retain_forget(struct memory *memory, struct retain_ids *ids);

void sweep_free(struct sweep *s);

#endif

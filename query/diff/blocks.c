/* SPDX-License-Identifier: MIT */
/*
 * Sets of time: the intervals of each side are put into blocks of equal
 * length, whole intervals each. A block must be longer than what repeats in a
 * program for blocks to be alike, and there must be enough of them.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "query/diff/diff.h"
#include "query/sums.h"

struct interval {
	int64_t id, start_ns, end_ns; /* Unix */
	size_t part;                  /* of the range */
};

/* The intervals of a report's range. */
struct intervals {
	struct interval *rows; /* owned */
	size_t n, room;
};

static int load_intervals(const struct report *r, struct intervals *to,
			  struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = 0;

	for (size_t i = 0; i < r->range.n_parts && !rc; i++) {
		rc = range_query(&r->range, i, r->db, QUERY_SQL_DIFF_INTERVALS,
				 &stmt, err);
		while (!rc && (rc = db_step(r->db, stmt, err)) > 0) {
			if (to->n == to->room) {
				size_t room = to->room ? 2 * to->room : 64;
				struct interval *rows = reallocarray(
					to->rows, room, sizeof(*rows));

				if (!rows)
					return diff_no_memory(err);
				to->rows = rows;
				to->room = room;
			}
			to->rows[to->n++] = (struct interval){
				sqlite3_column_int64(stmt, 0), db_time(stmt, 1),
				db_time(stmt, 2), i
			};
			rc = 0;
		}
	}
	return rc;
}

/* Add the counts of an interval to the sums by stack. */
static int sum_interval(const struct diff *d, size_t file,
			const struct interval *in, struct sums *sums,
			struct weft_err *err)
{
	const struct report *r = &d->reports[file];
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc = report_query(r, in->part, d->pid, QUERY_SQL_DIFF_COUNTS, &stmt,
			      err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 2, in->id);
	sqlite3_bind_int64(stmt, 3, in->id);
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		tally = diff_weighed(
			d, tally_of_shape(
				   (uint64_t)sqlite3_column_int64(stmt, 1),
				   (uint64_t)sqlite3_column_int64(stmt, 2)));
		if (sums_add(sums, sqlite3_column_int64(stmt, 0), &tally, 0, 0))
			return diff_no_memory(err);
	}
	return rc;
}

/* The intervals from first to last are a block. */
static int add_block(struct diff *d, enum compare_side side, size_t file,
		     const struct interval *first, const struct interval *last,
		     struct weft_err *err)
{
	struct sums sums = { 0 };
	double length = 0;
	int rc = 0;

	for (const struct interval *in = first; in <= last && !rc; in++) {
		length += (double)(in->end_ns - in->start_ns);
		rc = sum_interval(d, file, in, &sums, err);
	}
	for (size_t i = 0; i < sums.n && !rc; i++)
		if (diff_add(d, side, file, sums.rows[i].key,
			     &sums.rows[i].tally))
			rc = diff_no_memory(err);
	compare_end_cluster(&d->compare, side, length);
	sums_release(&sums);
	return rc;
}

/* A stretch of intervals is a side. */
static int add_side(struct diff *d, enum compare_side side, size_t file,
		    const struct interval *rows, size_t n, struct weft_err *err)
{
	double length = 0, until = 0;
	size_t first = 0, blocks = n < DIFF_BLOCKS ? n : DIFF_BLOCKS, block = 1;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		length += (double)(rows[i].end_ns - rows[i].start_ns);
	for (size_t i = 0; i < n && !rc; i++) {
		size_t left = n - 1 - i;

		until += (double)(rows[i].end_ns - rows[i].start_ns);
		/* Each block up to its time, and at least one interval for
		 * each that is left. */
		if (left > blocks - block &&
		    until * (double)blocks < length * ((double)block - 0.01))
			continue;
		if (left && block == blocks)
			continue;
		rc = add_block(d, side, file, &rows[first], &rows[i], err);
		first = i + 1;
		block++;
	}
	return rc;
}

static int cut_time(const struct diff *d, const char *option, const char *text,
		    int64_t *out, struct weft_err *err)
{
	const struct range *range = &d->reports[0].range;

	if (!range_parse_time(text, range->from_ns, range->until_ns, out))
		return 0;
	return weft_fail(err, -E2BIG,
			 "cannot read the time '%s' of --%s: give +S, -S "
			 "(seconds) or RFC 3339 with a zone, as "
			 "2026-11-29T17:00:00Z",
			 text, option);
}

/* One file: what ended before a time, what began after one. */
static int add_cut(struct diff *d, const struct intervals *all,
		   struct weft_err *err)
{
	bool is_swapped = !d->after;
	int64_t before, after;
	size_t n = 0, from = 0;
	int rc = cut_time(d, d->before ? "before" : "after",
			  d->before ? d->before : d->after, &before, err);

	if (!rc)
		rc = cut_time(d, d->after ? "after" : "before",
			      d->after ? d->after : d->before, &after, err);
	if (!rc && after < before)
		rc = weft_fail(err, -E2BIG,
			       "--after is before --before: what is between "
			       "would be on both sides");
	if (rc)
		return rc;
	while (n < all->n && all->rows[n].end_ns <= before)
		n++;
	for (from = n; from < all->n && all->rows[from].start_ns < after;)
		from++;
	d->left_out = (int64_t)(from - n);
	rc = add_side(d, is_swapped ? COMPARE_SECOND : COMPARE_FIRST, 0,
		      all->rows, n, err);
	if (!rc)
		rc = add_side(d, is_swapped ? COMPARE_FIRST : COMPARE_SECOND, 0,
			      all->rows + from, all->n - from, err);
	return rc;
}

static int open_file(struct diff *d, const struct cli_common *common,
		     size_t file, struct weft_err *err)
{
	struct report *r = &d->reports[d->n_reports++];
	struct cli_common asked = *common;
	int rc;

	if (file > 0) /* the same event */
		asked.event = d->reports[0].range.event;
	rc = report_open(r, &asked, d->files[file], err);
	if (!rc)
		rc = diff_items_load(d->items, file, r->db, err);
	if (!rc && file == 0)
		d->is_by_value = range_is_by_value(&r->range);
	return rc;
}

int diff_load_blocks(struct diff *d, const struct cli_common *common,
		     struct weft_err *err)
{
	size_t files = d->mode == DIFF_TWO_FILES ? 2 : 1;
	int rc = 0;

	for (size_t i = 0; i < files && !rc; i++) {
		struct intervals all = { 0 };

		rc = open_file(d, common, i, err);
		if (!rc)
			rc = load_intervals(&d->reports[i], &all, err);
		if (!rc)
			rc = files == 1 ? add_cut(d, &all, err)
					: add_side(d, (enum compare_side)i, i,
						   all.rows, all.n, err);
		free(all.rows);
	}
	return rc;
}

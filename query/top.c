/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/sums.h"
#include "query/top.h"

void top_release(struct top *top)
{
	size_t i;

	for (i = 0; i < top->n_rows; i++) {
		free(top->rows[i].name);
		free(top->rows[i].more);
		free(top->rows[i].service);
		free(top->rows[i].ends);
	}
	free(top->rows);
	free(top->pool);
	stacks_free(top->stacks);
	report_close(&top->report);
}

/* A new row with copies of the names; service may be NULL. NULL: out of
 * memory. */
static struct top_row *add_row(struct top *top, const char *name,
			       const char *more, const char *service)
{
	struct top_row *grown = top->rows, *row;

	if ((top->n_rows & (top->n_rows - 1)) == 0) /* a power of two: full */
		grown = reallocarray(top->rows,
				     top->n_rows ? 2 * top->n_rows : 1,
				     sizeof(*grown));
	if (!grown)
		return NULL;
	top->rows = grown;
	row = &grown[top->n_rows++];
	*row = (struct top_row){ .name = strdup(name), .more = strdup(more) };
	if (service)
		row->service = strdup(service);
	if (!row->name || !row->more || (service && !row->service))
		return NULL;
	return row;
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the rows of top");
}

/* What shares are of: samples, or their values. */
static struct tally weighed(const struct top *top, struct tally tally)
{
	if (top->is_by_value)
		tally_by_value(&tally);
	return tally;
}

/* What one row of a statement adds: exact, or of samples of one interval. */
static struct tally row_tally(const struct top *top, sqlite3_stmt *stmt,
			      int column)
{
	if (top->is_estimated)
		return weighed(top,
			       ledger_tally(&top->report.ledger, stmt, column));
	return weighed(
		top, tally_of_shape(
			     (uint64_t)sqlite3_column_int64(stmt, column),
			     (uint64_t)sqlite3_column_int64(stmt, column + 1)));
}

static int query(struct top *top, size_t part, enum query_sql id,
		 sqlite3_stmt **stmt, struct weft_err *err)
{
	int rc = report_query(&top->report, part, top->pid, id, stmt, err);

	if (rc)
		return rc;
	if (top->trace)
		sqlite3_bind_int64(*stmt, 5, top->trace);
	if (top->value)
		sqlite3_bind_text(*stmt, 5, top->value, -1, SQLITE_STATIC);
	return 0;
}

static int add_stacks(struct top *top, size_t part, struct weft_err *err)
{
	bool whole = top->report.range.is_whole;
	enum query_sql id = top->trace ? QUERY_SQL_TOP_STACKS_TRACE
			    : top->value
				    ? (whole ? QUERY_SQL_TOP_STACKS_VALUE_WHOLE
					     : QUERY_SQL_TOP_STACKS_VALUE_PART)
			    : whole ? QUERY_SQL_TOP_STACKS_WHOLE
				    : QUERY_SQL_TOP_STACKS_PART;
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = query(top, part, id, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(top->report.db, stmt, err)) > 0) {
		tally = row_tally(top, stmt, 1);
		stacks_add(top->stacks, sqlite3_column_int64(stmt, 0), &tally);
	}
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Stacks that differ only in addresses read the same: make them one row. */
static void merge_stacks(struct top *top)
{
	size_t i, kept = 0;

	if (top->n_rows)
		qsort(top->rows, top->n_rows, sizeof(*top->rows),
		      compare_names);
	for (i = 1; i < top->n_rows; i++) {
		struct top_row *row = &top->rows[i];

		if (strcmp(top->rows[kept].name, row->name)) {
			top->rows[++kept] = *row;
			continue;
		}
		tally_add(&top->rows[kept].self, &row->self);
		tally_add(&top->rows[kept].total, &row->total);
		free(row->name);
		free(row->more);
	}
	if (top->n_rows)
		top->n_rows = kept + 1;
}

struct top_row *top_add_stack(struct top *top, int64_t stack_id)
{
	char *folded = stacks_fold(top->stacks, stack_id);
	struct top_row *row = folded ? add_row(top, folded, "", NULL) : NULL;

	if (row)
		row->id = stack_id;
	free(folded);
	return row;
}

/* One row per text, its name. */
static int rows_of_stacks(struct top *top, struct weft_err *err)
{
	const struct tally *tally;
	struct top_row *row;
	size_t at = 0;
	int64_t id;

	while ((at = stacks_next(top->stacks, at, &id, &tally))) {
		row = top_add_stack(top, id);
		if (!row)
			return no_memory(err);
		row->self = row->total = *tally;
	}
	merge_stacks(top);
	return 0;
}

enum stacks_by top_stacks_by(const struct top *top)
{
	return top->by == TOP_BY_BINARY ? STACKS_BY_BINARY : STACKS_BY_FUNCTION;
}

struct top_row *top_add_function(struct top *top, const struct stacks_row *of)
{
	return add_row(top, of->name,
		       top->by == TOP_BY_BINARY ? "" : of->binary, NULL);
}

static int rows_of_functions(struct top *top, struct weft_err *err)
{
	struct stacks_row *found;
	struct top_row *row;
	size_t n, i;

	stacks_sum(top->stacks, top_stacks_by(top), &found, &n);
	for (i = 0; i < n; i++) {
		if (found[i].total.count == 0)
			continue;
		row = top_add_function(top, &found[i]);
		if (!row)
			return no_memory(err);
		row->self = found[i].self;
		row->total = found[i].total;
	}
	return 0;
}

static int load_stacks(struct top *top, struct weft_err *err)
{
	size_t i;
	int rc;

	rc = stacks_load(&top->stacks, top->report.db, err);
	for (i = 0; i < top->report.range.n_parts && !rc; i++)
		rc = add_stacks(top, i, err);
	if (rc)
		return rc;
	top->all = stacks_quality(top->stacks)->all;
	top->ends = stacks_quality(top->stacks)->ends;
	if (top->by == TOP_BY_STACK)
		return rows_of_stacks(top, err);
	return rows_of_functions(top, err);
}

struct top_row *top_add_task(struct top *top, sqlite3_stmt *stmt)
{
	struct top_row *row =
		add_row(top, db_text(stmt, 3), db_text(stmt, 5),
			(const char *)sqlite3_column_text(stmt, 4));

	if (row) {
		row->id = sqlite3_column_int64(stmt, 0);
		row->pid = sqlite3_column_int64(stmt, 1);
		row->tid = sqlite3_column_int64(stmt, 2);
	}
	return row;
}

/* Add a row of a process or thread to the one before if they are the same. */
static int add_task(struct top *top, sqlite3_stmt *stmt,
		    const struct tally *tally)
{
	int64_t id = sqlite3_column_int64(stmt, 0);
	struct top_row *row = top->n_rows ? &top->rows[top->n_rows - 1] : NULL;

	if (!row || row->id != id) {
		row = top_add_task(top, stmt);
		if (!row)
			return -ENOMEM;
	}
	tally_add(&row->self, tally);
	row->total = row->self;
	tally_add(&top->all, tally);
	return 0;
}

/* How the stacks ended that add_task() has added a tally of, from column on. */
static int add_ends(struct top *top, sqlite3_stmt *stmt, int column,
		    const struct tally *tally)
{
	struct top_row *row = &top->rows[top->n_rows - 1];
	enum ends_status status = ends_parse_status(db_text(stmt, column));
	unsigned reason = ends_parse_reason(
		(const char *)sqlite3_column_text(stmt, column + 1));

	if (!row->ends)
		row->ends = calloc(1, sizeof(*row->ends));
	if (!row->ends)
		return -ENOMEM;
	ends_add(row->ends, status, reason, tally);
	ends_add(&top->ends, status, reason, tally);
	return 0;
}

/* All threads: a pass over all samples, then the names of who has any. */
static int load_threads(struct top *top, size_t part, struct weft_err *err)
{
	struct db *db = top->report.db;
	struct sums sums = { 0 };
	struct tally tally;
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	rc = query(top, part, QUERY_SQL_TOP_SAMPLES, &stmt, err);
	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		tally = weighed(top,
				ledger_sample(&top->report.ledger,
					      sqlite3_column_int64(stmt, 1),
					      sqlite3_column_double(stmt, 2),
					      sqlite3_column_double(stmt, 3)));
		rc = sums_add(&sums, sqlite3_column_int64(stmt, 0), &tally, 0,
			      0);
		if (rc)
			rc = no_memory(err);
	}
	for (i = 0; !rc && i < sums.n; i++) {
		rc = query(top, part, QUERY_SQL_TOP_THREAD, &stmt, err);
		if (rc)
			break;
		sqlite3_bind_int64(stmt, 5, sums.rows[i].key);
		rc = db_step(db, stmt, err);
		if (rc > 0)
			rc = add_task(top, stmt, &sums.rows[i].tally)
				     ? no_memory(err)
				     : 0;
	}
	sums_release(&sums);
	return rc;
}

static int load_tasks(struct top *top, size_t part, struct weft_err *err)
{
	bool whole = top->report.range.is_whole;
	int after = top->is_estimated ? 11 : 8; /* the tally's columns */
	struct tally tally;
	sqlite3_stmt *stmt;
	enum query_sql id;
	int rc;

	if (top->by == TOP_BY_THREAD && !top->trace)
		return load_threads(top, part, err);
	if (top->by == TOP_BY_THREAD)
		id = QUERY_SQL_TOP_THREADS_TRACE;
	else if (top->trace)
		id = QUERY_SQL_TOP_PROCESSES_TRACE;
	else
		id = whole ? QUERY_SQL_TOP_PROCESSES_WHOLE
			   : QUERY_SQL_TOP_PROCESSES_PART;
	rc = query(top, part, id, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(top->report.db, stmt, err)) > 0) {
		tally = row_tally(top, stmt, 6);
		if (add_task(top, stmt, &tally) ||
		    (top->by == TOP_BY_PROCESS &&
		     add_ends(top, stmt, after, &tally)))
			return no_memory(err);
	}
	return rc;
}

static int descending(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int compare_rows(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int order = descending(x->self.weight, y->self.weight);

	if (!order)
		order = descending(x->total.weight, y->total.weight);
	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->more, y->more);
	if (!order)
		order = x->id < y->id ? -1 : x->id > y->id;
	return order;
}

int top_finish(struct top *top, struct weft_err *err)
{
	if (top->all.count == 0 && top->value)
		return weft_fail(err, -ENODATA,
				 "'%s' has no sample of value '%s'; `weft top "
				 "--by attribute` lists the values that weft "
				 "record --shape-by told apart",
				 db_path(top->report.db), top->value);
	if (top->all.count == 0 && top->trace)
		return report_no_sample(&top->report, top->trace, top->hex,
					err);
	if (top->all.count == 0)
		return report_nothing(&top->report, top->is_estimated,
				      top->pool  ? "such requests"
				      : top->pid ? "process"
						 : NULL,
				      top->pool ? 0 : top->pid, err);
	qsort(top->rows, top->n_rows, sizeof(*top->rows), compare_rows);
	return 0;
}

/* A row for each value of the attribute that counts are told apart by. */
static int load_attributes(struct top *top, size_t part, struct weft_err *err)
{
	enum query_sql id = top->report.range.is_whole
				    ? QUERY_SQL_TOP_ATTRIBUTES_WHOLE
				    : QUERY_SQL_TOP_ATTRIBUTES_PART;
	struct top_row *row;
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = query(top, part, id, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(top->report.db, stmt, err)) > 0) {
		tally = row_tally(top, stmt, 2);
		if (tally.count == 0)
			continue;
		row = add_row(top, db_text(stmt, 0), db_text(stmt, 1), NULL);
		if (!row)
			return no_memory(err);
		row->self = row->total = tally;
		tally_add(&top->all, &tally);
	}
	return rc;
}

static int load(struct top *top, struct weft_err *err)
{
	size_t i;
	int rc = 0;

	if (top->by == TOP_BY_PROCESS || top->by == TOP_BY_THREAD)
		for (i = 0; i < top->report.range.n_parts && !rc; i++)
			rc = load_tasks(top, i, err);
	else if (top->by == TOP_BY_ATTRIBUTE)
		for (i = 0; i < top->report.range.n_parts && !rc; i++)
			rc = load_attributes(top, i, err);
	else
		rc = load_stacks(top, err);
	return rc ? rc : top_finish(top, err);
}

int top_load(struct top *top, const struct cli_common *common, const char *file,
	     const char *trace, struct weft_err *err)
{
	int rc = report_open(&top->report, common, file, err);

	if (!rc && trace)
		rc = report_find_trace(&top->report, trace, &top->trace,
				       top->hex, err);
	top->is_estimated = top->trace || top->by == TOP_BY_THREAD;
	if (rc)
		return rc;
	top->is_by_value = range_is_by_value(&top->report.range);
	return load(top, err);
}

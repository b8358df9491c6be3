/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/by_time.h"
#include "query/spans.h"
#include "query/trace.h"

void trace_release(struct trace *t)
{
	size_t i;

	for (i = 0; i < t->n_rows; i++)
		free(t->rows[i].folded);
	free(t->rows);
	stacks_free(t->stacks);
	sequence_release(&t->sequence);
	span_tree_release(&t->spans);
	report_close(&t->report);
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the trace");
}

static int query(struct trace *t, size_t part, enum query_sql id,
		 sqlite3_stmt **stmt, struct weft_err *err)
{
	int rc = range_query(&t->report.range, part, t->report.db, id, stmt,
			     err);

	if (!rc)
		sqlite3_bind_int64(*stmt, 5, t->id);
	return rc;
}

static int compare_texts(const void *a, const void *b)
{
	const struct trace_row *x = a, *y = b;

	return x->text < y->text ? -1 : x->text > y->text;
}

static int compare_here(const void *a, const void *b)
{
	const struct trace_row *x = a, *y = b;

	if (x->here.weight != y->here.weight)
		return x->here.weight > y->here.weight ? -1 : 1;
	return x->stack_id < y->stack_id ? -1 : x->stack_id > y->stack_id;
}

static int load_here(struct trace *t, size_t part, struct weft_err *err)
{
	struct trace_row row = { 0 }, *grown;
	sqlite3_stmt *stmt;
	int rc;

	rc = query(t, part, QUERY_SQL_TOP_STACKS_TRACE, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		/* Those of a stack, one an interval, follow each other. */
		if (!row.text ||
		    row.stack_id != sqlite3_column_int64(stmt, 0)) {
			row.stack_id = sqlite3_column_int64(stmt, 0);
			rc = stacks_need(t->stacks, t->report.db, row.stack_id,
					 err);
			if (rc)
				return rc;
			row.text = stacks_text_key(t->stacks, row.stack_id);
		}
		row.here = ledger_tally(&t->report.ledger, stmt, 1);
		tally_add(&t->here, &row.here);
		grown = t->rows;
		if ((t->n_rows & (t->n_rows - 1)) == 0)
			grown = reallocarray(t->rows,
					     t->n_rows ? 2 * t->n_rows : 1,
					     sizeof(*grown));
		if (!grown)
			return no_memory(err);
		t->rows = grown;
		grown[t->n_rows++] = row;
	}
	return rc;
}

static void merge(struct trace *t)
{
	size_t i, last = 0;

	if (t->n_rows == 0)
		return;
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_texts);
	for (i = 1; i < t->n_rows; i++) {
		struct trace_row *to = &t->rows[last];
		const struct trace_row *row = &t->rows[i];

		if (row->text != to->text) {
			t->rows[++last] = *row;
			continue;
		}
		tally_add(&to->here, &row->here);
		/* The first of them, so that ties have an order. */
		if (row->stack_id < to->stack_id)
			to->stack_id = row->stack_id;
	}
	t->n_rows = last + 1;
}

/* Add the counts of a statement's rows. */
static int add_everyone(struct trace *t, sqlite3_stmt *stmt, struct tally *to,
			struct weft_err *err)
{
	struct tally more;
	int rc;

	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		more = tally_of_shape((uint64_t)sqlite3_column_int64(stmt, 0),
				      (uint64_t)sqlite3_column_int64(stmt, 1));
		tally_add(to, &more);
	}
	return rc;
}

/* One of the first n rows, which are in the order of their texts. */
static struct trace_row *row_of_stack(struct trace *t, size_t n,
				      int64_t stack_id)
{
	struct trace_row key = { .text = stacks_text_key(t->stacks, stack_id) };

	return bsearch(&key, t->rows, n, sizeof(key), compare_texts);
}

/* Everyone's counts of the first n rows: of all of a recording, by seeking the
 * stacks that read so. */
static int seek_everyone(struct trace *t, size_t part, size_t n,
			 struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t at = 0;
	int64_t id;
	int rc = 0;

	while (!rc && (at = stacks_next_needed(t->stacks, at, &id))) {
		struct trace_row *row = row_of_stack(t, n, id);

		if (!row)
			continue;
		rc = query(t, part, QUERY_SQL_TRACE_EVERYONE_ON, &stmt, err);
		if (rc)
			break;
		sqlite3_bind_int64(stmt, 6, id);
		rc = add_everyone(t, stmt, &row->everyone, err);
	}
	return rc;
}

/*
 * Everyone's samples of all of the recordings. The ledger knows how many their
 * counts add up to (ARCHITECTURE.md, What always holds, 1); they are added up
 * only where it cannot be so.
 */
static int sum_everyone(struct trace *t, size_t n, struct weft_err *err)
{
	const struct ledger *l = &t->report.ledger;
	const uint64_t counted = ledger_count(l, "counted");
	const uint64_t gone = ledger_count(l, "lost_counts_discarded") +
			      ledger_count(l, "expired_counts");
	struct tally rows = { 0 };
	sqlite3_stmt *stmt;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		tally_add(&rows, &t->rows[i].everyone);
	if (counted > gone && counted - gone >= rows.count) {
		t->everyone = tally_of_shape(counted - gone, 0);
		return 0;
	}
	for (size_t i = 0; !rc && i < t->report.range.n_parts; i++) {
		rc = query(t, i, QUERY_SQL_TRACE_EVERYONE, &stmt, err);
		if (!rc)
			rc = add_everyone(t, stmt, &t->everyone, err);
	}
	return rc;
}

/* Both of a part of a recording, whose counts are by interval. */
static int scan_everyone(struct trace *t, size_t part, size_t n,
			 struct weft_err *err)
{
	sqlite3_stmt *stmt;
	struct tally more;
	struct trace_row *row;
	int64_t id;
	int rc = query(t, part, QUERY_SQL_TOP_STACKS_PART, &stmt, err);

	while (!rc && (rc = db_step(t->report.db, stmt, err)) > 0) {
		id = sqlite3_column_int64(stmt, 0);
		more = tally_of_shape((uint64_t)sqlite3_column_int64(stmt, 1),
				      (uint64_t)sqlite3_column_int64(stmt, 2));
		tally_add(&t->everyone, &more);
		row = stacks_is_needed(t->stacks, id) ? row_of_stack(t, n, id)
						      : NULL;
		if (row)
			tally_add(&row->everyone, &more);
		rc = 0;
	}
	return rc;
}

/* Everyone's samples, and of these what the first n rows have. */
static int load_everyone(struct trace *t, size_t n, struct weft_err *err)
{
	int64_t *ids = calloc(n + 1, sizeof(*ids));
	int rc = ids ? 0 : no_memory(err);

	for (size_t i = 0; !rc && i < n; i++)
		ids[i] = t->rows[i].stack_id;
	if (!rc)
		rc = stacks_need_alike(t->stacks, t->report.db, ids, n, err);
	free(ids);
	if (rc)
		return rc;
	qsort(t->rows, n, sizeof(*t->rows), compare_texts);
	for (size_t i = 0; !rc && i < t->report.range.n_parts; i++)
		rc = t->report.range.is_whole ? seek_everyone(t, i, n, err)
					      : scan_everyone(t, i, n, err);
	if (!rc && t->report.range.is_whole)
		rc = sum_everyone(t, n, err);
	qsort(t->rows, n, sizeof(*t->rows), compare_here);
	return rc;
}

static int load_processes(struct trace *t, size_t part, struct weft_err *err)
{
	struct trace_process *p;
	sqlite3_stmt *stmt;
	int64_t first, last;
	int rc;

	rc = query(t, part, QUERY_SQL_TRACE_PROCESSES, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		first = db_time(stmt, 5);
		last = db_time(stmt, 6);
		if (t->n_processes == 0 || first < t->first_ns)
			t->first_ns = first;
		if (t->n_processes == 0 || last > t->last_ns)
			t->last_ns = last;
		if (t->n_processes++ >= ARRAY_LEN(t->processes))
			continue;
		p = &t->processes[t->n_processes - 1];
		p->pid = sqlite3_column_int64(stmt, 0);
		p->samples = sqlite3_column_int64(stmt, 3);
		p->threads = sqlite3_column_int64(stmt, 4);
		db_copy_text(stmt, 1, p->comm, sizeof(p->comm));
		db_copy_text(stmt, 2, p->service, sizeof(p->service));
	}
	return rc;
}

static int find_texts(struct trace *t, size_t n, struct weft_err *err)
{
	for (size_t i = 0; i < n; i++) {
		t->rows[i].folded = stacks_fold(t->stacks, t->rows[i].stack_id);
		if (!t->rows[i].folded)
			return no_memory(err);
	}
	return 0;
}

/* What requests like it have in common: their route, else their name. */
static int find_like(struct trace *t, struct weft_err *err)
{
	struct spans_root root;
	char route[128] = "", safe[4 * sizeof(t->like)];
	sqlite3_stmt *stmt;
	int rc = db_query(t->report.db, QUERY_SQL_TRACE_ROUTE, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, t->id);
	rc = db_step(t->report.db, stmt, err);
	if (rc > 0)
		db_copy_text(stmt, 0, route, sizeof(route));
	if (rc >= 0)
		rc = spans_find_root(t->report.db, t->id, &root, err);
	if (rc < 0)
		return rc;
	snprintf(t->like, sizeof(t->like), "%s = %s",
		 *route ? "http.route" : "name", *route ? route : root.name);
	/* It is to be printed, and typed into a shell. */
	weft_sanitize(safe, sizeof(safe), t->like, strlen(t->like));
	if (strcmp(safe, t->like) != 0 || strchr(t->like, '\''))
		rc = 0;
	if (!rc || (!*route && !*root.name))
		t->like[0] = '\0';
	return 0;
}

static int load(struct trace *t, struct weft_err *err)
{
	const size_t n_parts = t->report.range.n_parts;
	size_t i;
	int rc = by_time_stand_in(t->report.db, t->id, &t->by_time, err);

	if (!rc)
		rc = find_like(t, err);
	if (!rc)
		rc = stacks_load_few(&t->stacks, t->report.db, err);
	for (i = 0; !rc && i < n_parts; i++) {
		rc = load_here(t, i, err);
		if (!rc)
			rc = load_processes(t, i, err);
	}
	if (!rc)
		rc = span_tree_load(&t->spans, &t->report, t->id, err);
	if (!rc)
		rc = wall_load(&t->wall, &t->report, t->id, err);
	if (rc)
		return rc;
	if (t->here.count == 0 && !t->spans.n)
		return report_no_sample(&t->report, t->id, t->hex, err);
	if (t->here.count == 0)
		return report_find_elsewhere(&t->report, t->id, &t->elsewhere,
					     err);
	merge(t);
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_here);
	t->n_told = t->max_rows && t->max_rows < t->n_rows ? t->max_rows
							   : t->n_rows;
	rc = load_everyone(t, t->n_told, err);
	if (!rc)
		rc = find_texts(t, t->n_told, err);
	if (!rc)
		rc = sequence_load(&t->sequence, &t->report, t->stacks, t->id,
				   0, t->max_rows, err);
	return rc;
}

int trace_load(struct trace *t, const struct cli_common *common,
	       const char *file, const char *id, struct weft_err *err)
{
	int rc = report_open(&t->report, common, file, err);

	if (!rc)
		rc = report_find_trace(&t->report, id, &t->id, t->hex, err);
	if (!rc)
		rc = load(t, err);
	if (!rc)
		db_release(t->report.db);
	return rc;
}

/* The interval of what the request used. */
struct stats_interval trace_used(const struct trace *t)
{
	const struct wall_part *part =
		wall_part_of(&t->wall, t->report.range.event);
	double k = (double)t->here.count;

	/* Of blocks and waits the long ones are certain. */
	if (part && part->samples == t->here.count)
		return part->interval;
	if (!t->here.count)
		return (struct stats_interval){
			0, stats_unsampled_ns(report_ns_each(&t->report))
		};
	return stats_request_ns(k, t->here.estimate / k, true);
}

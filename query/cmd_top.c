/* SPDX-License-Identifier: MIT */
/* weft top: where the time went, by function, stack, process and so on. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/figure.h"
#include "query/report.h"
#include "query/stacks.h"
#include "query/sums.h"

enum by {
	BY_FUNCTION,
	BY_STACK,
	BY_PROCESS,
	BY_THREAD,
	BY_BINARY,
	BY_COUNT
};

static const char *const by_words[BY_COUNT + 1] = {
	"function", "stack", "process", "thread", "binary", NULL,
};

struct top_opts {
	struct cli_common common;
	const char *by, *trace, *pid;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "by", 0, "WHAT",
	  "function (default), stack, process, thread or binary", CLI_TEXT,
	  offsetof(struct top_opts, by) },
	{ "trace", 0, "ID", "only this request (estimated from detail)",
	  CLI_TEXT, offsetof(struct top_opts, trace) },
	{ "pid", 0, "PID", "only this process", CLI_TEXT,
	  offsetof(struct top_opts, pid) },
	{ "rows", 'n', "N", "rows to print (default 20; 0: all)", CLI_NUMBER,
	  offsetof(struct top_opts, rows) },
};

static const struct cli_command command = {
	.name = "top",
	.operands = "[FILE]",
	.about = "Where the time of this recording went. By function, stack, "
		 "process and binary\nthe counts are exact; by thread or "
		 "trace they are estimated from the detail\nsamples, and the "
		 "report says so. SELF: it was the innermost; TOTAL: it was "
		 "on\nthe stack. Intervals are 95 %, of this recording; they "
		 "do not say what another\nrecording would show. NAMED: of "
		 "samples whose innermost function has a name, by what\nnamed "
		 "it. Of few samples no share is printed but its upper limit, "
		 "<= 1.53, or -.\nWhether stacks are whole, and why not: see "
		 "`weft loss`.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

/* A row that has been added up. */
struct row {
	char *name;    /* owned: function, path, folded stack or comm */
	char *more;    /* owned: binary of a function, exe of a process */
	char *service; /* owned, or NULL */
	int64_t id, pid, tid; /* what there is of them, else 0 */
	struct tally self, total;
	struct ends *ends; /* owned; of a process, else NULL */
};

struct top {
	struct report report;
	struct stacks *stacks; /* owned; NULL by process and thread */
	enum by by;
	bool is_estimated;
	int64_t pid;
	int64_t trace;
	char hex[33];
	struct row *rows; /* owned */
	size_t n_rows;
	struct tally all;
	struct ends ends; /* of all; not by thread */
};

static void top_release(struct top *top)
{
	size_t i;

	for (i = 0; i < top->n_rows; i++) {
		free(top->rows[i].name);
		free(top->rows[i].more);
		free(top->rows[i].service);
		free(top->rows[i].ends);
	}
	free(top->rows);
	stacks_free(top->stacks);
	report_close(&top->report);
}

static struct row *add_row(struct top *top, const char *name, const char *more,
			   const char *service)
{
	struct row *grown = top->rows, *row;

	if ((top->n_rows & (top->n_rows - 1)) == 0) /* a power of two: full */
		grown = reallocarray(top->rows,
				     top->n_rows ? 2 * top->n_rows : 1,
				     sizeof(*grown));
	if (!grown)
		return NULL;
	top->rows = grown;
	row = &grown[top->n_rows++];
	*row = (struct row){ .name = strdup(name), .more = strdup(more) };
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

static int query(struct top *top, size_t part, enum query_sql id,
		 sqlite3_stmt **stmt, struct weft_err *err)
{
	int rc = range_query(&top->report.range, part, top->report.db, id, stmt,
			     err);

	if (rc)
		return rc;
	if (top->pid)
		sqlite3_bind_int64(*stmt, 4, top->pid);
	if (top->trace)
		sqlite3_bind_int64(*stmt, 5, top->trace);
	return 0;
}

static int add_stacks(struct top *top, size_t part, struct weft_err *err)
{
	enum query_sql id = top->trace ? QUERY_SQL_TOP_STACKS_TRACE
			    : top->report.range.is_whole
				    ? QUERY_SQL_TOP_STACKS_WHOLE
				    : QUERY_SQL_TOP_STACKS_PART;
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc;

	rc = query(top, part, id, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(top->report.db, stmt, err)) > 0) {
		if (top->trace)
			tally = ledger_tally(&top->report.ledger, stmt, 1);
		else
			tally = tally_of_shape(
				(uint64_t)sqlite3_column_int64(stmt, 1),
				(uint64_t)sqlite3_column_int64(stmt, 2));
		stacks_add(top->stacks, sqlite3_column_int64(stmt, 0), &tally);
	}
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

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
		struct row *row = &top->rows[i];

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

/* One row per text, its name. */
static int rows_of_stacks(struct top *top, struct weft_err *err)
{
	const char *names[STACKS_FRAMES_MAX];
	const struct tally *tally;
	size_t at = 0, i, n, size;
	struct row *row;
	char *folded;
	int64_t id;
	FILE *text;

	while ((at = stacks_next(top->stacks, at, &id, &tally))) {
		text = open_memstream(&folded, &size);
		if (!text)
			return no_memory(err);
		n = stacks_names(top->stacks, id, names);
		for (i = 0; i < n; i++)
			fprintf(text, "%s%s", i ? ";" : "", names[i]);
		if (fclose(text))
			return no_memory(err);
		row = add_row(top, folded, "", NULL);
		free(folded);
		if (!row)
			return no_memory(err);
		row->id = id;
		row->self = row->total = *tally;
	}
	merge_stacks(top);
	return 0;
}

static int rows_of_functions(struct top *top, struct weft_err *err)
{
	struct stacks_row *found;
	struct row *row;
	size_t n, i;

	stacks_sum(top->stacks,
		   top->by == BY_BINARY ? STACKS_BY_BINARY : STACKS_BY_FUNCTION,
		   &found, &n);
	for (i = 0; i < n; i++) {
		if (found[i].total.count == 0)
			continue;
		row = add_row(top, found[i].name,
			      top->by == BY_BINARY ? "" : found[i].binary,
			      NULL);
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
	if (top->by == BY_STACK)
		return rows_of_stacks(top, err);
	return rows_of_functions(top, err);
}

static const char *column_text(sqlite3_stmt *stmt, int column)
{
	return (const char *)sqlite3_column_text(stmt, column);
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* Add a row of a process or thread to the one before if they are the same. */
static int add_task(struct top *top, sqlite3_stmt *stmt,
		    const struct tally *tally)
{
	int64_t id = sqlite3_column_int64(stmt, 0);
	struct row *row = top->n_rows ? &top->rows[top->n_rows - 1] : NULL;

	if (!row || row->id != id) {
		row = add_row(top, or_empty(column_text(stmt, 3)),
			      or_empty(column_text(stmt, 5)),
			      column_text(stmt, 4));
		if (!row)
			return -ENOMEM;
		row->id = id;
		row->pid = sqlite3_column_int64(stmt, 1);
		row->tid = sqlite3_column_int64(stmt, 2);
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
	struct row *row = &top->rows[top->n_rows - 1];
	enum ends_status status = ends_parse_status(column_text(stmt, column));
	unsigned reason = ends_parse_reason(column_text(stmt, column + 1));

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
		tally = ledger_sample(&top->report.ledger,
				      sqlite3_column_int64(stmt, 1),
				      sqlite3_column_double(stmt, 2),
				      sqlite3_column_double(stmt, 3));
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

	if (top->by == BY_THREAD && !top->trace)
		return load_threads(top, part, err);
	if (top->by == BY_THREAD)
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
		if (top->is_estimated)
			tally = ledger_tally(&top->report.ledger, stmt, 6);
		else
			tally = tally_of_shape(
				(uint64_t)sqlite3_column_int64(stmt, 6),
				(uint64_t)sqlite3_column_int64(stmt, 7));
		if (add_task(top, stmt, &tally) ||
		    (top->by == BY_PROCESS &&
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
	const struct row *x = a, *y = b;
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

static int load(struct top *top, struct weft_err *err)
{
	size_t i;
	int rc = 0;

	if (top->by == BY_PROCESS || top->by == BY_THREAD)
		for (i = 0; i < top->report.range.n_parts && !rc; i++)
			rc = load_tasks(top, i, err);
	else
		rc = load_stacks(top, err);
	if (rc)
		return rc;
	if (top->all.count == 0)
		return weft_fail(err, -ENODATA, "'%s' has no sample of that%s",
				 db_path(top->report.db),
				 top->is_estimated ? " in its detail" : "");
	qsort(top->rows, top->n_rows, sizeof(*top->rows), compare_rows);
	return 0;
}

/* The interval of an estimated value of which there is a sample. */
static struct stats_interval value_interval(const struct tally *t)
{
	double k = (double)t->count;
	struct stats_interval in = stats_shape_count(k, t->weight / k);
	double each = t->weight > 0 ? t->estimate / t->weight : 0;

	in.lo *= each;
	in.hi *= each;
	return in;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *dashed(char *to, size_t size, int64_t number)
{
	if (number)
		snprintf(to, size, "%lld", (long long)number);
	else
		snprintf(to, size, "-");
	return to;
}

static void fill_ends(const struct ends *ends, struct table *t)
{
	double share;
	const char *reason = ends_reason(ends, &share);

	table_text(t, FIGURE(ends_percent, ends, ENDS_COMPLETE));
	table_text(t, FIGURE(ends_percent, ends, ENDS_TRUNCATED));
	table_text(t, FIGURE(ends_percent, ends, ENDS_BROKEN));
	table_text(t, reason ? reason : "-");
}

static void fill_row(const struct top *top, const struct row *row,
		     struct table *t)
{
	const char *unit = top->report.range.unit;
	char number[24];

	table_text(t, FIGURE(figure_share, &row->self, &top->all));
	table_text(t, FIGURE(figure_share_interval, &row->self, &top->all));
	if (top->by == BY_FUNCTION || top->by == BY_BINARY) {
		table_text(t, FIGURE(figure_share, &row->total, &top->all));
		table_text(t, FIGURE(figure_share_interval, &row->total,
				     &top->all));
	}
	table_text(t, FIGURE(figure_value, row->self.estimate, unit));
	if (top->is_estimated)
		table_text(t,
			   row->self.count == 0
				   ? "-"
				   : FIGURE(figure_value_interval,
					    value_interval(&row->self), unit));
	if (top->by == BY_PROCESS || top->by == BY_THREAD)
		table_text(t, dashed(number, sizeof(number), row->pid));
	if (top->by == BY_THREAD)
		table_text(t, dashed(number, sizeof(number), row->tid));
	table_text(t, row->name);
	if (top->by == BY_FUNCTION)
		table_text(t, base_name(row->more));
	if (top->by == BY_PROCESS || top->by == BY_THREAD)
		table_text(t, row->service ? row->service : row->more);
	if (top->by == BY_PROCESS)
		fill_ends(row->ends, t);
}

static size_t choose_columns(const struct top *top, struct table_column *to)
{
	static const char *const names[BY_COUNT] = { "FUNCTION", "STACK",
						     "COMM", "COMM", "BINARY" };
	bool has_total = top->by == BY_FUNCTION || top->by == BY_BINARY;
	bool is_task = top->by == BY_PROCESS || top->by == BY_THREAD;
	size_t n = 0;

	to[n++] = (struct table_column){ has_total ? "SELF %" : "SHARE %",
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	if (has_total) {
		to[n++] = (struct table_column){ "TOTAL %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	}
	to[n++] = (struct table_column){ strcmp(top->report.range.unit, "ns")
						 ? "COUNT"
						 : "TIME",
					 TABLE_RIGHT };
	if (top->is_estimated)
		to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	if (is_task)
		to[n++] = (struct table_column){ "PID", TABLE_RIGHT };
	if (top->by == BY_THREAD)
		to[n++] = (struct table_column){ "TID", TABLE_RIGHT };
	to[n++] = (struct table_column){ names[top->by],
					 top->by == BY_STACK ? TABLE_CUT_START
							     : TABLE_CUT_END };
	if (top->by == BY_FUNCTION)
		to[n++] = (struct table_column){ "BINARY", TABLE_CUT_END };
	if (is_task)
		to[n++] = (struct table_column){ "SERVICE OR PROGRAM",
						 TABLE_CUT_END };
	if (top->by == BY_PROCESS) {
		to[n++] = (struct table_column){ "COMPLETE %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "TRUNCATED %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "BROKEN %", TABLE_RIGHT };
		to[n++] = (struct table_column){ "MOST BROKEN BY", TABLE_LEFT };
	}
	return n;
}

static void print_quality(const struct top *top)
{
	const struct stacks_quality *q;
	char line[256];

	if (top->stacks) {
		q = stacks_quality(top->stacks);
		named_print(&q->named, &q->all, stdout);
	}
	if (top->by == BY_THREAD)
		return;
	ends_describe(&top->ends, line, sizeof(line));
	printf("stacks: %s%s\n", line,
	       top->by == BY_PROCESS ? "; in a row, of its own" : "");
}

/* What can be said of a function that is not in the list. */
static void print_absent(const struct top *top)
{
	double n = (double)top->all.count;
	double lost = (double)top->report.ledger.shape_lost;

	printf("a function not found here has under %.2g %% (95 %%)",
	       100 * stats_absent(n));
	if (lost > 0)
		printf("; under %.2g %% even if every lost sample was it",
		       100 * stats_absent_with_loss(n, lost));
	putchar('\n');
}

static int print(const struct top *top, size_t n, struct weft_err *err)
{
	struct table_column columns[16];
	struct table *t = table_new(columns, choose_columns(top, columns));
	char loss[512];
	size_t i;
	int rc;

	if (!t)
		return no_memory(err);
	report_print_heading(&top->report);
	if (top->trace)
		printf("trace %s, ", top->hex);
	if (top->pid)
		printf("pid %lld, ", (long long)top->pid);
	printf("%s; shares are of %s samples, of this recording\n",
	       top->is_estimated ? "estimated from detail" : "exact counts",
	       FIGURE(figure_count, (double)top->all.count));
	print_quality(top);
	putchar('\n');
	for (i = 0; i < n; i++)
		fill_row(top, &top->rows[i], t);
	rc = report_print_table(t, err);
	table_free(t);
	if (rc)
		return rc;
	putchar('\n');
	if (n < top->n_rows)
		printf("%zu more; -n 0 prints all\n", top->n_rows - n);
	if (top->by == BY_FUNCTION && !top->is_estimated)
		print_absent(top);
	if (ledger_describe_loss(&top->report.ledger, loss, sizeof(loss)))
		printf("%s\n", loss);
	return 0;
}

static void json_tally(const struct top *top, struct json *j, const char *what,
		       const struct tally *t)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_samples", what);
	json_int(j, key, (int64_t)t->count);
	snprintf(key, sizeof(key), "%s_share", what);
	json_real(j, key, tally_share(t, &top->all));
	json_interval(j, key, tally_share_interval(t, &top->all));
	snprintf(key, sizeof(key), "%s_%s", what, top->report.range.unit);
	json_real(j, key, t->estimate);
	if (top->is_estimated && t->count)
		json_interval(j, key, value_interval(t));
}

static void json_ends(struct json *j, const struct ends *ends)
{
	json_object(j, "stacks");
	ends_json(ends, j);
	json_end_object(j);
}

static void json_row(const struct top *top, struct json *j,
		     const struct row *row)
{
	json_object(j, NULL);
	json_text(j, by_words[top->by], row->name);
	if (top->by == BY_FUNCTION)
		json_text(j, "binary", row->more);
	if (top->by == BY_STACK)
		json_int(j, "stack_id", row->id);
	if (top->by == BY_PROCESS || top->by == BY_THREAD) {
		json_int(j, "pid", row->pid);
		if (top->by == BY_THREAD)
			json_int(j, "tid", row->tid);
		json_text(j, "exe", row->more);
		json_text(j, "service", row->service);
	}
	if (row->ends)
		json_ends(j, row->ends);
	json_tally(top, j, "self", &row->self);
	if (top->by == BY_FUNCTION || top->by == BY_BINARY)
		json_tally(top, j, "total", &row->total);
	json_end_object(j);
}

static void print_json(const struct top *top, size_t n)
{
	struct json j = { .to = stdout };
	const struct stacks_quality *q;
	double lost = (double)top->report.ledger.shape_lost;
	double all = (double)top->all.count;
	size_t i;

	report_json(&top->report, &j, "top");
	json_text(&j, "by", by_words[top->by]);
	json_text(&j, "trace_id", top->trace ? top->hex : NULL);
	json_bool(&j, "estimated", top->is_estimated);
	json_text(&j, "shares_are_about", "this recording");
	json_int(&j, "samples", (int64_t)top->all.count);
	if (top->stacks) {
		q = stacks_quality(top->stacks);
		named_json(&q->named, &q->all, &j);
		json_real(&j, "complete_share",
			  tally_share(&q->complete, &q->all));
	}
	if (top->by != BY_THREAD)
		json_ends(&j, &top->ends);
	if (!top->is_estimated) {
		json_real(&j, "absent_share_hi", stats_absent(all));
		json_real(&j, "absent_share_hi_with_losses",
			  stats_absent_with_loss(all, lost));
	}
	json_array(&j, "rows");
	for (i = 0; i < n; i++)
		json_row(top, &j, &top->rows[i]);
	json_end_array(&j);
	json_int(&j, "rows_left_out", (int64_t)(top->n_rows - n));
	json_end_object(&j);
}

/* Returns BY_COUNT for a word that is none. */
static enum by parse_by(const char *word)
{
	enum by by = 0;

	while (by < BY_COUNT && strcmp(word, by_words[by]) != 0)
		by++;
	return by;
}

static int run(struct top *top, const struct top_opts *opts, const char *file,
	       struct weft_err *err)
{
	size_t n;
	int rc;

	rc = report_open(&top->report, &opts->common, file, err);
	if (!rc && opts->trace)
		rc = report_find_trace(&top->report, opts->trace, &top->trace,
				       top->hex, err);
	top->is_estimated = top->trace || top->by == BY_THREAD;
	if (!rc)
		rc = load(top, err);
	if (rc)
		return rc;
	db_release(top->report.db);
	n = opts->rows && opts->rows < top->n_rows ? opts->rows : top->n_rows;
	if (!opts->common.json)
		return print(top, n, err);
	print_json(top, n);
	return 0;
}

int cmd_top(int argc, char **argv)
{
	struct top_opts opts = { .by = "function", .rows = 20 };
	struct weft_err err = { 0 };
	struct top top = { 0 };
	const char *file, *near;
	uint64_t pid = 0;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	top.by = parse_by(opts.by);
	if (top.by == BY_COUNT) {
		near = weft_nearest(opts.by, by_words);
		return cli_usage(&command, "--by cannot be '%s'%s%s%s", opts.by,
				 near ? "; did you mean '" : "",
				 near ? near : "", near ? "'?" : "");
	}
	if (opts.pid && weft_parse_u64(opts.pid, 1, INT32_MAX, &pid))
		return cli_usage(&command, "--pid takes a process ID, not '%s'",
				 opts.pid);
	top.pid = (int64_t)pid;
	rc = run(&top, &opts, file, &err);
	top_release(&top);
	return rc ? cli_fail(&err) : cli_finish();
}

/* SPDX-License-Identifier: MIT */
/* weft trace: one request, its stacks against everyone's, its samples. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/by_time.h"
#include "query/cmd.h"
#include "query/context.h"
#include "query/figure.h"
#include "query/report.h"
#include "query/sequence.h"
#include "query/span_tree.h"
#include "query/spans.h"
#include "query/stacks.h"
#include "query/wall.h"

/* Below this many samples of a stack there is no ratio worth printing; of a
 * request, requests like it are offered. */
enum {
	FEW_SAMPLES = 5
};

struct trace_opts {
	struct cli_common common;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "rows", 'n', "N", "rows of each table (default 20; 0: all)",
	  CLI_NUMBER, offsetof(struct trace_opts, rows) },
};

static const struct cli_command command = {
	.name = "trace",
	.operands = "ID [FILE]",
	.about =
		"One request: what it used, its stacks with their share of it "
		"(estimated from\nits detail samples) beside their share of "
		"everyone's samples (exact), and its\nsamples in the order of "
		"time; its spans, if the file has them, with the\nsamples in "
		"each. ID: 32 hexadecimal digits, or a prefix of at\nleast 8 "
		"that no other trace has.\n\nSamples of processes that tell no "
		"trace IDs are joined by process and time, where\nthat is "
		"certain; the report says how many.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 2,
};

struct row {
	uint64_t text;    /* stacks_text_key(): those that read so are one */
	int64_t stack_id; /* one of them */
	struct tally here, everyone;
	char *folded;      /* owned */
	bool is_text_told; /* it is what the file says */
};

struct process {
	int64_t pid, samples, threads;
	char comm[32], service[64];
};

struct trace {
	struct report report;
	int64_t id;
	char hex[33];
	struct stacks *stacks; /* owned */
	struct row *rows;      /* owned; by text, then by share */
	size_t n_rows;
	struct tally here, everyone; /* of all stacks */
	struct process processes[16];
	size_t n_processes; /* there may be more than there is room for */
	int64_t first_ns, last_ns;
	struct sequence sequence;
	struct span_tree spans;
	struct wall wall;
	int64_t by_time;  /* of its samples */
	char like[256];   /* KEY = VALUE of requests like it; "": not known */
	const char *file; /* borrowed; NULL: the default */
};

static void trace_release(struct trace *t)
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
	const struct row *x = a, *y = b;

	return x->text < y->text ? -1 : x->text > y->text;
}

static int compare_here(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->here.weight != y->here.weight)
		return x->here.weight > y->here.weight ? -1 : 1;
	return compare_texts(a, b);
}

static int load_here(struct trace *t, size_t part, struct weft_err *err)
{
	struct row row = { 0 }, *grown;
	sqlite3_stmt *stmt;
	int rc;

	rc = query(t, part, QUERY_SQL_TOP_STACKS_TRACE, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		row.stack_id = sqlite3_column_int64(stmt, 0);
		rc = stacks_need(t->stacks, t->report.db, row.stack_id, err);
		if (rc)
			return rc;
		row.text = stacks_text_key(t->stacks, row.stack_id);
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
	for (i = 1; i < t->n_rows; i++)
		if (t->rows[i].text == t->rows[last].text)
			tally_add(&t->rows[last].here, &t->rows[i].here);
		else
			t->rows[++last] = t->rows[i];
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
static struct row *row_of_stack(struct trace *t, size_t n, int64_t stack_id)
{
	struct row key = { .text = stacks_text_key(t->stacks, stack_id) };

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
		struct row *row = row_of_stack(t, n, id);

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
	struct row *row;
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
	struct process *p;
	sqlite3_stmt *stmt;
	int64_t first, last;
	int rc;

	rc = query(t, part, QUERY_SQL_TRACE_PROCESSES, &stmt, err);
	if (rc)
		return rc;
	while ((rc = db_step(t->report.db, stmt, err)) > 0) {
		first = sqlite3_column_int64(stmt, 5);
		last = sqlite3_column_int64(stmt, 6);
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
	const char *text;
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	for (i = 0; i < n; i++) {
		rc = db_query(t->report.db, QUERY_SQL_TRACE_TEXT, &stmt, err);
		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, t->rows[i].stack_id);
		rc = db_step(t->report.db, stmt, err);
		if (rc < 0)
			return rc;
		text = rc ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
		t->rows[i].is_text_told = text;
		t->rows[i].folded = strdup(text ? text : "[unknown]");
		if (!t->rows[i].folded)
			return no_memory(err);
	}
	return 0;
}

/* The samples in order, with what is known of how stacks read. */
static int load_sequence(struct trace *t, size_t n, size_t max_rows,
			 struct weft_err *err)
{
	struct sequence_text *known = calloc(n + 1, sizeof(*known));
	size_t n_known = 0;
	int rc;

	if (!known)
		return no_memory(err);
	for (size_t i = 0; i < n; i++)
		if (t->rows[i].is_text_told)
			known[n_known++] =
				(struct sequence_text){ t->rows[i].stack_id,
							t->rows[i].folded };
	t->sequence.known = known;
	t->sequence.n_known = n_known;
	rc = sequence_load(&t->sequence, &t->report, t->id, 0, max_rows, err);
	free(known);
	return rc;
}

/* The interval of what the request used. */
static struct stats_interval used(const struct trace *t)
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

/* Few samples say little: offer those of requests like it. */
static void print_pool(const struct trace *t)
{
	if (t->here.count >= FEW_SAMPLES || !*t->like)
		return;
	printf("a single request of 5 ms rarely has a sample; all like it "
	       "together:\n  weft top --where '%s'%s%s\n",
	       t->like, t->file ? " " : "", t->file ? t->file : "");
}

static void print_by_time(const struct trace *t)
{
	if (t->by_time)
		printf("%s of them by process and time, as the process tells "
		       "no trace IDs\n",
		       FIGURE(figure_count, (double)t->by_time));
}

static void print_summary(const struct trace *t)
{
	const char *unit = t->report.range.unit;
	size_t i, shown = t->n_processes;
	char name[256];
	int64_t threads = 0;

	if (!t->here.count && !context_is_any(&t->report.ledger)) {
		printf("trace %s: no sample of the file has a trace ID: what "
		       "it used nobody can say\n\n",
		       t->hex);
		return;
	}
	if (!t->here.count) {
		printf("trace %s: no sample: it may have used up to %s "
		       "(95 %%)\n",
		       t->hex, FIGURE(figure_value, used(t).hi, unit));
		print_pool(t);
		putchar('\n');
		return;
	}
	printf("trace %s: %s samples, estimated %s (95 %%: %s), %s from first "
	       "to last\n",
	       t->hex, FIGURE(figure_count, (double)t->here.count),
	       FIGURE(figure_value, t->here.estimate, unit),
	       FIGURE(figure_value_interval, used(t), unit),
	       FIGURE(figure_ns, (double)(t->last_ns - t->first_ns)));
	if (shown > ARRAY_LEN(t->processes))
		shown = ARRAY_LEN(t->processes);
	for (i = 0; i < shown; i++) {
		const struct process *p = &t->processes[i];
		const char *word = *p->service ? p->service : p->comm;

		weft_sanitize(name, sizeof(name), word, strlen(word));
		threads = p->threads;
		printf("  %s (pid %lld): %s samples on %lld %s\n", name,
		       (long long)p->pid,
		       FIGURE(figure_count, (double)p->samples),
		       (long long)threads, threads == 1 ? "thread" : "threads");
	}
	if (shown < t->n_processes)
		printf("  and %zu more processes\n", t->n_processes - shown);
	print_by_time(t);
	print_pool(t);
	putchar('\n');
}

/* How much larger the share is here; NULL: too few samples, or new here. */
static const char *ratio(struct figure *to, const struct trace *t,
			 const struct row *row)
{
	double everyone = tally_share(&row->everyone, &t->everyone);

	if (row->here.count < FEW_SAMPLES || everyone <= 0)
		return NULL;
	snprintf(to->text, sizeof(to->text), "%.3g",
		 tally_share(&row->here, &t->here) / everyone);
	return to->text;
}

static int print_stacks(const struct trace *t, size_t n, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "SAMPLES", TABLE_RIGHT }, { "HERE %", TABLE_RIGHT },
		{ "95 %", TABLE_RIGHT },    { "EVERYONE %", TABLE_RIGHT },
		{ "RATIO", TABLE_RIGHT },   { "STACK", TABLE_CUT_START },
	};
	struct table *table = table_new(columns, ARRAY_LEN(columns));
	struct figure text;
	const char *times;
	size_t i;
	int rc;

	if (!table)
		return no_memory(err);
	for (i = 0; i < n; i++) {
		const struct row *row = &t->rows[i];

		times = ratio(&text, t, row);
		table_text(table,
			   FIGURE(figure_count, (double)row->here.count));
		table_text(table, FIGURE(figure_share, &row->here, &t->here));
		table_text(table,
			   FIGURE(figure_share_interval, &row->here, &t->here));
		table_text(table,
			   FIGURE(figure_share, &row->everyone, &t->everyone));
		table_text(table, times ? times : "-");
		table_text(table, row->folded);
	}
	rc = report_print_table(table, err);
	table_free(table);
	if (!rc && n < t->n_rows)
		printf("%zu more; -n 0 prints all\n", t->n_rows - n);
	putchar('\n');
	return rc;
}

static int print(const struct trace *t, size_t n, struct weft_err *err)
{
	char loss[512];
	int rc;

	report_print_heading(&t->report);
	print_summary(t);
	wall_print(&t->wall);
	rc = span_tree_print(&t->spans, &t->report, t->stacks, err);
	if (!rc && !t->here.count)
		return 0;
	if (!rc)
		rc = print_stacks(t, n, err);
	if (!rc)
		rc = sequence_print(&t->sequence, t->first_ns, false, err);
	if (rc)
		return rc;
	if (ledger_describe_loss(&t->report.ledger, loss, sizeof(loss)))
		printf("\n%s\n", loss);
	return 0;
}

static void json_stacks(const struct trace *t, struct json *j, size_t n)
{
	const struct row *row;
	struct figure text;
	size_t i;

	json_array(j, "stacks");
	for (i = 0; i < n; i++) {
		row = &t->rows[i];
		json_object(j, NULL);
		json_int(j, "stack_id", row->stack_id);
		json_int(j, "samples", (int64_t)row->here.count);
		json_real(j, "share_here", tally_share(&row->here, &t->here));
		json_interval(j, "share_here",
			      tally_share_interval(&row->here, &t->here));
		json_real(j, "share_everyone",
			  tally_share(&row->everyone, &t->everyone));
		if (ratio(&text, t, row))
			json_real(j, "ratio",
				  tally_share(&row->here, &t->here) /
					  tally_share(&row->everyone,
						      &t->everyone));
		else
			json_null(j, "ratio");
		json_text(j, "folded", row->folded);
		json_end_object(j);
	}
	json_end_array(j);
	json_int(j, "stacks_left_out", (int64_t)(t->n_rows - n));
}

static void print_json(const struct trace *t, size_t n)
{
	struct json j = { .to = stdout };
	char key[32];
	size_t i;

	report_json(&t->report, &j, "trace");
	json_text(&j, "trace_id", t->hex);
	json_bool(&j, "estimated", true);
	json_int(&j, "samples", (int64_t)t->here.count);
	json_int(&j, "samples_by_time", t->by_time);
	json_text(&j, "pool",
		  t->here.count < FEW_SAMPLES && *t->like ? t->like : NULL);
	snprintf(key, sizeof(key), "estimate_%s", t->report.range.unit);
	json_real(&j, key, t->here.estimate);
	json_interval(&j, key, used(t));
	json_int(&j, "extent_ns", t->last_ns - t->first_ns);
	json_array(&j, "processes");
	for (i = 0; i < t->n_processes && i < ARRAY_LEN(t->processes); i++) {
		json_object(&j, NULL);
		json_int(&j, "pid", t->processes[i].pid);
		json_text(&j, "comm", t->processes[i].comm);
		json_text(&j, "service",
			  *t->processes[i].service ? t->processes[i].service
						   : NULL);
		json_int(&j, "samples", t->processes[i].samples);
		json_int(&j, "threads", t->processes[i].threads);
		json_end_object(&j);
	}
	json_end_array(&j);
	wall_json(&t->wall, &j);
	span_tree_json(&t->spans, &t->report, &j);
	json_stacks(t, &j, n);
	sequence_json(&t->sequence, &j, t->first_ns);
	json_end_object(&j);
}

/* What requests like it have in common: their route, else their name. */
static int find_like(struct trace *t, struct weft_err *err)
{
	struct spans_root root;
	char route[128] = "";
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
	/* It is to be typed into a shell. */
	for (const char *c = t->like; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '\'')
			rc = 0;
	if (!rc || (!*route && !*root.name))
		t->like[0] = '\0';
	return 0;
}

static int load(struct trace *t, const struct trace_opts *opts, size_t *n,
		struct weft_err *err)
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
	if (!rc && t->here.count == 0 && !t->spans.n)
		rc = weft_fail(err, -ENODATA,
			       "trace %s has no sample of %s in that time",
			       t->hex, t->report.range.event);
	*n = 0;
	if (rc || t->here.count == 0)
		return rc;
	merge(t);
	qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_here);
	*n = opts->rows && opts->rows < t->n_rows ? opts->rows : t->n_rows;
	rc = load_everyone(t, *n, err);
	if (!rc)
		rc = find_texts(t, *n, err);
	if (!rc)
		rc = load_sequence(t, *n, opts->rows, err);
	return rc;
}

static int run(struct trace *t, const struct trace_opts *opts, const char *id,
	       const char *file, struct weft_err *err)
{
	size_t n;
	int rc = report_open(&t->report, &opts->common, file, err);

	t->file = file ? file : opts->common.input;

	if (!rc)
		rc = report_find_trace(&t->report, id, &t->id, t->hex, err);
	if (!rc)
		rc = load(t, opts, &n, err);
	if (rc)
		return rc;
	db_release(t->report.db);
	if (!opts->common.json)
		return print(t, n, err);
	print_json(t, n);
	return 0;
}

int cmd_trace(int argc, char **argv)
{
	struct trace_opts opts = { .rows = 20 };
	struct weft_err err = { 0 };
	struct trace trace = { 0 };
	const char *operands[2];
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, operands);
	if (rc >= 0)
		return rc;
	if (!operands[0])
		return cli_usage(&command, "no trace ID");
	/* Before the file: a file in the ID's place would be sought in vain. */
	rc = report_check_trace(operands[0], &err);
	if (!rc)
		rc = run(&trace, &opts, operands[0], operands[1], &err);
	trace_release(&trace);
	return rc ? cli_fail(&err) : cli_finish();
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/context.h"
#include "query/figure.h"
#include "query/report.h"

enum {
	/* A key of sums: thread, source, status. */
	WORD_BITS = 4,
	WORD_MASK = (1 << WORD_BITS) - 1,
	LIST_BYTES = 256
};

/* Of the ledger's entries that count samples by status. */
static const char ledger_prefix[] = "context_";

static int load_words(struct context *c, struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_CONTEXT_WORDS, &stmt, err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 1);

		rc = 0;
		if (id < 0 || id >= CONTEXT_WORDS_MAX)
			continue;
		db_copy_word(stmt, 2,
			     sqlite3_column_int(stmt, 0) ? c->status[id]
							 : c->source[id],
			     CONTEXT_WORD_BYTES);
	}
	return rc;
}

/* Samples of one interval, one after another. */
struct run {
	int64_t interval_id;
	struct tally tally;
};

/* One more sample of an interval; of another than the last, the run ends. */
static int add_to_run(struct run *run, int64_t interval_id, struct sums *to)
{
	int rc = 0;

	if (run->interval_id != interval_id && run->tally.count) {
		if (to)
			rc = sums_add(to, run->interval_id, &run->tally, 0, 0);
		run->tally.count = 0;
	}
	run->interval_id = interval_id;
	run->tally.count++;
	return rc;
}

/* Sum up in one pass: GROUP BY would sort all samples. */
static int load_sums(struct sums *sums, struct sums *by_interval, struct db *db,
		     const struct range *range, struct weft_err *err)
{
	const struct tally one = { .count = 1 };
	struct run run = { 0 };
	sqlite3_stmt *stmt;

	for (size_t i = 0; i < range->n_parts; i++) {
		int rc = range_query(range, i, db, QUERY_SQL_CONTEXT_SAMPLES,
				     &stmt, err);

		if (rc)
			return rc;
		while ((rc = db_step(db, stmt, err)) > 0) {
			int64_t key = sqlite3_column_int64(stmt, 0);

			key = key << WORD_BITS |
			      (sqlite3_column_int64(stmt, 1) & WORD_MASK);
			key = key << WORD_BITS |
			      (sqlite3_column_int64(stmt, 2) & WORD_MASK);
			if (sums_add(sums, key, &one, 0, 0) ||
			    add_to_run(&run, sqlite3_column_int64(stmt, 3),
				       by_interval))
				return weft_fail(err, -ENOMEM, "out of memory");
		}
		if (rc)
			return rc;
	}
	if (run.tally.count && by_interval &&
	    sums_add(by_interval, run.interval_id, &run.tally, 0, 0))
		return weft_fail(err, -ENOMEM, "out of memory");
	return 0;
}

static void count(const struct context *c, struct context_counts *to,
		  int64_t key, uint64_t n)
{
	unsigned status = key & WORD_MASK,
		 source = key >> WORD_BITS & WORD_MASK;

	to->samples += n;
	if (strcmp(c->status[status], "ok")) {
		to->status[status] += n;
		return;
	}
	to->with_id += n;
	to->source[source] += n;
}

static int compare_processes(const void *a, const void *b)
{
	const struct context_row *x = a, *y = b;

	return x->process_id == y->process_id  ? 0
	       : x->process_id < y->process_id ? -1
					       : 1;
}

static int compare_samples(const void *a, const void *b)
{
	const struct context_row *x = a, *y = b;

	if (x->counts.samples != y->counts.samples)
		return x->counts.samples < y->counts.samples ? 1 : -1;
	return compare_processes(a, b);
}

static void add_counts(struct context_counts *to,
		       const struct context_counts *more)
{
	to->samples += more->samples;
	to->with_id += more->with_id;
	for (int i = 0; i < CONTEXT_WORDS_MAX; i++) {
		to->source[i] += more->source[i];
		to->status[i] += more->status[i];
	}
}

/* One row for each process. */
static void merge(struct context *c)
{
	size_t last = 0;

	if (!c->n)
		return;
	qsort(c->rows, c->n, sizeof(*c->rows), compare_processes);
	for (size_t i = 1; i < c->n; i++) {
		if (compare_processes(&c->rows[last], &c->rows[i]))
			c->rows[++last] = c->rows[i];
		else
			add_counts(&c->rows[last].counts, &c->rows[i].counts);
	}
	c->n = last + 1;
	qsort(c->rows, c->n, sizeof(*c->rows), compare_samples);
}

/* A row for each sum, with the process of its thread. */
static int load_processes(struct context *c, struct db *db,
			  const struct sums *sums, struct weft_err *err)
{
	sqlite3_stmt *stmt;

	c->rows = calloc(sums->n + 1, sizeof(*c->rows));
	if (!c->rows)
		return weft_fail(err, -ENOMEM, "out of memory");
	for (; c->n < sums->n; c->n++) {
		const struct sum *sum = &sums->rows[c->n];
		struct context_row *row = &c->rows[c->n];
		int rc = db_query(db, QUERY_SQL_CONTEXT_PROCESS, &stmt, err);

		if (rc)
			return rc;
		sqlite3_bind_int64(stmt, 1, sum->key >> 2 * WORD_BITS);
		rc = db_step(db, stmt, err);
		if (rc < 0)
			return rc;
		if (rc) {
			row->process_id = sqlite3_column_int64(stmt, 0);
			row->pid = sqlite3_column_int64(stmt, 1);
			db_copy_text(stmt, 2, row->comm, sizeof(row->comm));
		}
		count(c, &row->counts, sum->key, sum->tally.count);
		add_counts(&c->all, &row->counts);
	}
	return 0;
}

int context_load(struct context *c, struct db *db, const struct range *range,
		 struct sums *by_interval, struct weft_err *err)
{
	struct sums sums = { 0 }; /* by thread, source and status */
	int rc = load_words(c, db, err);

	if (!rc)
		rc = load_sums(&sums, by_interval, db, range, err);
	if (!rc)
		rc = load_processes(c, db, &sums, err);
	if (!rc)
		merge(c);
	sums_release(&sums);
	return rc;
}

void context_release(struct context *c)
{
	free(c->rows);
	*c = (struct context){ 0 };
}

/* The largest of n not yet listed; n: none is left. */
static size_t largest(const uint64_t counts[CONTEXT_WORDS_MAX], unsigned listed)
{
	size_t best = CONTEXT_WORDS_MAX;

	for (size_t i = 0; i < CONTEXT_WORDS_MAX; i++) {
		if (counts[i] && !(listed >> i & 1) &&
		    (best == CONTEXT_WORDS_MAX || counts[i] > counts[best]))
			best = i;
	}
	return best;
}

/* "null 12 %, zero 3 %": words by their share of all samples, largest first;
 * "-" where there are none. */
static void list_words(const char words[][CONTEXT_WORD_BYTES],
		       const uint64_t counts[CONTEXT_WORDS_MAX], uint64_t all,
		       char out[LIST_BYTES])
{
	unsigned listed = 0;
	size_t used = 0, i;

	snprintf(out, LIST_BYTES, "-");
	while ((i = largest(counts, listed)) < CONTEXT_WORDS_MAX &&
	       used < LIST_BYTES) {
		listed |= 1U << i;
		used += (size_t)snprintf(
			out + used, LIST_BYTES - used, "%s%s %s %%",
			used ? ", " : "", *words[i] ? words[i] : "unknown",
			FIGURE(figure_percent, (double)counts[i], (double)all));
	}
}

/* One line: "71 % of 28 detail samples have a trace ID (...)". */
static void describe(const struct context *c, char *out, size_t size)
{
	char sources[LIST_BYTES], statuses[LIST_BYTES];
	const struct context_counts *a = &c->all;

	if (!a->samples) {
		snprintf(out, size, "no detail samples");
		return;
	}
	list_words(c->source, a->source, a->samples, sources);
	list_words(c->status, a->status, a->samples, statuses);
	snprintf(out, size,
		 "%s %% of %s detail samples have one (%s), the others do not "
		 "(%s)",
		 FIGURE(figure_percent, (double)a->with_id, (double)a->samples),
		 FIGURE(figure_count, (double)a->samples), sources, statuses);
}

static void fill_row(const struct context *c, const struct context_row *row,
		     struct table *t)
{
	const struct context_counts *n = &row->counts;
	char list[LIST_BYTES], pid[24];

	snprintf(pid, sizeof(pid), "%lld", (long long)row->pid);
	table_text(t, FIGURE(figure_count, (double)n->samples));
	table_text(t, FIGURE(figure_percent, (double)n->with_id,
			     (double)n->samples));
	table_text(t, pid);
	table_text(t, *row->comm ? row->comm : "-");
	list_words(c->source, n->source, n->samples, list);
	table_text(t, list);
	list_words(c->status, n->status, n->samples, list);
	table_text(t, list);
}

/* Explain the words of samples without an ID. */
static void print_meanings(const struct context *c)
{
	for (size_t i = 0; i < CONTEXT_WORDS_MAX; i++) {
		char entry[CONTEXT_WORD_BYTES + 16];
		const char *meaning;

		snprintf(entry, sizeof(entry), "%s%s", ledger_prefix,
			 c->status[i]);
		meaning = ledger_explain(entry);
		if (c->all.status[i] && meaning)
			printf("%s: %s\n", c->status[i], meaning);
	}
}

int context_print(const struct context *c, size_t most, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "SAMPLES", TABLE_RIGHT }, { "WITH ID %", TABLE_RIGHT },
		{ "PID", TABLE_RIGHT },     { "COMM", TABLE_CUT_END },
		{ "FROM", TABLE_LEFT },     { "WITHOUT, WHY", TABLE_LEFT },
	};
	size_t n = most && most < c->n ? most : c->n;
	struct table *t;
	char line[2 * LIST_BYTES + 128];
	int rc;

	describe(c, line, sizeof(line));
	printf("\ntrace IDs: %s\n", line);
	if (!c->n)
		return 0;
	t = table_new(columns, ARRAY_LEN(columns));
	if (!t)
		return weft_fail(err, -ENOMEM, "out of memory");
	printf("by process; shares are of each row's detail samples\n\n");
	for (size_t i = 0; i < n; i++)
		fill_row(c, &c->rows[i], t);
	rc = report_print_table(t, err);
	table_free(t);
	if (rc)
		return rc;
	putchar('\n');
	if (n < c->n)
		report_print_more(c->n - n);
	print_meanings(c);
	return 0;
}

/* An entry's status, where it counts samples by that; NULL: it does not. */
static const char *status_of(const struct ledger_entry *e)
{
	size_t size = sizeof(ledger_prefix) - 1;

	return e->is_measured && e->count &&
			       !strncmp(e->name, ledger_prefix, size)
		       ? e->name + size
		       : NULL;
}

bool context_is_any(const struct ledger *l)
{
	return ledger_count(l, "context_ok") > 0;
}

void context_describe_ledger(const struct ledger *l, char *out, size_t size)
{
	const struct ledger_entry *most = NULL;
	uint64_t all = 0, with_id = ledger_count(l, "context_ok");

	for (size_t i = 0; i < l->n_entries; i++) {
		const struct ledger_entry *e = &l->entries[i];

		if (!status_of(e))
			continue;
		all += e->count;
		if (strcmp(status_of(e), "ok") &&
		    (!most || e->count > most->count))
			most = e;
	}
	if (!all) {
		snprintf(out, size, "no detail samples: no trace IDs");
		return;
	}
	snprintf(out, size, "%s %% of detail samples have a trace ID%s%s%s",
		 FIGURE(figure_percent, (double)with_id, (double)all),
		 most ? "; most others: " : "",
		 most ? ledger_explain(most->name) : "",
		 most ? " (weft loss tells by process)" : "");
}

void context_json_ledger(const struct ledger *l, struct json *j)
{
	const char *status;

	json_object(j, "trace_ids");
	json_int(j, "with_trace_id", (int64_t)ledger_count(l, "context_ok"));
	json_object(j, "without_by_status");
	for (size_t i = 0; i < l->n_entries; i++) {
		status = status_of(&l->entries[i]);
		if (status && strcmp(status, "ok"))
			json_int(j, status, (int64_t)l->entries[i].count);
	}
	json_end_object(j);
	json_end_object(j);
}

static void json_words(struct json *j, const char *key,
		       const char words[][CONTEXT_WORD_BYTES],
		       const uint64_t counts[CONTEXT_WORDS_MAX])
{
	json_object(j, key);
	for (size_t i = 0; i < CONTEXT_WORDS_MAX; i++)
		if (counts[i])
			json_int(j, *words[i] ? words[i] : "unknown",
				 (int64_t)counts[i]);
	json_end_object(j);
}

static void json_counts(const struct context *c, struct json *j,
			const struct context_counts *n)
{
	json_int(j, "detail_samples", (int64_t)n->samples);
	json_int(j, "with_trace_id", (int64_t)n->with_id);
	json_words(j, "with_by_source", c->source, n->source);
	json_words(j, "without_by_status", c->status, n->status);
}

void context_json(const struct context *c, struct json *j)
{
	json_object(j, "trace_ids");
	json_counts(c, j, &c->all);
	json_end_object(j);
	json_array(j, "trace_ids_by_process");
	for (size_t i = 0; i < c->n; i++) {
		const struct context_row *row = &c->rows[i];

		json_object(j, NULL);
		json_int(j, "pid", row->pid);
		json_text(j, "comm", *row->comm ? row->comm : NULL);
		json_counts(c, j, &row->counts);
		json_end_object(j);
	}
	json_end_array(j);
}

/* SPDX-License-Identifier: MIT */
/* weft loss: what was counted and what was not, and whether it adds up. */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/cmd.h"
#include "query/context.h"
#include "query/figure.h"
#include "query/programs.h"
#include "query/report.h"

struct loss_opts {
	struct cli_common common;
	const char *fail_above;
	uint64_t rows;
};

static const struct cli_option options[] = {
	{ "fail-above", 0, "PERCENT",
	  "exit with 1 if more than that was lost or does not add up", CLI_TEXT,
	  offsetof(struct loss_opts, fail_above) },
	{ "rows", 'n', "N", "names of processes to print (default 10; 0: all)",
	  CLI_NUMBER, offsetof(struct loss_opts, rows) },
};

static const struct cli_command command = {
	.name = "loss",
	.operands = "[FILE]",
	.about = "The ledger: where every firing and every choice of a detail "
		 "sample ended, and\nwhether the sums agree, over all and in "
		 "the worst interval. \"not measured\" is\nnot 0.\n\n"
		 "Then, by process name, how many samples have a whole stack. "
		 "Complete: the walk\nover user frames reached the first "
		 "function. Truncated: there are more frames\nthan are "
		 "recorded. Broken: a caller was not found; why is one word, "
		 "explained\nbelow the table. Lost: the stack found no room. "
		 "Samples without a user stack\n(kernel threads, programs "
		 "being replaced) are left out.\n\n"
		 "Last, by process, how many detail samples have a trace ID, "
		 "from which source,\nand why the others have none.",
	.options = options,
	.n_options = ARRAY_LEN(options),
	.max_operands = 1,
};

/* The terms of the identities: entries of the ledger, and what is stored. */
enum term {
	DUE,
	FIRED,
	NOT_RUN,
	COUNTED,
	FILTERED,
	IDLE,
	LOST_COUNTS_FULL,
	LOST_BUSY,
	SELECTED,
	PASSED_OVER,
	IN_STACK_COUNT,
	LOST_COUNTS_DISCARDED,
	STORED,
	LOST_RING_FULL,
	LOST_RING_BUSY,
	LOST_DISCARDED,
	IN_SAMPLE,
	TERM_COUNT
};

static const char *const term_words[TERM_COUNT] = {
	"due",
	"fired",
	"not_run",
	"counted",
	"filtered",
	"idle",
	"lost_counts_full",
	"lost_busy",
	"selected",
	"passed_over",
	"sum(stack_count)",
	"lost_counts_discarded",
	"stored",
	"lost_ring_full",
	"lost_ring_busy",
	"lost_discarded",
	"rows of sample",
};

static const struct identity {
	enum term left;
	enum term right[5];
	size_t n_right;
} identities[] = {
	{ DUE, { FIRED, NOT_RUN }, 2 },
	{ FIRED, { COUNTED, FILTERED, IDLE, LOST_COUNTS_FULL, LOST_BUSY }, 5 },
	{ COUNTED, { SELECTED, PASSED_OVER }, 2 },
	{ COUNTED, { IN_STACK_COUNT, LOST_COUNTS_DISCARDED }, 2 },
	{ SELECTED,
	  { STORED, LOST_RING_FULL, LOST_RING_BUSY, LOST_DISCARDED },
	  4 },
	{ STORED, { IN_SAMPLE }, 1 },
};

/* The terms of one interval, or of all. */
struct book {
	int64_t interval_id;
	int64_t term[TERM_COUNT];
	bool is_known[TERM_COUNT];
};

struct check {
	char text[160];
	int64_t left, right;
	bool is_known; /* every term was measured in every interval */
	int64_t worst; /* the difference furthest from 0 */
	int64_t worst_interval;
};

struct loss {
	struct report report;
	struct book *books; /* owned; by interval_id */
	size_t n_books;
	struct check checks[ARRAY_LEN(identities)];
	struct {
		char word[24];
		uint64_t count;
	} statuses[16];
	size_t n_statuses;
	struct programs programs;
	struct context context;
};

static void loss_release(struct loss *l)
{
	programs_release(&l->programs);
	context_release(&l->context);
	free(l->books);
	report_close(&l->report);
}

static struct book *find_book(struct loss *l, int64_t interval_id)
{
	size_t lo = 0, hi = l->n_books, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->books[mid].interval_id == interval_id)
			return &l->books[mid];
		if (l->books[mid].interval_id < interval_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* One row of a statement, into the book of its interval (column 0). */
typedef int on_row(struct loss *l, sqlite3_stmt *stmt);

static int on_interval(struct loss *l, sqlite3_stmt *stmt)
{
	struct book *grown = l->books;

	if ((l->n_books & (l->n_books - 1)) == 0)
		grown = reallocarray(l->books, l->n_books ? 2 * l->n_books : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->books = grown;
	grown[l->n_books++] = (struct book){
		.interval_id = sqlite3_column_int64(stmt, 0),
		.is_known[IN_STACK_COUNT] = true,
		.is_known[IN_SAMPLE] = true,
	};
	return 0;
}

static int on_ledger(struct loss *l, sqlite3_stmt *stmt)
{
	struct book *b = find_book(l, sqlite3_column_int64(stmt, 0));
	const char *entry = (const char *)sqlite3_column_text(stmt, 1);
	enum term i;

	for (i = 0; b && entry && i < TERM_COUNT; i++) {
		if (strcmp(entry, term_words[i]) != 0)
			continue;
		b->term[i] = sqlite3_column_int64(stmt, 2);
		b->is_known[i] = sqlite3_column_type(stmt, 2) != SQLITE_NULL;
	}
	return 0;
}

static int on_shape(struct loss *l, sqlite3_stmt *stmt)
{
	struct book *b = find_book(l, sqlite3_column_int64(stmt, 0));

	if (b)
		b->term[IN_STACK_COUNT] = sqlite3_column_int64(stmt, 1);
	return 0;
}

static int on_samples(struct loss *l, sqlite3_stmt *stmt)
{
	struct book *b = find_book(l, sqlite3_column_int64(stmt, 0));

	if (b)
		b->term[IN_SAMPLE] = sqlite3_column_int64(stmt, 1);
	return 0;
}

/* What the timers say stands in for an entry that the ledger does not have. */
static int on_due(struct loss *l, sqlite3_stmt *stmt)
{
	struct book *b = find_book(l, sqlite3_column_int64(stmt, 0));

	if (!b || b->is_known[DUE])
		return 0;
	b->term[DUE] = sqlite3_column_int64(stmt, 1);
	b->is_known[DUE] = true;
	return 0;
}

static void add_status(struct loss *l, const char *word, uint64_t count)
{
	size_t i = 0;

	while (i < l->n_statuses && strcmp(l->statuses[i].word, word) != 0)
		i++;
	if (i == ARRAY_LEN(l->statuses))
		return;
	if (i == l->n_statuses) {
		l->n_statuses++;
		weft_sanitize(l->statuses[i].word, sizeof(l->statuses[i].word),
			      word, strlen(word));
	}
	l->statuses[i].count += count;
}

static int on_stacks(struct loss *l, sqlite3_stmt *stmt)
{
	const char *word = (const char *)sqlite3_column_text(stmt, 0);
	uint64_t count = (uint64_t)sqlite3_column_int64(stmt, 1);
	const char *ended = (const char *)sqlite3_column_text(stmt, 2);
	struct tally tally = tally_of_shape(count, 0);

	if (!word)
		return 0;
	add_status(l, word, count);
	return programs_add(&l->programs, sqlite3_column_int64(stmt, 3),
			    (const char *)sqlite3_column_text(stmt, 4),
			    ends_parse_status(word), ends_parse_reason(ended),
			    &tally);
}

static int load_part(struct loss *l, size_t part, struct weft_err *err)
{
	bool whole = l->report.range.is_whole;
	const struct {
		enum query_sql id;
		on_row *on_row;
	} steps[] = {
		{ QUERY_SQL_LOSS_INTERVALS, on_interval },
		{ QUERY_SQL_LOSS_LEDGER, on_ledger },
		{ QUERY_SQL_LOSS_SHAPE, on_shape },
		{ QUERY_SQL_LOSS_SAMPLES, on_samples },
		{ QUERY_SQL_LOSS_DUE, on_due },
		{ whole ? QUERY_SQL_LOSS_STACKS_WHOLE
			: QUERY_SQL_LOSS_STACKS_PART,
		  on_stacks },
	};
	struct db *db = l->report.db;
	sqlite3_stmt *stmt;
	size_t i;
	int rc;

	for (i = 0; i < ARRAY_LEN(steps); i++) {
		rc = range_query(&l->report.range, part, db, steps[i].id, &stmt,
				 err);
		if (rc)
			return rc;
		while ((rc = db_step(db, stmt, err)) > 0)
			if (steps[i].on_row(l, stmt))
				return weft_fail(err, -ENOMEM, "out of memory");
		if (rc)
			return rc;
	}
	return 0;
}

static void check_book(const struct identity *id, const struct book *b,
		       struct check *c)
{
	int64_t right = 0, difference;
	size_t i;

	c->is_known &= b->is_known[id->left];
	for (i = 0; i < id->n_right; i++) {
		right += b->term[id->right[i]];
		c->is_known &= b->is_known[id->right[i]];
	}
	c->left += b->term[id->left];
	c->right += right;
	difference = b->term[id->left] - right;
	if (llabs(difference) > llabs(c->worst)) {
		c->worst = difference;
		c->worst_interval = b->interval_id;
	}
}

static int compare_statuses(const void *a, const void *b)
{
	return strcmp(a, b); /* the word stands first */
}

static void check_all(struct loss *l)
{
	const struct identity *id;
	size_t i, k, used;
	struct check *c;

	for (i = 0; i < ARRAY_LEN(identities); i++) {
		id = &identities[i];
		c = &l->checks[i];
		c->is_known = true;
		used = (size_t)snprintf(c->text, sizeof(c->text),
					"%s =", term_words[id->left]);
		for (k = 0; k < id->n_right; k++)
			used += (size_t)snprintf(
				c->text + used, sizeof(c->text) - used, "%s %s",
				k ? " +" : "", term_words[id->right[k]]);
		for (k = 0; k < l->n_books; k++)
			check_book(id, &l->books[k], c);
	}
}

static int print_checks(const struct loss *l, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "LEFT", TABLE_RIGHT },
		{ "RIGHT", TABLE_RIGHT },
		{ "DIFFERENCE", TABLE_RIGHT },
		{ "WORST INTERVAL", TABLE_RIGHT },
		{ "IDENTITY", TABLE_CUT_END },
	};
	struct table *t = table_new(columns, ARRAY_LEN(columns));
	const struct check *c;
	char worst[64];
	size_t i;
	int rc;

	if (!t)
		return weft_fail(err, -ENOMEM, "out of memory");
	for (i = 0; i < ARRAY_LEN(l->checks); i++) {
		c = &l->checks[i];
		snprintf(worst, sizeof(worst), "%lld (interval %lld)",
			 (long long)c->worst, (long long)c->worst_interval);
		table_text(t, FIGURE(figure_count, (double)c->left));
		table_text(t, FIGURE(figure_count, (double)c->right));
		table_text(t, c->is_known ? FIGURE(figure_count,
						   (double)(c->left - c->right))
					  : "not measured");
		table_text(t, !c->is_known ? "-" : c->worst ? worst : "0");
		table_text(t, c->text);
	}
	rc = report_print_table(t, err);
	table_free(t);
	return rc;
}

static int print_entries(const struct loss *l, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "COUNT", TABLE_RIGHT },
		{ "ENTRY", TABLE_LEFT },
		{ "MEANING", TABLE_CUT_END },
	};
	struct table *t = table_new(columns, ARRAY_LEN(columns));
	const struct ledger_entry *e;
	char word[48];
	size_t i;
	int rc;

	if (!t)
		return weft_fail(err, -ENOMEM, "out of memory");
	for (i = 0; i < l->report.ledger.n_entries; i++) {
		e = &l->report.ledger.entries[i];
		table_text(t, e->is_measured
				      ? FIGURE(figure_count, (double)e->count)
				      : "not measured");
		table_text(t, e->name);
		table_text(t, ledger_explain(e->name));
	}
	for (i = 0; i < l->n_statuses; i++) {
		snprintf(word, sizeof(word), "stack status %s",
			 l->statuses[i].word);
		table_text(t,
			   FIGURE(figure_count, (double)l->statuses[i].count));
		table_text(t, word);
		table_text(t, NULL);
	}
	rc = report_print_table(t, err);
	table_free(t);
	return rc;
}

static void fill_program(const struct program *p, struct table *t)
{
	double share;
	const char *reason = ends_reason(&p->ends, &share);
	char why[64] = "-";
	struct figure percent;
	enum ends_status i;

	if (reason)
		snprintf(why, sizeof(why), "%s (%s %%)", reason,
			 figure_percent(&percent, share, 1));
	table_text(t, FIGURE(figure_count, (double)ends_all(&p->ends).count));
	for (i = 0; i < ENDS_NO_USER; i++)
		table_text(t, FIGURE(ends_percent, &p->ends, i));
	table_text(t, FIGURE(figure_count, (double)p->processes));
	table_text(t, *p->name ? p->name : "-");
	table_text(t, why);
}

/* Explain each reason that stands in the first n rows. */
static void print_reasons(const struct programs *p, size_t n)
{
	const char *reason, *other;
	double share;
	size_t i, k;

	for (i = 0; i < n; i++) {
		reason = ends_reason(&p->rows[i].ends, &share);
		other = NULL;
		for (k = 0; k < i && other != reason; k++)
			other = ends_reason(&p->rows[k].ends, &share);
		if (reason && other != reason)
			printf("%s: %s\n", reason, ends_explain(reason));
	}
}

static int print_programs(const struct loss *l, size_t most,
			  struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "SAMPLES", TABLE_RIGHT },
		{ "COMPLETE %", TABLE_RIGHT },
		{ "TRUNCATED %", TABLE_RIGHT },
		{ "BROKEN %", TABLE_RIGHT },
		{ "LOST %", TABLE_RIGHT },
		{ "PROCESSES", TABLE_RIGHT },
		{ "COMM", TABLE_CUT_END },
		{ "MOST BROKEN BY", TABLE_LEFT },
	};
	const struct programs *p = &l->programs;
	size_t n = most && most < p->n ? most : p->n, i;
	struct table *t;
	char line[256];
	int rc;

	ends_describe(&p->all, line, sizeof(line));
	printf("\nstacks: %s\n", line);
	if (!p->n)
		return 0;
	t = table_new(columns, ARRAY_LEN(columns));
	if (!t)
		return weft_fail(err, -ENOMEM, "out of memory");
	printf("by process, those of a name together; shares are of each "
	       "row's samples\n\n");
	for (i = 0; i < n; i++)
		fill_program(&p->rows[i], t);
	rc = report_print_table(t, err);
	table_free(t);
	if (rc)
		return rc;
	putchar('\n');
	if (n < p->n)
		printf("%zu more; -n 0 prints all\n", p->n - n);
	if (p->all.status[ENDS_NO_USER].count)
		printf("left out: %s samples without a user stack (kernel "
		       "threads, programs being replaced)\n",
		       FIGURE(figure_count,
			      (double)p->all.status[ENDS_NO_USER].count));
	print_reasons(p, n);
	return 0;
}

static int print(const struct loss *l, size_t rows, struct weft_err *err)
{
	const struct ledger *ledger = &l->report.ledger;
	int rc;

	report_print_heading(&l->report);
	printf("lost: %.4g %% of samples (%s), %.4g %% of detail samples "
	       "(%s)\n\n",
	       100 * ledger_shape_loss(ledger),
	       FIGURE(figure_count, (double)ledger->shape_lost),
	       100 * ledger_detail_loss(ledger),
	       FIGURE(figure_count, (double)ledger->detail_lost));
	rc = print_checks(l, err);
	if (rc)
		return rc;
	putchar('\n');
	rc = print_entries(l, err);
	if (!rc)
		rc = print_programs(l, rows, err);
	return rc ? rc : context_print(&l->context, rows, err);
}

static void json_checks(const struct loss *l, struct json *j)
{
	const struct check *c;
	size_t i;

	json_array(j, "identities");
	for (i = 0; i < ARRAY_LEN(l->checks); i++) {
		c = &l->checks[i];
		json_object(j, NULL);
		json_text(j, "identity", c->text);
		json_bool(j, "measured", c->is_known);
		json_int(j, "left", c->left);
		json_int(j, "right", c->right);
		if (c->is_known) {
			json_int(j, "difference", c->left - c->right);
			json_int(j, "worst_difference", c->worst);
		} else {
			json_null(j, "difference");
			json_null(j, "worst_difference");
		}
		if (c->is_known && c->worst)
			json_int(j, "worst_interval", c->worst_interval);
		else
			json_null(j, "worst_interval");
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_programs(const struct loss *l, struct json *j)
{
	const struct program *p;
	size_t i;

	json_object(j, "stacks");
	ends_json(&l->programs.all, j);
	json_end_object(j);
	json_array(j, "stacks_by_process");
	for (i = 0; i < l->programs.n; i++) {
		p = &l->programs.rows[i];
		json_object(j, NULL);
		json_text(j, "comm", *p->name ? p->name : NULL);
		json_int(j, "processes", (int64_t)p->processes);
		ends_json(&p->ends, j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void print_json(const struct loss *l)
{
	const struct ledger *ledger = &l->report.ledger;
	struct json j = { .to = stdout };
	size_t i;

	report_json(&l->report, &j, "loss");
	json_int(&j, "shape_lost_samples", (int64_t)ledger->shape_lost);
	json_int(&j, "detail_lost_samples", (int64_t)ledger->detail_lost);
	json_checks(l, &j);
	json_object(&j, "entries");
	for (i = 0; i < ledger->n_entries; i++)
		if (ledger->entries[i].is_measured)
			json_int(&j, ledger->entries[i].name,
				 (int64_t)ledger->entries[i].count);
		else
			json_null(&j, ledger->entries[i].name);
	json_end_object(&j);
	json_object(&j, "stack_statuses");
	for (i = 0; i < l->n_statuses; i++)
		json_int(&j, l->statuses[i].word,
			 (int64_t)l->statuses[i].count);
	json_end_object(&j);
	json_programs(l, &j);
	context_json(&l->context, &j);
	json_end_object(&j);
}

/* The largest share, in percent, that was lost or does not add up. */
static double worst_percent(const struct loss *l)
{
	double worst = fmax(ledger_shape_loss(&l->report.ledger),
			    ledger_detail_loss(&l->report.ledger));
	const struct check *c;
	size_t i;

	for (i = 0; i < ARRAY_LEN(l->checks); i++) {
		c = &l->checks[i];
		if (c->is_known && c->left != c->right)
			worst = fmax(worst, fabs((double)(c->left - c->right)) /
						    fmax(1, (double)c->left));
	}
	return 100 * worst;
}

static int run(struct loss *l, const struct loss_opts *opts, const char *file,
	       struct weft_err *err)
{
	size_t i;
	int rc = report_open(&l->report, &opts->common, file, err);

	for (i = 0; !rc && i < l->report.range.n_parts; i++)
		rc = load_part(l, i, err);
	if (!rc)
		rc = context_load(&l->context, l->report.db, &l->report.range,
				  err);
	if (rc)
		return rc;
	db_release(l->report.db);
	check_all(l);
	qsort(l->statuses, l->n_statuses, sizeof(l->statuses[0]),
	      compare_statuses);
	programs_merge(&l->programs);
	if (!opts->common.json)
		return print(l, opts->rows, err);
	print_json(l);
	return 0;
}

int cmd_loss(int argc, char **argv)
{
	struct loss_opts opts = { .rows = 10 };
	struct weft_err err = { 0 };
	struct loss loss = { 0 };
	double limit = INFINITY, worst;
	const char *file;
	char *end = NULL;
	int rc;

	rc = cli_parse(&command, argc, argv, &opts, &file);
	if (rc >= 0)
		return rc;
	if (opts.fail_above)
		limit = strtod(opts.fail_above, &end);
	if (end && (end == opts.fail_above || *end || !(limit >= 0) ||
		    !(limit <= 100)))
		return cli_usage(&command,
				 "--fail-above takes a percentage, not '%s'",
				 opts.fail_above);
	rc = run(&loss, &opts, file, &err);
	worst = rc ? 0 : worst_percent(&loss);
	loss_release(&loss);
	if (rc)
		return cli_fail(&err);
	rc = cli_finish();
	if (worst > limit) {
		weft_log(WEFT_ERROR,
			 "%.4g %% was lost or does not add up; the "
			 "limit is %.4g %%",
			 worst, limit);
		return WEFT_EXIT_FAILED;
	}
	return rc;
}

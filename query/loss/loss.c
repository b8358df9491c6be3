/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/loss/loss.h"

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
	EXPIRED,
	EXPIRED_COUNTS,
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
	"expired",
	"expired_counts",
};

static const struct identity {
	enum term left;
	enum term right[5];
	size_t n_right;
} identities[LOSS_CHECKS] = {
	{ DUE, { FIRED, NOT_RUN }, 2 },
	{ FIRED, { COUNTED, FILTERED, IDLE, LOST_COUNTS_FULL, LOST_BUSY }, 5 },
	{ COUNTED, { SELECTED, PASSED_OVER }, 2 },
	{ COUNTED,
	  { IN_STACK_COUNT, LOST_COUNTS_DISCARDED, EXPIRED_COUNTS },
	  3 },
	{ SELECTED,
	  { STORED, LOST_RING_FULL, LOST_RING_BUSY, LOST_DISCARDED, EXPIRED },
	  5 },
	{ STORED, { IN_SAMPLE }, 1 },
};

/* The terms of one interval, or of all. */
struct book {
	int64_t interval_id;
	int64_t term[TERM_COUNT];
	bool is_known[TERM_COUNT];
};

struct books {
	struct loss *loss;  /* borrowed */
	struct book *books; /* owned; by interval_id */
	size_t n_books;
};

void loss_release(struct loss *l)
{
	programs_release(&l->programs);
	sums_release(&l->samples);
	context_release(&l->context);
	report_close(&l->report);
}

static struct book *find_book(struct books *all, int64_t interval_id)
{
	size_t lo = 0, hi = all->n_books, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (all->books[mid].interval_id == interval_id)
			return &all->books[mid];
		if (all->books[mid].interval_id < interval_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* One row of a statement, into the book of its interval (column 0). */
typedef int on_row(struct books *all, sqlite3_stmt *stmt);

static int on_interval(struct books *all, sqlite3_stmt *stmt)
{
	struct book *grown = all->books;

	if ((all->n_books & (all->n_books - 1)) == 0)
		grown = reallocarray(all->books,
				     all->n_books ? 2 * all->n_books : 1,
				     sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	all->books = grown;
	grown[all->n_books++] = (struct book){
		.interval_id = sqlite3_column_int64(stmt, 0),
		.is_known[IN_STACK_COUNT] = true,
		.is_known[IN_SAMPLE] = true,
		/* Without these entries nothing has. */
		.is_known[EXPIRED] = true,
		.is_known[EXPIRED_COUNTS] = true,
	};
	return 0;
}

static int on_ledger(struct books *all, sqlite3_stmt *stmt)
{
	struct book *b = find_book(all, sqlite3_column_int64(stmt, 0));
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

static int on_shape(struct books *all, sqlite3_stmt *stmt)
{
	struct book *b = find_book(all, sqlite3_column_int64(stmt, 0));

	if (b)
		b->term[IN_STACK_COUNT] = sqlite3_column_int64(stmt, 1);
	return 0;
}

static int on_samples(struct books *all, sqlite3_stmt *stmt)
{
	struct book *b = find_book(all, sqlite3_column_int64(stmt, 0));

	if (b)
		b->term[IN_SAMPLE]++;
	return 0;
}

/* What the timers say stands in for an entry that the ledger does not have. */
static int on_due(struct books *all, sqlite3_stmt *stmt)
{
	struct book *b = find_book(all, sqlite3_column_int64(stmt, 0));

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

static int on_stacks(struct books *all, sqlite3_stmt *stmt)
{
	const char *word = (const char *)sqlite3_column_text(stmt, 0);
	uint64_t count = (uint64_t)sqlite3_column_int64(stmt, 1);
	const char *ended = (const char *)sqlite3_column_text(stmt, 2);
	struct tally tally = tally_of_shape(count, 0);

	if (!word)
		return 0;
	add_status(all->loss, word, count);
	return programs_add(&all->loss->programs, sqlite3_column_int64(stmt, 3),
			    (const char *)sqlite3_column_text(stmt, 4),
			    ends_parse_status(word), ends_parse_reason(ended),
			    &tally);
}

static int load_part(struct books *all, size_t part, struct weft_err *err)
{
	struct loss *l = all->loss;
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
		if (steps[i].id == QUERY_SQL_LOSS_SAMPLES && l->samples.n)
			continue; /* they have been looked at */
		rc = range_query(&l->report.range, part, db, steps[i].id, &stmt,
				 err);
		if (rc)
			return rc;
		while ((rc = db_step(db, stmt, err)) > 0)
			if (steps[i].on_row(all, stmt))
				return weft_fail(err, -ENOMEM, "out of memory");
		if (rc)
			return rc;
	}
	return 0;
}

static void check_book(const struct identity *id, const struct book *b,
		       struct loss_check *c)
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

static void check_all(struct loss *l, const struct books *all)
{
	const struct identity *id;
	size_t i, k, used;
	struct loss_check *c;

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
		for (k = 0; k < all->n_books; k++)
			check_book(id, &all->books[k], c);
	}
}

int loss_add_up(struct loss *l, struct weft_err *err)
{
	struct books all = { .loss = l };
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < l->report.range.n_parts; i++)
		rc = load_part(&all, i, err);
	for (i = 0; !rc && i < all.n_books && l->samples.n; i++) {
		const struct sum *sum =
			sums_find(&l->samples, all.books[i].interval_id);

		if (sum)
			all.books[i].term[IN_SAMPLE] =
				(int64_t)sum->tally.count;
	}
	if (!rc) {
		check_all(l, &all);
		qsort(l->statuses, l->n_statuses, sizeof(l->statuses[0]),
		      compare_statuses);
		programs_merge(&l->programs);
	}
	free(all.books);
	return rc;
}

int loss_load(struct loss *l, const struct cli_common *common, const char *file,
	      struct weft_err *err)
{
	int rc = report_open(&l->report, common, file, err);

	if (!rc)
		rc = context_load(&l->context, l->report.db, &l->report.range,
				  &l->samples, err);
	if (!rc)
		rc = loss_add_up(l, err);
	if (!rc)
		db_release(l->report.db);
	return rc;
}

double loss_worst_percent(const struct loss *l)
{
	double worst = fmax(ledger_shape_loss(&l->report.ledger),
			    ledger_detail_loss(&l->report.ledger));
	const struct loss_check *c;
	size_t i;

	for (i = 0; i < ARRAY_LEN(l->checks); i++) {
		c = &l->checks[i];
		if (c->is_known && c->left != c->right)
			worst = fmax(worst, fabs((double)(c->left - c->right)) /
						    fmax(1, (double)c->left));
	}
	return 100 * worst;
}

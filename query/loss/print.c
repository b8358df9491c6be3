/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "query/figure.h"
#include "query/loss/loss.h"

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
	const struct loss_check *c;
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
		report_print_more(p->n - n);
	if (p->all.status[ENDS_NO_USER].count)
		printf("left out: %s samples without a user stack (kernel "
		       "threads, programs being replaced)\n",
		       FIGURE(figure_count,
			      (double)p->all.status[ENDS_NO_USER].count));
	print_reasons(p, n);
	return 0;
}

int loss_print(const struct loss *l, size_t rows, struct weft_err *err)
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
	if (ledger->counts_expired || ledger->detail_expired)
		printf("expired since: %s samples, %s detail samples\n\n",
		       FIGURE(figure_count, (double)ledger->counts_expired),
		       FIGURE(figure_count, (double)ledger->detail_expired));
	rc = print_checks(l, err);
	if (rc)
		return rc;
	putchar('\n');
	rc = print_entries(l, err);
	if (!rc)
		rc = print_programs(l, rows, err);
	return rc ? rc : context_print(&l->context, rows, err);
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/print.h"
#include "query/figure.h"

/* Titles of columns, of the first set and the second. */
static const struct {
	const char *word[COMPARE_SIDES];
	const char *share[COMPARE_SIDES];
	const char *rate[COMPARE_SIDES];
} titles[] = {
	[DIFF_TWO_FILES] = { { "A", "B" },
			     { "A %", "B %" },
			     { "A RATE", "B RATE" } },
	[DIFF_CUT] = { { "before", "after" },
		       { "BEFORE %", "AFTER %" },
		       { "BEFORE RATE", "AFTER RATE" } },
	[DIFF_WHERE] = { { "others", "these" },
			 { "OTHERS %", "THESE %" },
			 { "OTHERS USE", "THESE USE" } },
	[DIFF_SLOW] = { { "rest", "slow" },
			{ "REST %", "SLOW %" },
			{ "REST USE", "SLOW USE" } },
	[DIFF_TRACE] = { { "others", "this" },
			 { "OTHERS %", "THIS %" },
			 { "OTHERS USE", "THIS USES" } },
};

/* --before alone: it is what came before that is of interest. */
static int title_of(const struct diff *d, int side)
{
	return d->mode == DIFF_CUT && !d->after ? !side : side;
}

const char *diff_word(const struct diff *d, enum compare_side side)
{
	return titles[d->mode].word[title_of(d, side)];
}

const char *diff_rule(const struct diff *d, enum compare_rule rule)
{
	switch (rule) {
	case COMPARE_SAID:
		break;
	case COMPARE_NO_SAMPLES:
		return "no samples on one side";
	case COMPARE_FEW_CLUSTERS:
		return diff_is_of_requests(d)
			       ? "too few requests: fewer than 50 with samples "
				 "on a side"
			       : "recording too short to generalise: fewer "
				 "than 10 blocks (intervals) with samples on a "
				 "side; record for longer, or with a shorter "
				 "--interval";
	case COMPARE_FEW_SAMPLES:
		return "too few samples that have it, or lack it: even all on "
		       "one side would be no finding (2 min(f, 1 - f)^K > "
		       "0.0025)";
	}
	return "";
}

bool diff_is_found(const struct compare_answer *a)
{
	return a->rule == COMPARE_SAID && a->q < 0.05;
}

char *diff_name(const struct diff *d, uint32_t item)
{
	const struct diff_item *of = diff_items_at(d->items, item);

	return d->by_stack ? diff_items_fold(d->items, of) : strdup(of->name);
}

/* An item with what it is sorted by. */
struct place {
	int class; /* 0 found, 1 tested, 2 not */
	double by, then;
	uint32_t item;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->by != y->by)
		return x->by > y->by ? -1 : 1;
	if (x->then != y->then)
		return x->then > y->then ? -1 : 1;
	return x->item < y->item ? -1 : x->item > y->item;
}

/* How much it differs at least: 0 where the interval holds 0. */
static double certain(struct stats_interval in)
{
	return in.lo > 0 ? in.lo : in.hi < 0 ? -in.hi : 0;
}

static struct place place_of(const struct compare_answer *a, uint32_t item)
{
	struct place at = { .class = 2, .item = item };

	at.by = fmax(a->share[0], a->share[1]);
	at.then = fabs(a->difference);
	if (a->rule != COMPARE_SAID)
		return at;
	at.class = !diff_is_found(a);
	at.by = at.class ? -a->p : certain(a->difference_in);
	return at;
}

uint32_t *diff_order(const struct diff *d, enum compare_kind kind, size_t *n)
{
	const struct compare *c = &d->compare;
	struct place *places = calloc(c->n_items + 1, sizeof(*places));
	uint32_t *order = calloc(c->n_items + 1, sizeof(*order));

	*n = 0;
	if (!places || !order) {
		free(places);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < c->n_items; i++) {
		const struct compare_part *part = c->items[i].part[kind];

		if (part[0].tally.count + part[1].tally.count)
			places[(*n)++] = place_of(&c->items[i].answer[kind],
						  (uint32_t)i);
	}
	if (*n)
		qsort(places, *n, sizeof(*places), compare_places);
	for (size_t i = 0; i < *n; i++)
		order[i] = places[i].item;
	free(places);
	return order;
}

static size_t choose_columns(const struct diff *d, struct table_column *to)
{
	int first = title_of(d, 0), second = title_of(d, 1);
	size_t n = 0;

	to[n++] = (struct table_column){ titles[d->mode].share[first],
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ titles[d->mode].share[second],
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ "DIFF", TABLE_RIGHT };
	to[n++] = (struct table_column){ "95 %", TABLE_RIGHT };
	to[n++] = (struct table_column){ "P", TABLE_RIGHT };
	to[n++] = (struct table_column){ "Q", TABLE_RIGHT };
	to[n++] = (struct table_column){ titles[d->mode].rate[first],
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ titles[d->mode].rate[second],
					 TABLE_RIGHT };
	to[n++] = (struct table_column){ "RATIO 95 %", TABLE_RIGHT };
	to[n++] = (struct table_column){ d->by_stack ? "STACK" : "FUNCTION",
					 d->by_stack ? TABLE_CUT_START
						     : TABLE_CUT_END };
	if (!d->by_stack)
		to[n++] = (struct table_column){ "BINARY", TABLE_CUT_END };
	return n;
}

/* Of time: seconds a second, or events a second; of requests: what one uses. */
static const char *figure_rate(struct figure *to, const struct diff *d,
			       double rate)
{
	const char *unit = d->reports[0].range.unit;

	if (diff_is_of_requests(d))
		return figure_value(to, rate, unit);
	snprintf(to->text, sizeof(to->text), "%.3g",
		 strcmp(unit, "ns") ? rate * 1e9 : rate);
	return to->text;
}

static int fill_name(const struct diff *d, uint32_t item, struct table *t)
{
	char *name = diff_name(d, item);

	if (!name)
		return -ENOMEM;
	table_text(t, name);
	free(name);
	if (!d->by_stack)
		table_text(t, diff_items_at(d->items, item)->binary);
	return 0;
}

static void fill_test(const struct compare_answer *a, struct table *t)
{
	char text[64];

	if (a->rule != COMPARE_SAID) {
		table_text(t, "-");
		table_text(t, "-");
		table_text(t, a->rule == COMPARE_FEW_SAMPLES ? "few" : "-");
		table_text(t, "-");
		return;
	}
	snprintf(text, sizeof(text), "%+.2f", 100 * a->difference);
	table_text(t, text);
	snprintf(text, sizeof(text), "%+.2f .. %+.2f",
		 100 * a->difference_in.lo, 100 * a->difference_in.hi);
	table_text(t, text);
	snprintf(text, sizeof(text), "%.2g", a->p);
	table_text(t, text);
	snprintf(text, sizeof(text), "%.2g", a->q);
	table_text(t, text);
}

static int fill_row(const struct diff *d, enum compare_kind kind, uint32_t item,
		    struct table *t)
{
	const struct compare_part *part = d->compare.items[item].part[kind];
	const struct compare_answer *a = &d->compare.items[item].answer[kind];
	char text[64];

	for (int side = 0; side < COMPARE_SIDES; side++)
		table_text(t, FIGURE(figure_share, &part[side].tally,
				     &d->compare.set[side].all));
	fill_test(a, t);
	for (int side = 0; side < COMPARE_SIDES; side++)
		table_text(t, FIGURE(figure_rate, d, a->rate[side]));
	snprintf(text, sizeof(text), "%.2f .. %.3g", a->ratio.lo, a->ratio.hi);
	table_text(t, a->rule == COMPARE_SAID ? text : "-");
	return fill_name(d, item, t);
}

/* Above the table: what it is of, and what came of the tests. */
static void print_title(const struct diff *d, enum compare_kind kind,
			const uint32_t *order, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found +=
			diff_is_found(&d->compare.items[order[i]].answer[kind]);
	printf("\n%s: %s",
	       d->by_stack            ? "STACKS"
	       : kind == COMPARE_SELF ? "SELF"
				      : "TOTAL",
	       d->by_stack            ? ""
	       : kind == COMPARE_SELF ? "the function was the innermost; "
				      : "it was on the stack; ");
	if (d->compare.rule == COMPARE_SAID)
		printf("%.0f tested, %zu differ (q < 0.05)",
		       d->compare.tests[kind], found);
	else
		printf("none tested");
	if (d->compare.rule == COMPARE_SAID &&
	    (double)n > d->compare.tests[kind])
		printf("; %.0f are on too few samples, or on all but too few, "
		       "to be tested",
		       (double)n - d->compare.tests[kind]);
	printf("\n");
}

static int print_table(const struct diff *d, enum compare_kind kind,
		       size_t rows, struct weft_err *err)
{
	struct table_column columns[16];
	struct table *t = table_new(columns, choose_columns(d, columns));
	size_t n, shown;
	uint32_t *order = diff_order(d, kind, &n);
	int rc = t && order ? 0 : diff_no_memory(err);

	shown = rows && rows < n ? rows : n;
	for (size_t i = 0; i < shown && !rc; i++)
		if (fill_row(d, kind, order[i], t))
			rc = diff_no_memory(err);
	if (!rc) {
		print_title(d, kind, order, n);
		rc = report_print_table(t, err);
	}
	if (!rc && shown < n)
		report_print_more(n - shown);
	table_free(t);
	free(order);
	return rc;
}

static void print_set(const struct diff *d, enum compare_side side)
{
	const struct compare_set *set = &d->compare.set[side];
	double clusters = set->clusters;

	printf("%s: %s samples", diff_word(d, side),
	       FIGURE(figure_count, (double)set->all.count));
	if (diff_is_of_requests(d))
		printf(" of %s request%s, %s of them without",
		       FIGURE(figure_count, clusters), clusters == 1 ? "" : "s",
		       FIGURE(figure_count, clusters - set->sampled));
	else
		printf(" in %.0f block%s of %s", clusters,
		       clusters == 1 ? "" : "s",
		       FIGURE(figure_ns,
			      clusters > 0 ? set->exposure / clusters : 0));
	if (d->compare.rule == COMPARE_SAID)
		printf("; design effect %.2g: they tell as much as %s "
		       "independent ones",
		       set->effect[COMPARE_SELF],
		       FIGURE(figure_count, tally_samples(&set->all) /
						    set->effect[COMPARE_SELF]));
	printf("; %s %s\n",
	       FIGURE(figure_rate, d,
		      set->exposure > 0 ? set->all.estimate / set->exposure
					: 0),
	       diff_is_of_requests(d)                   ? "a request"
	       : strcmp(d->reports[0].range.unit, "ns") ? "a second"
							: "s of it a second");
}

/* What the difference is of, and how small it could have been. */
static void print_scope(const struct diff *d)
{
	static const double shares[] = { 0.01, 0.05, 0.25 };
	const struct compare *c = &d->compare;

	if (c->rule != COMPARE_SAID) {
		printf("nothing is said of the program: %s\n",
		       diff_rule(d, c->rule));
		return;
	}
	printf("DIFF: %s - %s, in points; with intervals, P and Q (P corrected "
	       "for all that was tested) it\nis about the program, not about "
	       "%s: %s are the clusters\n",
	       diff_word(d, COMPARE_SECOND), diff_word(d, COMPARE_FIRST),
	       diff_is_of_requests(d) ? "these requests" : "these recordings",
	       diff_is_of_requests(d) ? "requests" : "blocks of time");
	printf("9 times of 10 a change would have been found from");
	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		double least =
			compare_least_difference(c, COMPARE_SELF, shares[i]);

		if (isinf(least))
			printf(" nothing");
		else
			printf(" %.2g points", 100 * least);
		printf(" on a share of %.0f %%%s", 100 * shares[i],
		       i + 1 < ARRAY_LEN(shares) ? "," : "\n");
	}
}

static void print_slow(const struct diff *d)
{
	const struct compare_set *set = d->compare.set;

	if (set[COMPARE_FIRST].clusters + set[COMPARE_SECOND].clusters > 0)
		printf("slow: %s and more%s, %s\n",
		       FIGURE(figure_ns, d->slow_from_ns),
		       set[COMPARE_FIRST].clusters > 0
			       ? ""
			       : ", which all requests are: none is left to "
				 "compare them with",
		       d->by_extent ? "from first to last sample (there are no "
				      "spans: who has few samples looks quick)"
				    : "by the root span");
	if (d->unknown > 0)
		printf("left out: %s requests without a span that tells how "
		       "long they were\n",
		       FIGURE(figure_count, d->unknown));
}

static void print_file(const struct diff *d, size_t file)
{
	const char *path = db_path(d->reports[file].db);
	char safe[4096];

	weft_sanitize(safe, sizeof(safe), path, strlen(path));
	printf("%s %s: ", titles[d->mode].word[file], safe);
}

static void print_heading(const struct diff *d)
{
	for (size_t i = 0; i < d->n_reports; i++) {
		if (d->mode == DIFF_TWO_FILES)
			print_file(d, i);
		report_print_heading(&d->reports[i]);
	}
	if (d->mode == DIFF_SLOW)
		print_slow(d);
	if (d->left_out)
		printf("left out: %lld interval%s in or between the two\n",
		       (long long)d->left_out, d->left_out == 1 ? "" : "s");
	if (diff_is_of_requests(d))
		printf("estimated from detail\n");
	if (d->by_time)
		printf("samples of processes that tell no trace IDs are joined "
		       "by time (view samples_by_time)\n");
}

static void print_losses(const struct diff *d)
{
	char loss[512];

	for (size_t i = 0; i < d->n_reports; i++)
		if (ledger_describe_loss(&d->reports[i].ledger, loss,
					 sizeof(loss)))
			printf("%s%s%s\n",
			       d->mode == DIFF_TWO_FILES
				       ? titles[d->mode].word[i]
				       : "",
			       d->mode == DIFF_TWO_FILES ? ": " : "", loss);
}

/* The order of ranks: what the request has surely more of than others; of what
 * it has too few samples of to print a share that is not said. */
static struct place *order_ranks(const struct diff *d, enum compare_kind kind)
{
	struct place *order = calloc(d->n_ranks + 1, sizeof(*order));

	for (size_t i = 0; order && i < d->n_ranks; i++) {
		const struct compare_item *item =
			&d->compare.items[d->ranks[i].item];
		const struct compare_answer *a = &item->answer[kind];
		const struct tally *tally = &item->part[kind][1].tally;
		struct stats_interval own =
			tally_share_interval(tally, &d->compare.set[1].all);
		double more = own.lo - a->share[0];

		order[i] = (struct place){ .by = figure_is_few(tally)
							 ? 0
							 : fmax(0, more),
					   .then = a->share[1],
					   .item = (uint32_t)i };
	}
	if (order && d->n_ranks)
		qsort(order, d->n_ranks, sizeof(*order), compare_places);
	return order;
}

/* A row: how much of it the request has, how much the others. */
static int fill_rank(const struct diff *d, enum compare_kind kind,
		     const struct diff_rank *r, struct table *t)
{
	const struct compare_item *item = &d->compare.items[r->item];
	const struct compare_part *part = item->part[kind];
	const struct compare_answer *a = &item->answer[kind];
	const struct tally *all = &d->compare.set[1].all;
	struct stats_interval in = tally_share_interval(&part[1].tally, all);

	table_text(t, FIGURE(figure_share_in, &part[1].tally, all, in));
	table_text(t, FIGURE(figure_limits, &part[1].tally, all, in));
	all = &d->compare.set[0].all;
	table_text(t, FIGURE(figure_share_in, &part[0].tally, all,
			     a->share_in[0]));
	table_text(t,
		   FIGURE(figure_limits, &part[0].tally, all, a->share_in[0]));
	table_text(t, FIGURE(figure_count, r->at_least[kind]));
	table_text(t, FIGURE(figure_rate, d, a->rate[1]));
	table_text(t, FIGURE(figure_rate, d, a->rate[0]));
	return fill_name(d, r->item, t);
}

/* One request: no test tells whether it differs from others, where it stands
 * among them. */
static int print_ranks(const struct diff *d, enum compare_kind kind,
		       size_t rows, struct weft_err *err)
{
	const struct table_column columns[] = {
		{ "THIS %", TABLE_RIGHT },     { "95 %", TABLE_RIGHT },
		{ "OTHERS %", TABLE_RIGHT },   { "95 %", TABLE_RIGHT },
		{ "AS MUCH", TABLE_RIGHT },    { "THIS USES", TABLE_RIGHT },
		{ "OTHERS USE", TABLE_RIGHT }, { "FUNCTION", TABLE_CUT_END },
		{ "BINARY", TABLE_CUT_END },
	};
	size_t n = ARRAY_LEN(columns) - d->by_stack, printed = 0, more = 0;
	struct place *order = order_ranks(d, kind);
	struct table *t = table_new(columns, n);
	int rc = t && order ? 0 : diff_no_memory(err);

	for (size_t i = 0; i < d->n_ranks && !rc; i++) {
		const struct diff_rank *r = &d->ranks[order[i].item];
		const struct compare_part *part =
			d->compare.items[r->item].part[kind];

		if (!part[1].tally.count)
			continue;
		if (rows && printed == rows) {
			more++;
			continue;
		}
		printed++;
		if (fill_rank(d, kind, r, t))
			rc = diff_no_memory(err);
	}
	if (!rc)
		printf("\n%s\n", d->by_stack            ? "STACKS"
				 : kind == COMPARE_SELF ? "SELF"
							: "TOTAL");
	if (!rc)
		rc = report_print_table(t, err);
	if (!rc && more)
		report_print_more(more);
	free(order);
	table_free(t);
	return rc;
}

static void print_one(const struct diff *d)
{
	char name[256] = "";

	if (*d->root.name)
		weft_sanitize(name, sizeof(name), d->root.name,
			      strlen(d->root.name));
	printf("trace %s%s%s against %s requests%s\n", d->hex,
	       *name ? ", " : "", name,
	       FIGURE(figure_count, d->compare.set[COMPARE_FIRST].clusters),
	       *name ? " of its route" : "");
	printf("THIS: the interval is of this request; OTHERS: of requests "
	       "like these. Between single requests\nthere is no test. AS "
	       "MUCH: of the %s with at least as many samples, those whose "
	       "share is as large\n",
	       FIGURE(figure_count, d->peers));
}

int diff_print(const struct diff *d, size_t rows, struct weft_err *err)
{
	int kinds = d->by_stack ? 1 : COMPARE_KINDS, rc = 0;

	print_heading(d);
	for (int side = 0; side < COMPARE_SIDES; side++)
		print_set(d, side);
	if (d->mode == DIFF_TRACE)
		print_one(d);
	else
		print_scope(d);
	for (int kind = 0; kind < kinds && !rc; kind++)
		rc = d->mode == DIFF_TRACE ? print_ranks(d, kind, rows, err)
					   : print_table(d, kind, rows, err);
	if (rc)
		return rc;
	putchar('\n');
	print_losses(d);
	return 0;
}

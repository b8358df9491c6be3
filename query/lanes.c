/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/lanes.h"

enum {
	LANES_MAX = 16,
	LETTERS = 26,
	LABEL_WIDTH = 20, /* a thread's number and name */
	COLUMNS_LEAST = 10,
	OTHERS = LETTERS, /* traces beyond the letters */
	NOBODY,           /* samples without a trace */
	MARKS
};

struct cell {
	double samples;
	double of[MARKS]; /* by trace: a letter's, others, nobody's */
};

struct lane {
	int64_t thread_id, tid;
	const char *comm;   /* borrowed */
	struct cell *cells; /* owned */
};

struct lanes {
	const struct sequence *s;
	struct lane lanes[LANES_MAX];
	size_t n, n_left_out; /* threads; rows of threads beyond */
	char letters[LETTERS][33];
	size_t n_letters, n_columns;
	int64_t from_ns, length_ns;
};

/* Which letter a trace has, made if there is one left. */
static int letter_of(struct lanes *l, const char *trace)
{
	size_t i;

	if (!*trace)
		return NOBODY;
	for (i = 0; i < l->n_letters; i++)
		if (!strcmp(l->letters[i], trace))
			return (int)i;
	if (i == LETTERS)
		return OTHERS;
	snprintf(l->letters[i], sizeof(l->letters[i]), "%s", trace);
	return (int)l->n_letters++;
}

/* The lane of a row's thread, or NULL: there is none left. -ENOMEM: *out is
 * NULL as well. */
static int find_lane(struct lanes *l, const struct sequence_row *row,
		     struct lane **out)
{
	struct lane *lane;
	size_t i;

	*out = NULL;
	for (i = 0; i < l->n && l->lanes[i].thread_id != row->thread_id;)
		i++;
	if (i == LANES_MAX) {
		l->n_left_out++;
		return 0;
	}
	lane = &l->lanes[i];
	if (i == l->n) {
		*lane = (struct lane){ row->thread_id, row->tid, row->comm,
				       calloc(l->n_columns,
					      sizeof(*lane->cells)) };
		if (!lane->cells)
			return -ENOMEM;
		l->n++;
	}
	*out = lane;
	return 0;
}

static size_t column_of(const struct lanes *l, double ns)
{
	double at = (ns - (double)l->from_ns) / (double)l->length_ns *
		    (double)l->n_columns;

	if (at < 0)
		return 0;
	return at < (double)l->n_columns ? (size_t)at : l->n_columns - 1;
}

/* Spread a run's samples evenly over its time: by columns, not one by one. */
static void add_run(struct lanes *l, struct lane *lane,
		    const struct sequence_row *row)
{
	int letter = letter_of(l, row->trace);
	size_t first = column_of(l, (double)row->first_ns);
	size_t last = column_of(l, (double)row->last_ns), i;
	double each = (double)row->samples / (double)(last - first + 1);

	for (i = first; i <= last; i++) {
		struct cell *cell = &lane->cells[i];

		cell->samples += each;
		cell->of[letter] += each;
	}
}

/* What time is shown. A column is no shorter than what a sample stands for:
 * else a busy thread would have holes. */
static void measure(struct lanes *l, double ns_each)
{
	const struct sequence *s = l->s;
	size_t i;

	l->from_ns = s->rows[0].first_ns;
	l->length_ns = 1;
	for (i = 0; i < s->n; i++)
		if (s->rows[i].last_ns - l->from_ns >= l->length_ns)
			l->length_ns = s->rows[i].last_ns - l->from_ns + 1;
	if (ns_each * (double)l->n_columns > (double)l->length_ns)
		l->n_columns = (size_t)((double)l->length_ns / ns_each);
	if (l->n_columns < COLUMNS_LEAST)
		l->n_columns = COLUMNS_LEAST;
}

static int fill(struct lanes *l)
{
	const struct sequence *s = l->s;
	struct lane *lane;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (find_lane(l, &s->rows[i], &lane))
			return -ENOMEM;
		if (lane)
			add_run(l, lane, &s->rows[i]);
	}
	return 0;
}

static char busy_mark(const struct lanes *l, const struct cell *cell,
		      double ns_each)
{
	double column_ns = (double)l->length_ns / (double)l->n_columns;
	double busy = ns_each > 0 ? cell->samples * ns_each / column_ns : 1;

	if (cell->samples <= 0)
		return ' ';
	return busy < 0.25 ? '.' : busy < 0.5 ? ':' : busy < 0.75 ? '+' : '#';
}

static char trace_mark(const struct cell *cell)
{
	int most = 0, i;

	if (cell->samples <= 0)
		return ' ';
	for (i = 1; i < MARKS; i++)
		if (cell->of[i] > cell->of[most])
			most = i;
	return most < LETTERS ? (char)('A' + most) : most == OTHERS ? '*' : '-';
}

static void print_lane(const struct lanes *l, const struct lane *lane,
		       double ns_each, bool with_trace)
{
	char name[64], label[96];
	size_t i;

	weft_sanitize(name, sizeof(name), lane->comm, strlen(lane->comm));
	snprintf(label, sizeof(label), "%lld %s", (long long)lane->tid, name);
	printf("%-*.*s |", LABEL_WIDTH, LABEL_WIDTH, label);
	for (i = 0; i < l->n_columns; i++)
		putchar(busy_mark(l, &lane->cells[i], ns_each));
	printf("|\n");
	if (!with_trace || !l->n_letters)
		return;
	printf("%-*s |", LABEL_WIDTH, "");
	for (i = 0; i < l->n_columns; i++)
		putchar(trace_mark(&lane->cells[i]));
	printf("|\n");
}

static void print_all(const struct lanes *l, int64_t origin_ns, double ns_each,
		      bool with_trace)
{
	size_t i;

	printf("from %+.6f s, %s; a column is %s\n", /* as AT s counts */
	       (double)(l->from_ns - origin_ns) / 1e9,
	       FIGURE(figure_ns, (double)l->length_ns),
	       FIGURE(figure_ns, (double)l->length_ns / (double)l->n_columns));
	puts(ns_each > 0
		     ? "# on a CPU for 3/4 of it or more, + for half, : for "
		       "a quarter, . less (estimated)"
		     : "# has a sample");
	for (i = 0; i < l->n; i++)
		print_lane(l, &l->lanes[i], ns_each, with_trace);
	if (l->n_left_out)
		printf("%zu rows of other threads are below only; --tid shows "
		       "one\n",
		       l->n_left_out);
	for (i = 0; with_trace && i < l->n_letters; i++)
		printf("%c %s%s", (int)('A' + i), l->letters[i],
		       i % 2 ? "\n" : "  ");
	if (with_trace && l->n_letters)
		printf("- no request%s\n",
		       l->n_letters == LETTERS ? "  * others" : "");
	putchar('\n');
}

int lanes_print(const struct sequence *s, int64_t origin_ns, double ns_each,
		bool with_trace, unsigned width, struct weft_err *err)
{
	struct lanes l = { .s = s };
	unsigned label = LABEL_WIDTH + 3; /* and the bars */
	int rc = 0;

	if (s->n < 2)
		return 0;
	if (width == 0)
		width = 80;
	l.n_columns =
		width < label + COLUMNS_LEAST ? COLUMNS_LEAST : width - label;
	measure(&l, ns_each);
	if (fill(&l))
		rc = weft_fail(err, -ENOMEM, "out of memory for the lanes");
	else
		print_all(&l, origin_ns, ns_each, with_trace);
	while (l.n > 0)
		free(l.lanes[--l.n].cells);
	return rc;
}

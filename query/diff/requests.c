/* SPDX-License-Identifier: MIT */
/*
 * Sets of requests. All requests are listed as weft traces lists them, each is
 * put on a side, and the samples are read in one pass, in the order of the
 * file. Then they are sorted by request, and one request after the other is
 * added up, since each is a cluster: by the weights of its samples. The other
 * sums do not depend on clusters, and are kept by stack.
 *
 * There are millions of samples, and what each refers to lies anywhere: what
 * takes the time is to wait for memory. So samples are taken a batch at a time,
 * and what a batch will touch is asked for before it is touched; and while they
 * are, the next are read.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/conveyor.h"
#include "query/diff/diff.h"
#include "query/traces.h"

enum {
	NOWHERE = COMPARE_SIDES, /* a request on neither side */
	/* Ids below that are remembered in an array, so that there is no search
	 * for each sample; of memory only the pages that are touched count. */
	SMALL_IDS = 1 << 24,
	BATCH = 64,
	AHEAD = 8 /* samples, of which what is needed is asked for */
};

/* A sample as it comes: the indexes of its request and stack. Single precision
 * will do for weights. */
struct sample {
	uint32_t request, stack;
	float weight;
};

/* The same among those of its request. */
struct sorted {
	uint32_t stack;
	float weight;
};

/* A row of the file. */
struct row {
	int64_t trace, stack_id, interval_id;
	double weight, value;
};

/* The same while its batch is taken; request NOBODY: it does not count. */
struct place {
	uint32_t request, stack;
};

struct request {
	double duration_ns; /* -1: not known */
	uint32_t first;     /* of its samples in `sorted` */
	uint32_t n;         /* samples */
	uint8_t side;
	bool is_listed; /* of the range */
};

static const uint32_t NOBODY = UINT32_MAX;

struct stack {
	int64_t id;
	const uint32_t *items; /* what it adds to; borrowed from d->items */
	size_t n_items;
};

/* What is summed of a stack: apart from it, so that what requests are added up
 * by lies close together. */
struct stack_sums {
	struct tally side[COMPARE_SIDES];
};

struct loading {
	struct diff *d;
	struct traces traces;
	struct request *requests; /* owned; parallel to traces.sums.rows */
	struct sample *samples;   /* owned; in the order of the file */
	size_t n_samples, samples_room;
	struct sorted *sorted;    /* owned; of one request after the other */
	struct sums ids;          /* keys: the ids of stacks */
	struct stack *stacks;     /* owned; parallel */
	struct stack_sums *tally; /* the same */
	size_t stacks_room;
	/* Owned, by id: 1 + index in traces.sums, in stacks; 0: search. */
	uint32_t *small_traces, *small_stacks;
};

/* Where the index of an id is remembered; NULL: nowhere. */
static uint32_t *small(uint32_t *ids, int64_t id)
{
	return id >= 0 && id < SMALL_IDS ? &ids[id] : NULL;
}

static struct request *request_of(const struct loading *l, int64_t trace)
{
	uint32_t *known = small(l->small_traces, trace);
	const struct sum *sum;
	size_t at;

	if (known && *known)
		return &l->requests[*known - 1];
	sum = sums_find(&l->traces.sums, trace);
	if (!sum)
		return NULL;
	at = (size_t)(sum - l->traces.sums.rows);
	if (known)
		*known = (uint32_t)at + 1;
	return &l->requests[at];
}

/* For all stacks whose ids are known. Returns 0 or -ENOMEM. */
static int make_room(struct loading *l)
{
	size_t room = l->stacks_room ? 2 * l->stacks_room : 1024;
	struct stack_sums *tally;
	struct stack *stacks;

	if (l->ids.n <= l->stacks_room)
		return 0;
	stacks = reallocarray(l->stacks, room, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	l->stacks = stacks;
	tally = reallocarray(l->tally, room, sizeof(*tally));
	if (!tally)
		return -ENOMEM;
	l->tally = tally;
	memset(stacks + l->stacks_room, 0,
	       (room - l->stacks_room) * sizeof(*stacks));
	memset(tally + l->stacks_room, 0,
	       (room - l->stacks_room) * sizeof(*tally));
	l->stacks_room = room;
	return 0;
}

/* The index of a stack's id. Returns 0 or -ENOMEM. */
static int index_stack(struct loading *l, int64_t stack_id, uint32_t *out)
{
	uint32_t *known = small(l->small_stacks, stack_id);
	const struct tally none = { 0 };
	const struct sum *sum;

	if (known && *known) {
		*out = *known - 1;
		return 0;
	}
	/* Nothing is added to what is there. */
	if (sums_add(&l->ids, stack_id, &none, 0, 0) || make_room(l))
		return -ENOMEM;
	sum = sums_find(&l->ids, stack_id);
	*out = (uint32_t)(sum - l->ids.rows);
	l->stacks[*out].id = stack_id;
	if (known)
		*known = *out + 1;
	return 0;
}

/* Ask for what is behind an id of which the index is known. */
static void ask_for_request(const struct loading *l, int64_t trace)
{
	const uint32_t *known = small(l->small_traces, trace);

	if (known && *known)
		__builtin_prefetch(&l->requests[*known - 1]);
}

static void ask_for_ids(const struct loading *l, const struct row *row)
{
	const uint32_t *known = small(l->small_traces, row->trace);

	if (known)
		__builtin_prefetch(known);
	known = small(l->small_stacks, row->stack_id);
	if (known)
		__builtin_prefetch(known);
}

/* Room for the samples of another batch. Returns 0 or -ENOMEM. */
static int make_samples_room(struct loading *l)
{
	size_t room = l->samples_room ? 2 * l->samples_room : 4096;
	struct sample *grown;

	if (l->samples_room - l->n_samples >= BATCH)
		return 0;
	if (room >= UINT32_MAX)
		return -ENOMEM;
	grown = reallocarray(l->samples, room, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	l->samples = grown;
	l->samples_room = room;
	return 0;
}

/* What a row counts, at its place. */
static void add_row(struct loading *l, const struct row *row,
		    const struct place *at)
{
	struct tally tally = diff_weighed(
		l->d, ledger_sample(&l->d->reports[0].ledger, row->interval_id,
				    row->weight, row->value));

	l->samples[l->n_samples++] =
		(struct sample){ at->request, at->stack, (float)tally.weight };
	tally_add(&l->tally[at->stack].side[l->requests[at->request].side],
		  &tally);
}

/* Take at most BATCH rows. Returns 0 or -ENOMEM. */
static int take_batch(struct loading *l, const struct row *rows, size_t n)
{
	struct place at[BATCH];

	if (make_samples_room(l))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ask_for_ids(l, &rows[i]);
	for (size_t i = 0; i < n; i++)
		ask_for_request(l, rows[i].trace);
	for (size_t i = 0; i < n; i++) {
		struct request *to = request_of(l, rows[i].trace);

		at[i].request = NOBODY;
		if (!to || to->side == NOWHERE)
			continue;
		at[i].request = (uint32_t)(to - l->requests);
		if (index_stack(l, rows[i].stack_id, &at[i].stack))
			return -ENOMEM;
		to->n++;
		__builtin_prefetch(&l->tally[at[i].stack].side[to->side], 1);
	}
	for (size_t i = 0; i < n; i++)
		if (at[i].request != NOBODY)
			add_row(l, &rows[i], &at[i]);
	return 0;
}

/* As conveyor_take, while the next rows are read. */
static int take_rows(void *ctx, const void *rows, size_t n)
{
	const struct row *row = rows;
	struct loading *l = ctx;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i += BATCH)
		rc = take_batch(l, row + i, n - i < BATCH ? n - i : BATCH);
	return rc;
}

static int read_samples(struct loading *l, struct conveyor *to, size_t part,
			enum query_sql id, struct weft_err *err)
{
	const struct report *r = &l->d->reports[0];
	const bool has_factors = r->ledger.n_factors;
	sqlite3_stmt *stmt;
	int rc = report_query(r, part, l->d->pid, id, &stmt, err);

	if (rc)
		return rc;
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		struct row *row = conveyor_next(to);

		if (!row)
			return 0; /* conveyor_end() says why */
		row->trace = sqlite3_column_int64(stmt, 0);
		row->stack_id = sqlite3_column_int64(stmt, 1);
		row->weight = sqlite3_column_double(stmt, 2);
		row->value = (double)sqlite3_column_int64(stmt, 3);
		row->interval_id =
			has_factors ? sqlite3_column_int64(stmt, 4) : 0;
	}
	return rc;
}

static int read_parts(struct loading *l, struct conveyor *to,
		      struct weft_err *err)
{
	struct diff *d = l->d;
	const bool is_all = d->reports[0].range.is_all && !d->pid;
	const enum query_sql one_by_one =
		d->pid ? QUERY_SQL_DIFF_SAMPLES_OF_PID : QUERY_SQL_DIFF_SAMPLES;
	int rc = 0;

	if (is_all)
		rc = read_samples(l, to, 0, QUERY_SQL_DIFF_SAMPLES_ALL, err);
	for (size_t i = 0; !rc && i < d->reports[0].range.n_parts; i++) {
		if (!is_all)
			rc = read_samples(l, to, i, one_by_one, err);
		if (!rc && d->by_time)
			rc = read_samples(l, to, i,
					  QUERY_SQL_DIFF_SAMPLES_BY_TIME, err);
	}
	return rc;
}

static int read_all(struct loading *l, struct weft_err *err)
{
	struct conveyor *to;
	int rc;

	if (conveyor_begin(&to, sizeof(struct row), take_rows, l))
		return diff_no_memory(err);
	rc = read_parts(l, to, err);
	return conveyor_end(to) && !rc ? diff_no_memory(err) : rc;
}

/* What each stack adds to: found once all are known, since what
 * diff_items_of() has given is good until it finds more. */
static int find_items(struct loading *l)
{
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < l->ids.n; i++) {
			struct stack *s = &l->stacks[i];

			s->items = diff_items_of(l->d->items, 0, s->id,
						 &s->n_items);
			if (!s->items)
				return -ENOMEM;
		}
	return 0;
}

/* What the stacks come to over all requests. */
static int add_stacks(struct loading *l)
{
	struct compare *c = &l->d->compare;

	for (size_t i = 0; i < l->ids.n; i++)
		for (int side = 0; side < COMPARE_SIDES; side++) {
			const struct stack *s = &l->stacks[i];
			const struct tally *tally = &l->tally[i].side[side];

			if (!tally->count)
				continue;
			tally_add(&c->set[side].all, tally);
			if (compare_add_sums(c, side, s->items, s->n_items,
					     tally))
				return -ENOMEM;
		}
	return 0;
}

/* Put the samples of each request together. Returns 0 or -ENOMEM. */
static int sort_samples(struct loading *l)
{
	uint32_t end = 0;

	l->sorted = malloc((l->n_samples + 1) * sizeof(*l->sorted));
	if (!l->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < l->traces.sums.n; i++) {
		end += l->requests[i].n;
		l->requests[i].first = end;
	}
	/* The last comes first. */
	for (size_t i = 0; i < l->n_samples; i++) {
		const struct sample *s = &l->samples[i];

		l->sorted[--l->requests[s->request].first] =
			(struct sorted){ s->stack, s->weight };
	}
	free(l->samples);
	l->samples = NULL;
	return 0;
}

/* The samples of a request into the cluster at hand. */
static int add_samples(struct loading *l, const struct request *r)
{
	struct compare *c = &l->d->compare;
	int rc = 0;

	for (size_t i = r->first; i < (size_t)r->first + r->n && !rc; i++) {
		const struct sorted *s = &l->sorted[i];
		const struct stack *k = &l->stacks[s->stack];

		if (i + AHEAD < l->n_samples)
			__builtin_prefetch(
				l->stacks[l->sorted[i + AHEAD].stack].items);
		c->weight_now += s->weight;
		rc = compare_add_weight(c, k->items, k->n_items, s->weight);
	}
	return rc;
}

/* How the request at hand stands to the one that is looked at. */
static void rank(struct diff *d, const struct request *r,
		 const struct request *one)
{
	if (r->n < one->n)
		return;
	d->peers++;
	for (size_t i = 0; i < d->n_ranks; i++) {
		struct diff_rank *to = &d->ranks[i];
		double all = d->compare.weight_now * (1 - 1e-9);

		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->at_least[kind] +=
				compare_now(&d->compare, kind, to->item) >=
				to->share[kind] * all;
	}
}

/* The one request comes first: its items are what others are ranked in. */
static int add_one(struct loading *l, const struct request *one)
{
	struct compare *c = &l->d->compare;
	const struct compare_gathering *on = &c->gathering[COMPARE_TOTAL];
	int rc = add_samples(l, one);

	if (rc)
		return rc;
	l->d->ranks = calloc(on->n_open + 1, sizeof(*l->d->ranks));
	if (!l->d->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < on->n_open; i++) {
		struct diff_rank *to = &l->d->ranks[l->d->n_ranks++];

		to->item = on->open[i];
		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->share[kind] =
				compare_now(c, kind, to->item) / c->weight_now;
	}
	compare_end_cluster(c, COMPARE_SECOND, 1);
	return 0;
}

static int add_requests(struct loading *l, const struct request *one)
{
	struct diff *d = l->d;
	int rc = add_stacks(l);

	if (!rc)
		rc = sort_samples(l);
	if (!rc && one)
		rc = add_one(l, one);
	for (size_t i = 0; i < l->traces.sums.n && !rc; i++) {
		const struct request *r = &l->requests[i];

		if (r == one || r->side == NOWHERE)
			continue;
		rc = add_samples(l, r);
		if (!rc && one)
			rank(d, r, one);
		compare_end_cluster(&d->compare, r->side, 1);
	}
	return rc;
}

static int compare_doubles(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How long requests lasted, by their first and last sample of any event. */
static int find_extents(struct loading *l, struct weft_err *err)
{
	struct db *db = l->d->reports[0].db;
	struct request *r;
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_DIFF_EXTENTS, &stmt, err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		r = request_of(l, sqlite3_column_int64(stmt, 0));
		if (r && r->is_listed)
			r->duration_ns = sqlite3_column_double(stmt, 1);
		rc = 0;
	}
	return rc;
}

/* Those from the order statistic of durations on are slow; who ties with it,
 * too. */
static int choose_slow(struct loading *l, struct weft_err *err)
{
	size_t n = 0, total = l->traces.sums.n;
	double *sorted = calloc(total + 1, sizeof(*sorted));
	struct diff *d = l->d;
	int rc = 0;

	if (!sorted)
		return diff_no_memory(err);
	d->by_extent = !l->traces.has_spans;
	if (d->by_extent)
		rc = find_extents(l, err);
	for (size_t i = 0; i < total; i++) {
		if (l->requests[i].is_listed && l->requests[i].duration_ns >= 0)
			sorted[n++] = l->requests[i].duration_ns;
		else
			d->unknown += l->requests[i].is_listed;
	}
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	if (n)
		d->slow_from_ns = sorted[(size_t)fmin(
			(double)n - 1, floor((double)n * d->slow / 100))];
	free(sorted);
	for (size_t i = 0; i < total; i++) {
		struct request *r = &l->requests[i];

		if (r->is_listed && r->duration_ns >= 0)
			r->side = r->duration_ns >= d->slow_from_ns
					  ? COMPARE_SECOND
					  : COMPARE_FIRST;
	}
	return rc;
}

static int choose_where(struct loading *l, struct weft_err *err)
{
	const struct spans_filter filter = { .where = l->d->where };
	struct traces *t = &l->traces;
	bool any = false;
	int rc;

	for (size_t i = 0; i < t->n_rows; i++) {
		rc = spans_match(l->d->reports[0].db, &filter,
				 t->rows[i].sum.key, t->rows[i].root, err);
		if (rc < 0)
			return rc;
		any |= rc;
		request_of(l, t->rows[i].sum.key)->side =
			rc ? COMPARE_SECOND : COMPARE_FIRST;
	}
	return any ? 0
		   : weft_fail(err, -ENODATA,
			       "no request of '%s' is so: `weft traces` shows "
			       "what there is",
			       db_path(l->d->reports[0].db));
}

/* The one, and those of its route: of its root span's service and name. */
static int choose_one(struct loading *l, const struct request **one,
		      struct weft_err *err)
{
	struct report *r = &l->d->reports[0];
	struct traces *t = &l->traces;
	struct spans_root *root = &l->d->root;
	int64_t trace;
	int rc = report_find_trace(r, l->d->trace, &trace, l->d->hex, err);

	if (!rc)
		rc = spans_find_root(r->db, trace, root, err);
	if (rc < 0)
		return rc;
	*one = request_of(l, trace);
	if (!*one)
		return report_no_sample(r, trace, l->d->hex, err);
	for (size_t i = 0; i < t->n_rows; i++)
		if (!rc || (!strcmp(t->rows[i].root->service, root->service) &&
			    !strcmp(t->rows[i].root->name, root->name)))
			request_of(l, t->rows[i].sum.key)->side = COMPARE_FIRST;
	request_of(l, trace)->side = COMPARE_SECOND;
	return 0;
}

/* All requests of the range, on neither side yet. */
static int list(struct loading *l, const struct cli_common *common,
		struct weft_err *err)
{
	struct diff *d = l->d;
	struct traces *t = &l->traces;
	int rc;

	t->sort = TRACES_BY_DURATION;
	t->is_unsorted = true;
	rc = traces_load(t, common, d->files[0], err);
	d->reports[0] = t->report; /* from here on ours */
	d->n_reports = 1;
	t->report = (struct report){ 0 };
	if (rc)
		return rc;
	d->by_time = t->by_time.joined;
	d->is_by_value = range_is_by_value(&d->reports[0].range);
	l->requests = calloc(t->sums.n + 1, sizeof(*l->requests));
	l->small_traces = calloc(SMALL_IDS, sizeof(*l->small_traces));
	l->small_stacks = calloc(SMALL_IDS, sizeof(*l->small_stacks));
	if (!l->requests || !l->small_traces || !l->small_stacks)
		return diff_no_memory(err);
	for (size_t i = 0; i < t->sums.n; i++)
		l->requests[i] =
			(struct request){ .duration_ns = -1, .side = NOWHERE };
	for (size_t i = 0; i < t->n_rows; i++) {
		struct request *r = request_of(l, t->rows[i].sum.key);

		r->duration_ns = (double)t->rows[i].root->duration_ns;
		r->is_listed = true;
	}
	return diff_items_load(d->items, 0, d->reports[0].db, err);
}

int diff_load_requests(struct diff *d, const struct cli_common *common,
		       struct weft_err *err)
{
	struct loading l = { .d = d };
	const struct request *one = NULL;
	int rc = list(&l, common, err);

	if (!rc)
		rc = d->mode == DIFF_SLOW    ? choose_slow(&l, err)
		     : d->mode == DIFF_WHERE ? choose_where(&l, err)
					     : choose_one(&l, &one, err);
	if (!rc)
		rc = read_all(&l, err);
	if (!rc && one && !one->n)
		rc = report_no_sample(&d->reports[0],
				      l.traces.sums.rows[one - l.requests].key,
				      d->hex, err);
	if (!rc && (find_items(&l) || add_requests(&l, one)))
		rc = diff_no_memory(err);
	free(l.requests);
	free(l.samples);
	free(l.sorted);
	free(l.stacks);
	free(l.tally);
	free(l.small_traces);
	free(l.small_stacks);
	sums_release(&l.ids);
	traces_release(&l.traces);
	return rc;
}

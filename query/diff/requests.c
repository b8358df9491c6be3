/* SPDX-License-Identifier: MIT */
/*
 * Sets of requests. All requests are listed as weft traces lists them, each is
 * put on a side, and the samples are read in one pass, in the order of the
 * file; each request keeps a chain of its own. Then one request after the
 * other is added up, since each is a cluster: by the weights of its samples.
 * The other sums do not depend on clusters, and are kept by stack.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/diff.h"
#include "query/traces.h"

enum {
	NOWHERE = COMPARE_SIDES, /* a request on neither side */
	/* Ids below that are remembered in an array, so that there is no search
	 * for each sample; of memory only the pages that are touched count. */
	SMALL_IDS = 1 << 24
};

static const uint32_t END = UINT32_MAX;

/* A sample; single precision will do for weights. */
struct link {
	uint32_t next, stack; /* in `links`, in `stacks` */
	float weight;
};

struct request {
	double duration_ns; /* -1: not known */
	uint32_t first;     /* of its chain */
	uint32_t n;         /* samples */
	uint8_t side;
	bool is_listed; /* of the range */
};

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
	struct link *links;       /* owned */
	size_t n_links, links_room;
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

static int add_link(struct loading *l, struct request *to, int64_t stack_id,
		    const struct tally *tally)
{
	struct link *link;

	if (l->n_links == l->links_room) {
		size_t room = l->links_room ? 2 * l->links_room : 4096;

		if (room >= END)
			return -ENOMEM;
		link = reallocarray(l->links, room, sizeof(*link));
		if (!link)
			return -ENOMEM;
		l->links = link;
		l->links_room = room;
	}
	link = &l->links[l->n_links];
	*link = (struct link){ .next = to->first,
			       .weight = (float)tally->weight };
	if (index_stack(l, stack_id, &link->stack))
		return -ENOMEM;
	to->first = (uint32_t)l->n_links++;
	to->n++;
	tally_add(&l->tally[link->stack].side[to->side], tally);
	return 0;
}

static int read_samples(struct loading *l, size_t part, enum query_sql id,
			struct weft_err *err)
{
	const struct report *r = &l->d->reports[0];
	struct request *to;
	struct tally tally;
	sqlite3_stmt *stmt;
	int rc = report_query(r, part, l->d->pid, id, &stmt, err);

	if (rc)
		return rc;
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		to = request_of(l, sqlite3_column_int64(stmt, 0));
		if (!to || to->side == NOWHERE)
			continue;
		tally = diff_weighed(
			l->d,
			ledger_sample(&r->ledger, sqlite3_column_int64(stmt, 1),
				      sqlite3_column_double(stmt, 2),
				      sqlite3_column_double(stmt, 3)));
		if (add_link(l, to, sqlite3_column_int64(stmt, 4), &tally))
			return diff_no_memory(err);
	}
	return rc;
}

static int read_all(struct loading *l, struct weft_err *err)
{
	struct diff *d = l->d;
	int rc = 0;

	for (size_t i = 0; !rc && i < d->reports[0].range.n_parts; i++) {
		rc = read_samples(l, i,
				  d->pid ? QUERY_SQL_DIFF_SAMPLES_OF_PID
					 : QUERY_SQL_DIFF_SAMPLES,
				  err);
		if (!rc && d->by_time)
			rc = read_samples(l, i, QUERY_SQL_DIFF_SAMPLES_BY_TIME,
					  err);
	}
	return rc;
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

/* The chain of a request into the cluster at hand. */
static int add_chain(struct loading *l, const struct request *r)
{
	struct compare *c = &l->d->compare;
	int rc = 0;

	for (uint32_t at = r->first; at != END && !rc; at = l->links[at].next) {
		const struct link *link = &l->links[at];
		const struct stack *s = &l->stacks[link->stack];

		c->weight_now += link->weight;
		rc = compare_add_weight(c, s->items, s->n_items, link->weight);
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
		const double *now = d->compare.now[to->item].weight;
		double all = d->compare.weight_now * (1 - 1e-9);

		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->at_least[kind] +=
				now[kind] >= to->share[kind] * all;
	}
}

/* The one request comes first: its items are what others are ranked in. */
static int add_one(struct loading *l, const struct request *one)
{
	struct compare *c = &l->d->compare;
	int rc = add_chain(l, one);

	if (rc)
		return rc;
	l->d->ranks = calloc(c->n_open + 1, sizeof(*l->d->ranks));
	if (!l->d->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_open; i++) {
		struct diff_rank *to = &l->d->ranks[l->d->n_ranks++];

		to->item = c->open[i];
		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->share[kind] =
				c->now[to->item].weight[kind] / c->weight_now;
	}
	compare_end_cluster(c, COMPARE_SECOND, 1);
	return 0;
}

static int add_requests(struct loading *l, const struct request *one)
{
	struct diff *d = l->d;
	int rc = add_stacks(l);

	if (!rc && one)
		rc = add_one(l, one);
	for (size_t i = 0; i < l->traces.sums.n && !rc; i++) {
		const struct request *r = &l->requests[i];

		if (r == one || r->side == NOWHERE)
			continue;
		rc = add_chain(l, r);
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
		return weft_fail(err, -ENODATA,
				 "trace %s has no sample of that in '%s'",
				 l->d->hex, db_path(r->db));
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
		l->requests[i] = (struct request){ .duration_ns = -1,
						   .first = END,
						   .side = NOWHERE };
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
		rc = weft_fail(err, -ENODATA,
			       "trace %s has no sample of that in '%s'", d->hex,
			       db_path(d->reports[0].db));
	if (!rc && (find_items(&l) || add_requests(&l, one)))
		rc = diff_no_memory(err);
	free(l.requests);
	free(l.links);
	free(l.stacks);
	free(l.tally);
	free(l.small_traces);
	free(l.small_stacks);
	sums_release(&l.ids);
	traces_release(&l.traces);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Requests are chosen as weft traces chooses them; then the samples of one
 * after the other are added up by what rows are of. When a request ends, what
 * it had of each row goes into the sums from which the variance between
 * requests follows, so that only one request is held at a time.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/pool.h"
#include "query/traces.h"

/* A row to be. */
struct item {
	int64_t key;
	int64_t stack_id; /* one that reads so, by stack */
	struct tally self, total;
	struct stats_clusters self_c, total_c;
	double self_now, total_now; /* weights in the request at hand */
	bool is_open;               /* it has some */
};

struct pooling {
	struct top *top;
	struct sums index;  /* its rows are parallel to items */
	struct item *items; /* owned */
	size_t n, room;
	size_t *open; /* owned: items that are open; room for all */
	size_t n_open;
	double now; /* weight of the request at hand */
	struct stats_clusters all_c;
};

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the rows of top");
}

/* The item of a key, open from now on. NULL: out of memory. */
static struct item *open_item(struct pooling *p, int64_t key)
{
	const struct tally none = { 0 };
	struct item *item;
	size_t at;

	if (sums_add(&p->index, key, &none, 0, 0))
		return NULL;
	at = (size_t)(sums_find(&p->index, key) - p->index.rows);
	if (at == p->room) {
		size_t room = p->room ? 2 * p->room : 256;
		struct item *items =
			reallocarray(p->items, room, sizeof(*items));
		size_t *open;

		if (!items)
			return NULL;
		p->items = items;
		open = reallocarray(p->open, room, sizeof(*open));
		if (!open)
			return NULL;
		p->open = open;
		p->room = room;
	}
	item = &p->items[at];
	if (at == p->n) {
		*item = (struct item){ .key = key };
		p->n++;
	}
	if (!item->is_open)
		p->open[p->n_open++] = at;
	item->is_open = true;
	return item;
}

static int add_to(struct pooling *p, int64_t key, int64_t stack_id,
		  const struct tally *tally, bool is_self)
{
	struct item *item = open_item(p, key);

	if (!item)
		return -ENOMEM;
	item->stack_id = stack_id;
	tally_add(&item->total, tally);
	item->total_now += tally->weight;
	if (is_self) {
		tally_add(&item->self, tally);
		item->self_now += tally->weight;
	}
	return 0;
}

/* A sample, as pool_samples has it. */
static int take(struct pooling *p, sqlite3_stmt *stmt)
{
	struct top *top = p->top;
	int64_t stack_id = sqlite3_column_int64(stmt, 0);
	struct tally tally = ledger_sample(
		&top->report.ledger, sqlite3_column_int64(stmt, 1),
		sqlite3_column_double(stmt, 2), sqlite3_column_double(stmt, 3));
	uint32_t rows[STACKS_FRAMES_MAX];
	size_t n, i;
	int rc = 0;

	stacks_add(top->stacks, stack_id, &tally);
	tally_add(&top->all, &tally);
	p->now += tally.weight;
	switch (top->by) {
	case TOP_BY_THREAD:
		return add_to(p, sqlite3_column_int64(stmt, 4), 0, &tally,
			      true);
	case TOP_BY_PROCESS:
		return add_to(p, sqlite3_column_int64(stmt, 5), 0, &tally,
			      true);
	case TOP_BY_STACK:
		return add_to(p,
			      (int64_t)stacks_text_key(top->stacks, stack_id),
			      stack_id, &tally, true);
	default:
		n = stacks_rows(top->stacks, stack_id, top_stacks_by(top),
				rows);
		for (i = 0; i < n && !rc; i++)
			rc = add_to(p, rows[i], 0, &tally, i == 0);
		return rc;
	}
}

static void add_cluster(struct stats_clusters *c, double k, double n)
{
	c->k_sq += k * k;
	c->kn += k * n;
	c->having += k > 0;
	c->nothing_else += k >= n * (1 - 1e-9);
}

/* The request at hand is over. */
static void end_request(struct pooling *p)
{
	for (; p->n_open; p->n_open--) {
		struct item *item = &p->items[p->open[p->n_open - 1]];

		add_cluster(&item->self_c, item->self_now, p->now);
		add_cluster(&item->total_c, item->total_now, p->now);
		item->self_now = item->total_now = 0;
		item->is_open = false;
	}
	p->all_c.n_sq += p->now * p->now;
	p->all_c.m += p->now > 0;
	p->now = 0;
}

static int add_samples(struct pooling *p, size_t part, enum query_sql id,
		       int64_t trace, struct weft_err *err)
{
	struct top *top = p->top;
	sqlite3_stmt *stmt;
	int rc = report_query(&top->report, part, top->pid, id, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, trace);
	while ((rc = db_step(top->report.db, stmt, err)) > 0)
		if (take(p, stmt))
			return no_memory(err);
	return rc;
}

static int add_request(struct pooling *p, int64_t trace, bool has_by_time,
		       struct weft_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < p->top->report.range.n_parts; i++) {
		rc = add_samples(p, i, QUERY_SQL_POOL_SAMPLES, trace, err);
		if (!rc && has_by_time)
			rc = add_samples(p, i, QUERY_SQL_POOL_SAMPLES_BY_TIME,
					 trace, err);
	}
	end_request(p);
	return rc;
}

/* The row of a process or thread. */
static int add_task(struct top *top, const struct item *item,
		    struct top_row **out, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(top->report.db,
			  top->by == TOP_BY_THREAD ? QUERY_SQL_TOP_THREAD
						   : QUERY_SQL_POOL_PROCESS,
			  &stmt, err);

	*out = NULL;
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, item->key);
	rc = db_step(top->report.db, stmt, err);
	if (rc < 0)
		return rc;
	*out = top_add_task(top, stmt);
	return *out ? 0 : no_memory(err);
}

static int add_row(struct top *top, const struct item *item,
		   const struct stacks_row *names, struct top_row **out,
		   struct weft_err *err)
{
	if (top->by == TOP_BY_THREAD || top->by == TOP_BY_PROCESS)
		return add_task(top, item, out, err);
	*out = top->by == TOP_BY_STACK
		       ? top_add_stack(top, item->stack_id)
		       : top_add_function(top, &names[item->key]);
	return *out ? 0 : no_memory(err);
}

static struct stats_interval share_of(const struct pooling *p,
				      const struct tally *part,
				      struct stats_clusters c)
{
	c.m = p->all_c.m;
	c.n_sq = p->all_c.n_sq;
	return stats_share_clustered(part, &p->top->all, &c);
}

static int make_rows(struct pooling *p, struct weft_err *err)
{
	struct stacks_row *names;
	struct top_row *row;
	size_t n;
	int rc;

	stacks_sum(p->top->stacks, top_stacks_by(p->top), &names, &n);
	for (size_t i = 0; i < p->n; i++) {
		const struct item *item = &p->items[i];

		rc = add_row(p->top, item, names, &row, err);
		if (rc)
			return rc;
		row->id =
			p->top->by == TOP_BY_STACK ? item->stack_id : item->key;
		row->self = item->self;
		row->total = item->total;
		row->self_in = share_of(p, &item->self, item->self_c);
		row->total_in = share_of(p, &item->total, item->total_c);
	}
	return 0;
}

static int fill(struct pooling *p, const struct traces *traces,
		struct weft_err *err)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int rc = 0;

	p->top->pool = pool;
	if (!pool)
		return no_memory(err);
	*pool = (struct pool){
		.requests = (double)traces->n_rows,
		.sampled = (double)traces->n_sampled,
		.by_time = traces->by_time.joined,
		.is_few = traces->n_sampled < TRACES_FEW_REQUESTS,
	};
	pool->mean_in = traces_mean_ns(traces, &p->top->report, &pool->mean);
	for (size_t i = 0; i < traces->n_rows && !rc; i++)
		if (traces->rows[i].sum->tally.count)
			rc = add_request(p, traces->rows[i].sum->key,
					 traces->by_time.joined > 0, err);
	return rc;
}

int pool_load(struct top *top, const struct cli_common *common,
	      const char *file, const struct spans_filter *filter,
	      struct weft_err *err)
{
	struct traces traces = { .filter = *filter };
	struct pooling p = { .top = top };
	int rc = traces_load(&traces, common, file, err);

	top->report = traces.report; /* from here on ours */
	traces.report = (struct report){ 0 };
	top->is_estimated = true;
	if (!rc)
		rc = stacks_load(&top->stacks, top->report.db, err);
	if (!rc)
		rc = fill(&p, &traces, err);
	traces_release(&traces);
	if (!rc)
		rc = make_rows(&p, err);
	sums_release(&p.index);
	free(p.items);
	free(p.open);
	if (rc)
		return rc;
	top->ends = stacks_quality(top->stacks)->ends;
	return top_finish(top, err);
}

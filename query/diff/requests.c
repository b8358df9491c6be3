/* SPDX-License-Identifier: MIT */
/*
 * Sets of requests. All requests are listed as weft traces lists them, each is
 * put on a side, the samples are read in one pass, in the order of the file,
 * and then added up.
 *
 * There are millions of samples, and what each refers to lies anywhere: what
 * takes the time is to wait for memory. So samples are taken a batch at a time,
 * and what a batch will touch is asked for before it is touched; and while they
 * are, the next are read.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/conveyor.h"
#include "query/diff/requests.h"

enum {
	/* Ids below that are remembered in an array, so that there is no search
	 * for each sample; of memory only the pages that are touched count. */
	SMALL_IDS = 1 << 24,
	BATCH = 64
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

static const uint32_t NOBODY = UINT32_MAX;

/* Where the index of an id is remembered; NULL: nowhere. */
static uint32_t *small(uint32_t *ids, int64_t id)
{
	return id >= 0 && id < SMALL_IDS ? &ids[id] : NULL;
}

struct request *requests_find(const struct loading *l, int64_t trace)
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
	size_t n_items;

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
	/* Where they are is only known once there are no more. */
	if (!diff_items_of(l->d->items, 0, stack_id, &n_items))
		return -ENOMEM;
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
		struct request *to = requests_find(l, rows[i].trace);

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

/* As take_sample() in SQL, an aggregate: called for each row. */
static void take_sample(sqlite3_context *at, int n, sqlite3_value **values)
{
	struct row *row = conveyor_next(sqlite3_user_data(at));

	(void)n;
	if (!row) {
		sqlite3_result_error_nomem(at); /* conveyor_end() says why */
		return;
	}
	*row = (struct row){ .trace = sqlite3_value_int64(values[0]),
			     .stack_id = sqlite3_value_int64(values[1]),
			     .weight = sqlite3_value_double(values[2]),
			     .value = (double)sqlite3_value_int64(values[3]) };
}

static void take_no_more(sqlite3_context *at)
{
	(void)at;
}

/* All samples of the file. */
static int read_whole(struct loading *l, struct conveyor *to,
		      struct weft_err *err)
{
	static const enum query_sql parts[] = { QUERY_SQL_DIFF_SAMPLES_SEALED,
						QUERY_SQL_DIFF_SAMPLES_TAIL };
	struct db *db = l->d->reports[0].db;
	sqlite3_stmt *stmt;
	int rc = 0;

	if (sqlite3_create_function_v2(db_handle(db), "take_sample", 4,
				       SQLITE_UTF8, to, NULL, take_sample,
				       take_no_more, NULL))
		return db_fail(db, "read", err);
	for (size_t i = 0; i < ARRAY_LEN(parts) && !rc; i++) {
		rc = db_query(db, parts[i], &stmt, err);
		while (!rc && (rc = db_step(db, stmt, err)) > 0)
			rc = 0;
	}
	return rc;
}

static int read_parts(struct loading *l, struct conveyor *to,
		      struct weft_err *err)
{
	struct diff *d = l->d;
	const bool is_all = d->reports[0].range.is_all && !d->pid &&
			    !d->reports[0].ledger.n_factors;
	const enum query_sql one_by_one =
		d->pid ? QUERY_SQL_DIFF_SAMPLES_OF_PID : QUERY_SQL_DIFF_SAMPLES;
	int rc = 0;

	if (is_all)
		rc = read_whole(l, to, err);
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

/* All requests of the range, on neither side yet. */
static int list(struct loading *l, const struct cli_common *common,
		struct weft_err *err)
{
	struct diff *d = l->d;
	struct traces *t = &l->traces;
	int rc;

	t->sort = TRACES_BY_DURATION;
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
	for (size_t i = 0; i < t->sums.n; i++) {
		uint32_t *known = small(l->small_traces, t->sums.rows[i].key);

		if (known)
			*known = (uint32_t)i + 1;
		l->requests[i] =
			(struct request){ .duration_ns = -1, .side = NOWHERE };
	}
	for (size_t i = 0; i < t->n_rows; i++) {
		struct request *r = requests_find(l, t->rows[i].sum->key);

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
		rc = sides_choose(&l, &one, err);
	if (!rc)
		rc = read_all(&l, err);
	if (!rc && one && !one->n)
		rc = report_no_sample(&d->reports[0],
				      l.traces.sums.rows[one - l.requests].key,
				      d->hex, err);
	if (!rc && clusters_add(&l, one))
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

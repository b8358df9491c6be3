/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "query/flame/load.h"
#include "query/frames.h"

enum {
	/* Requests that have no sample in a process are passed over, but not
	 * without end. */
	LOOK_AT_TIMES = 10,
	POOL_MERGE_FROM = 65536,         /* rows */
	STACK_MAX = 4 * FRAMES_DEPTH_MAX /* functions; more are cut off */
};

void flame_load_release(struct flame_load *l)
{
	flame_free(l->flame);
	free(l->shown);
	traces_release(&l->traces);
	report_close(&l->other);
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the flame graph");
}

/* A file's frames, and which number each place has in the graph: alone, and
 * inlined into another. */
struct source {
	struct report *report;
	struct frames *frames; /* owned */
	uint32_t *numbers;     /* owned: two for each place */
};

static void source_close(struct source *s)
{
	frames_free(s->frames);
	free(s->numbers);
}

static int source_open(struct source *s, struct report *r, struct weft_err *err)
{
	int rc = frames_load(&s->frames, r->db, err);
	size_t size;

	s->report = r;
	if (rc)
		return rc;
	size = 2 * s->frames->n_places * sizeof(*s->numbers);
	s->numbers = malloc(size + 1);
	if (!s->numbers)
		return no_memory(err);
	memset(s->numbers, 0xff, size); /* FLAME_NONE: not yet */
	return 0;
}

/* Make the number of one function at a frame. */
static uint32_t number_of(struct flame *f, const struct frames *all,
			  const struct frames_frame *frame,
			  const struct frames_level *level, bool is_inlined)
{
	const char *name = all->functions[level->function].name;
	const struct frames_binary *binary =
		frame->binary == FRAMES_NONE ? NULL
					     : &all->binaries[frame->binary];
	enum flame_kind kind = !binary                      ? FLAME_MARK
			       : is_inlined                 ? FLAME_INLINED
			       : frame->in_kernel           ? FLAME_KERNEL
			       : binary->kind == FRAMES_JIT ? FLAME_JIT
							    : FLAME_USER;
	char *text = NULL;
	uint32_t number;

	if (frame->in_kernel && asprintf(&text, "%s_[k]", name) < 0)
		return FLAME_NONE;
	number = flame_frame(f, text ? text : name, binary ? binary->path : "",
			     kind);
	free(text);
	return number;
}

/* The numbers of a frame's functions, the outermost first. 0: out of memory. */
static size_t put_frame(struct flame *f, const struct source *s, uint32_t at,
			uint32_t *out)
{
	const struct frames_frame *frame = &s->frames->frames[at];
	uint32_t i = frame->n_levels;
	size_t n = 0;

	while (i-- > 0) {
		const struct frames_level *level =
			&s->frames->levels[frame->first_level + i];
		bool is_inlined = i + 1 < frame->n_levels;
		uint32_t *number = &s->numbers[2 * level->place + is_inlined];

		if (*number == FLAME_NONE)
			*number = number_of(f, s->frames, frame, level,
					    is_inlined);
		if (*number == FLAME_NONE)
			return 0;
		out[n++] = *number;
	}
	return n;
}

/* Put a row's tally on its stack: columns process name, stack. */
static int add_row(struct flame_load *l, size_t layer, const struct source *s,
		   sqlite3_stmt *stmt, struct tally tally, struct weft_err *err)
{
	const char *process = (const char *)sqlite3_column_text(stmt, 0);
	uint32_t at[FRAMES_DEPTH_MAX + 1], numbers[STACK_MAX];
	size_t i =
		frames_of_stack(s->frames, sqlite3_column_int64(stmt, 1), at);
	size_t n = 0, more = 1;

	numbers[n++] =
		flame_frame(l->flame, process ? process : "[unknown process]",
			    "", FLAME_PROCESS);
	while (i-- > 0 && more &&
	       n + s->frames->frames[at[i]].n_levels <= STACK_MAX) {
		more = put_frame(l->flame, s, at[i], numbers + n);
		n += more;
	}
	if (l->is_by_value)
		tally_by_value(&tally);
	if (numbers[0] == FLAME_NONE || !more ||
	    flame_add(l->flame, layer, numbers, n, &tally))
		return no_memory(err);
	return 0;
}

static int add_count(struct flame_load *l, size_t layer, const struct source *s,
		     sqlite3_stmt *stmt, struct ends *ends,
		     struct weft_err *err)
{
	struct tally tally =
		tally_of_shape((uint64_t)sqlite3_column_int64(stmt, 2),
			       (uint64_t)sqlite3_column_int64(stmt, 3));

	ends_add(ends,
		 ends_parse_status((const char *)sqlite3_column_text(stmt, 4)),
		 ends_parse_reason((const char *)sqlite3_column_text(stmt, 5)),
		 &tally);
	return add_row(l, layer, s, stmt, tally, err);
}

/* All samples of a recording, exact, as a new layer; how its stacks ended. */
static int load_shape(struct flame_load *l, const struct source *s,
		      struct ends *ends, struct weft_err *err)
{
	struct report *r = s->report;
	int layer = flame_add_layer(l->flame), rc = 0;
	sqlite3_stmt *stmt;
	size_t i;

	if (layer < 0)
		return no_memory(err);
	for (i = 0; !rc && i < r->range.n_parts; i++) {
		rc = report_query(r, i, l->pid,
				  r->range.is_whole ? QUERY_SQL_FLAME_WHOLE
						    : QUERY_SQL_FLAME_PART,
				  &stmt, err);
		while (!rc && (rc = db_step(r->db, stmt, err)) > 0)
			rc = add_count(l, (size_t)layer, s, stmt, ends, err);
	}
	if (!rc && l->flame->layers[layer].all.count == 0)
		rc = report_nothing(r, false, l->pid ? "process" : NULL, l->pid,
				    err);
	return rc;
}

static int load_samples(struct flame_load *l, size_t layer,
			const struct source *s, enum query_sql id,
			int64_t trace, struct weft_err *err)
{
	struct report *r = s->report;
	sqlite3_stmt *stmt;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < r->range.n_parts; i++) {
		rc = report_query(r, i, l->pid, id, &stmt, err);
		if (rc)
			break;
		sqlite3_bind_int64(stmt, 5, trace);
		while (!rc && (rc = db_step(r->db, stmt, err)) > 0)
			rc = add_row(l, layer, s, stmt,
				     ledger_tally(&r->ledger, stmt, 2), err);
	}
	return rc;
}

/* A request's samples, also those joined by time. */
static int load_request(struct flame_load *l, size_t layer,
			const struct source *s, size_t row,
			struct weft_err *err)
{
	int64_t trace = l->traces.rows[row].sum->key;
	int rc = load_samples(l, layer, s, QUERY_SQL_FLAME_TRACE, trace, err);

	if (!rc && l->traces.by_time.joined)
		rc = load_samples(l, layer, s, QUERY_SQL_FLAME_TRACE_BY_TIME,
				  trace, err);
	return rc;
}

/* All requests that are meant, as one layer. */
static int load_pool(struct flame_load *l, const struct source *s,
		     struct weft_err *err)
{
	int layer = flame_add_layer(l->flame), rc = 0;
	const struct traces *t = &l->traces;
	size_t most = POOL_MERGE_FROM;

	if (layer < 0)
		return no_memory(err);
	for (size_t i = 0; !rc && i < t->n_rows; i++) {
		struct flame_layer *rows = &l->flame->layers[layer];

		if (t->rows[i].sum->tally.count)
			rc = load_request(l, (size_t)layer, s, i, err);
		/* Requests are on the same nodes again and again. */
		if (rows->n > most) {
			flame_merge(rows);
			most = 2 * rows->n + POOL_MERGE_FROM;
		}
	}
	if (!rc && l->flame->layers[layer].all.count == 0)
		rc = weft_fail(err, -ENODATA,
			       "no request of '%s' with %s has a sample of "
			       "that",
			       db_path(t->report.db), l->where);
	l->pool_layer = layer;
	return rc;
}

/* One request's samples as the next layer, if it has any. */
static int load_trace(struct flame_load *l, const struct source *s, size_t row,
		      struct weft_err *err)
{
	int layer = flame_add_layer(l->flame), rc;

	if (layer < 0)
		return no_memory(err);
	rc = load_request(l, (size_t)layer, s, row, err);
	if (rc)
		return rc;
	if (l->flame->layers[layer].all.count == 0) {
		l->flame->n_layers--; /* it holds nothing */
		return 0;
	}
	l->shown[l->n_shown++] = row;
	l->entries += l->flame->layers[layer].n;
	return 0;
}

/* Bring the request to begin with among those that are shown. */
static void choose(struct flame_load *l, int64_t trace)
{
	struct traces *t = &l->traces;
	struct traces_row swap;
	size_t i;

	for (i = 0; i < t->n_rows && t->rows[i].sum->key != trace;)
		i++;
	if (i < l->max_traces || i >= t->n_rows)
		return;
	swap = t->rows[l->max_traces - 1];
	t->rows[l->max_traces - 1] = t->rows[i];
	t->rows[i] = swap;
}

static int load_traces(struct flame_load *l, const struct source *s,
		       struct weft_err *err)
{
	struct traces *t = &l->traces;
	size_t most = l->max_traces * LOOK_AT_TIMES, i;
	int64_t trace = 0;
	char hex[33];
	int rc = 0;

	if (l->trace)
		rc = report_find_trace(&t->report, l->trace, &trace, hex, err);
	if (rc)
		return rc;
	if (trace)
		choose(l, trace);
	if (most > t->n_rows)
		most = t->n_rows;
	l->shown = calloc(l->max_traces + 1, sizeof(*l->shown));
	if (!l->shown)
		return no_memory(err);
	l->first_layer = l->flame->n_layers;
	for (i = 0; i < most && l->n_shown < l->max_traces &&
		    l->entries < FLAME_ENTRIES_MAX;
	     i++) {
		rc = load_trace(l, s, i, err);
		if (rc)
			return rc;
		if (trace && t->rows[i].sum->key == trace && l->n_shown &&
		    l->shown[l->n_shown - 1] == i)
			l->chosen = (int64_t)l->n_shown - 1;
	}
	if (trace && l->chosen < 0)
		return report_no_sample(&t->report, trace, hex, err);
	return l->n_shown ? traces_describe(t, i, err) : 0;
}

/* A file none of whose samples tells a trace has a graph as well. */
static int open_file(struct flame_load *l, const struct cli_common *common,
		     const char *file, struct weft_err *err)
{
	const struct range *range = &l->traces.report.range;
	int rc = 0;

	l->traces.n_ordered = SIZE_MAX;
	if (l->where)
		rc = spans_parse_where(&l->traces.filter.where, l->where, err);
	if (!rc)
		rc = traces_load(&l->traces, common, file, err);
	l->has_traces = !rc;
	if (rc == -ENODATA && !l->where && range->n_parts && l->traces.rows)
		rc = 0;
	if (!rc)
		l->is_by_value = range_is_by_value(range);
	return rc;
}

static int load_other(struct flame_load *l, const struct cli_common *common,
		      struct weft_err *err)
{
	struct cli_common same = *common;
	struct source s = { 0 };
	struct ends ends = { 0 };
	int rc;

	same.input = NULL;
	same.event = l->traces.report.range.event;
	rc = report_open(&l->other, &same, l->against, err);
	if (!rc)
		rc = source_open(&s, &l->other, err);
	if (!rc)
		rc = load_shape(l, &s, &ends, err);
	source_close(&s);
	return rc;
}

int flame_load(struct flame_load *l, const struct cli_common *common,
	       const char *file, struct weft_err *err)
{
	struct source s = { 0 };
	int rc = open_file(l, common, file, err);

	l->chosen = l->pool_layer = -1;
	if (rc)
		return rc;
	l->flame = flame_new();
	if (!l->flame)
		return no_memory(err);
	rc = source_open(&s, &l->traces.report, err);
	if (!rc)
		rc = load_shape(l, &s, &l->ends, err);
	if (!rc && l->against)
		rc = load_other(l, common, err);
	if (!rc && l->where)
		rc = load_pool(l, &s, err);
	if (!rc && (l->has_traces || l->trace))
		rc = load_traces(l, &s, err);
	source_close(&s);
	if (rc)
		return rc;
	if (flame_finish(l->flame, l->against ? 2 : 1, l->max_nodes))
		return no_memory(err);
	return 0;
}

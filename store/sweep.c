/* SPDX-License-Identifier: MIT */
/*
 * What nothing refers to any more goes: first all that refers to something is
 * read, a few thousand rows in a step, and marks it; then what has no mark is
 * deleted, in as small steps. Batches may be written meanwhile: what they
 * refer to is marked as it is found or made (sweep_saw()), and what came after
 * the sweep began is left alone.
 *
 * A node of the tree of stacks is needed by a stack that ends there, or by a
 * child. Children have larger ids, so one walk from the last to the first is
 * enough.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/retain.h"

/* A file that claims to have more rows is not swept: a bit each. */
static const int64_t IDS_MAX = (int64_t)1 << 31;

/* One bit for each row that there was when the sweep began. */
struct marks {
	uint8_t *bits; /* owned */
	int64_t end;
};

struct sweep {
	struct marks marks[SWEEP_KINDS];
	size_t step;
	int64_t at[3];          /* the last row that the step has looked at */
	struct retain_ids gone; /* of the step */
};

static void mark(struct marks *m, int64_t id)
{
	if (id > 0 && id < m->end)
		m->bits[id / 8] |= (uint8_t)(1U << (id % 8));
}

/* What has no bit stays. */
static bool is_marked(const struct marks *m, int64_t id)
{
	return id <= 0 || id >= m->end || m->bits[id / 8] & 1U << (id % 8);
}

void sweep_saw(struct store *st, enum sweep_kind kind, int64_t id)
{
	if (sweep_is_under_way(st))
		mark(&st->retention->sweep->marks[kind], id);
}

bool sweep_is_under_way(const struct store *st)
{
	return st->retention && st->retention->sweep;
}

void sweep_free(struct sweep *s)
{
	for (int i = 0; s && i < SWEEP_KINDS; i++)
		free(s->marks[i].bits);
	free(s);
}

static int begin(struct store *st, struct sweep **out, struct weft_err *err)
{
	static const char *const last[SWEEP_KINDS] = {
		[SWEEP_NODE] = "SELECT max(id) FROM stack_node",
		[SWEEP_FRAME] = "SELECT max(id) FROM frame",
		[SWEEP_THREAD] = "SELECT max(id) FROM thread",
		[SWEEP_PROCESS] = "SELECT max(id) FROM process",
		[SWEEP_KEY] = "SELECT max(id) FROM metric_key",
	};
	struct sweep *s = calloc(1, sizeof(*s));
	int rc = 0;

	for (int i = 0; s && i < SWEEP_KINDS && !rc; i++) {
		struct marks *m = &s->marks[i];
		int64_t max;

		rc = conn_int(&st->conn, last[i], &max, err);
		if (rc || max < 1 || max >= IDS_MAX)
			continue;
		m->bits = calloc(1, (size_t)max / 8 + 1);
		m->end = m->bits ? max + 1 : 0;
		if (!m->bits)
			rc = -ENOMEM;
	}
	if (!s || rc == -ENOMEM)
		rc = weft_fail(err, -ENOMEM, "cannot sweep '%s': no memory",
			       st->path);
	if (rc)
		sweep_free(s);
	*out = rc ? NULL : s;
	stack_forget(st);
	return rc;
}

/* ---- what refers to something marks it */

/* The kinds that the columns of a row are of. */
struct reading {
	enum store_sql list;
	int n_key;                  /* columns in front that are its key */
	int8_t kind[SWEEP_COLUMNS]; /* by column; -1: none */
};

static const struct reading readings[] = {
	{ STORE_SQL_SWEEP_TOTALS, 3, { -1, SWEEP_NODE, SWEEP_PROCESS } },
	{ STORE_SQL_SWEEP_SAMPLES, 1, { -1, SWEEP_NODE, SWEEP_THREAD } },
	{ STORE_SQL_SWEEP_EXEMPLARS,
	  1,
	  { -1, SWEEP_NODE, SWEEP_THREAD, SWEEP_KEY } },
	{ STORE_SQL_SWEEP_METRIC_VALUES, 2, { -1, SWEEP_KEY } },
};

/* Step a statement through the rows after s->at, at most RETAIN_SWEPT. */
static int bind_at(struct store *st, const struct sweep *s, enum store_sql list,
		   int n_key, sqlite3_stmt **stmt, struct weft_err *err)
{
	int rc = store_stmt(st, list, stmt, err), i;

	if (rc)
		return rc;
	for (i = 0; i < n_key; i++)
		sqlite3_bind_int64(*stmt, i + 1, s->at[i]);
	sqlite3_bind_int64(*stmt, i + 1, RETAIN_SWEPT);
	return 0;
}

/* Returns 1 if there may be more rows. */
static int finish(struct store *st, sqlite3_stmt *stmt, int step, int n,
		  struct weft_err *err)
{
	int rc = step == SQLITE_DONE ? n == RETAIN_SWEPT
				     : conn_fail(&st->conn, step, "read", err);

	sqlite3_reset(stmt);
	return rc;
}

static int read_references(struct store *st, struct sweep *s,
			   const struct reading *from, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = bind_at(st, s, from->list, from->n_key, &stmt, err);
	int n = 0, step;

	if (rc)
		return rc;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		int columns = sqlite3_column_count(stmt);

		n++;
		for (int i = 1; i < columns && i < SWEEP_COLUMNS; i++)
			if (from->kind[i] >= 0)
				mark(&s->marks[from->kind[i]],
				     sqlite3_column_int64(stmt, i));
		for (int i = 0; i < from->n_key; i++)
			s->at[i] = sqlite3_column_int64(stmt, i);
	}
	return finish(st, stmt, step, n, err);
}

/* A stack that is part of a measure's key: of those that are used. */
static int read_keys(struct store *st, struct sweep *s, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = bind_at(st, s, STORE_SQL_SWEEP_METRIC_KEYS, 1, &stmt, err);
	int n = 0, step;

	if (rc)
		return rc;
	s->gone.n = 0;
	while ((step = sqlite3_step(stmt)) == SQLITE_ROW) {
		n++;
		s->at[0] = sqlite3_column_int64(stmt, 0);
		if (!is_marked(&s->marks[SWEEP_KEY], s->at[0])) {
			s->gone.id[s->gone.n++] = s->at[0];
			continue;
		}
		for (int i = 1; i <= STORE_METRIC_KEYS; i++)
			mark(&s->marks[SWEEP_NODE],
			     sqlite3_column_int64(stmt, i));
	}
	return finish(st, stmt, step, n, err);
}

/* ---- what has no mark goes */

struct dropping {
	enum store_sql list;
	enum store_sql drop, after; /* after: also by the id */
	int kind;                   /* of its mark; -1: the statement knows */
	size_t counted;             /* offset in struct store_gone */
};

#define COUNTED(what) offsetof(struct store_gone, what)
#define NO_STATEMENT  STORE_SQL_COUNT

static const struct dropping stacks = {
	STORE_SQL_SWEEP_STACKS, STORE_SQL_SWEEP_DROP_STACK,
	NO_STATEMENT,           SWEEP_NODE,
	COUNTED(stacks),
};

static const struct dropping droppings[] = {
	{ STORE_SQL_SWEEP_FRAMES, STORE_SQL_SWEEP_DROP_FRAME,
	  STORE_SQL_FRAME_FUNCTION_DROP, SWEEP_FRAME, COUNTED(frames) },
	{ STORE_SQL_SWEEP_FUNCTIONS, STORE_SQL_SWEEP_DROP_FUNCTION,
	  NO_STATEMENT, -1, COUNTED(functions) },
	{ STORE_SQL_SWEEP_BINARIES, STORE_SQL_SWEEP_DROP_BINARY,
	  STORE_SQL_SWEEP_DROP_SEGMENTS, -1, COUNTED(binaries) },
	{ STORE_SQL_SWEEP_THREADS, STORE_SQL_SWEEP_DROP_THREAD, NO_STATEMENT,
	  SWEEP_THREAD, COUNTED(threads) },
	{ STORE_SQL_SWEEP_PROCESSES, STORE_SQL_SWEEP_DROP_PROCESS,
	  STORE_SQL_SWEEP_DROP_PROCESS_ATTRIBUTES, SWEEP_PROCESS,
	  COUNTED(processes) },
};

/* Delete the rows in s->gone. *n: how many went. */
static int drop_gone(struct store *st, const struct sweep *s,
		     enum store_sql drop, enum store_sql after, uint64_t *n,
		     struct weft_err *err)
{
	int rc = retain_begin(st, err);

	*n = 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < s->gone.n && !rc; i++) {
		rc = retain_run(st, drop, &s->gone.id[i], 1, err);
		if (rc || !sqlite3_changes64(st->conn.db))
			continue;
		++*n;
		if (after != NO_STATEMENT)
			rc = retain_run(st, after, &s->gone.id[i], 1, err);
	}
	return retain_end(st, rc, err);
}

static int drop_keys(struct store *st, struct sweep *s, struct weft_err *err)
{
	int64_t at = s->at[0];
	uint64_t n;
	int more = read_keys(st, s, err), rc = 0;

	if (more >= 0 && s->gone.n)
		rc = drop_gone(st, s, STORE_SQL_SWEEP_DROP_METRIC_KEY,
			       NO_STATEMENT, &n, err);
	if (rc)
		s->at[0] = at;
	return rc ? rc : more;
}

static int drop_rows(struct store *st, struct sweep *s,
		     const struct dropping *d, struct store_gone *gone,
		     struct weft_err *err)
{
	int64_t at = s->at[0], id;
	uint64_t dropped = 0;
	sqlite3_stmt *stmt;
	int rc = bind_at(st, s, d->list, 1, &stmt, err), more, n = 0;

	if (rc)
		return rc;
	s->gone.n = 0;
	while ((more = sqlite3_step(stmt)) == SQLITE_ROW) {
		n++;
		s->at[0] = id = sqlite3_column_int64(stmt, 0);
		/* Those with ids of 0 or less stand for lost stacks. */
		if (id > 0 &&
		    (d->kind < 0 || !is_marked(&s->marks[d->kind], id)))
			s->gone.id[s->gone.n++] = id;
	}
	more = finish(st, stmt, more, n, err);
	if (more >= 0 && s->gone.n)
		rc = drop_gone(st, s, d->drop, d->after, &dropped, err);
	if (rc || more < 0) {
		s->at[0] = at;
		return rc ? rc : more;
	}
	if (d->kind == SWEEP_FRAME)
		retain_forget(&st->frame, &s->gone);
	*(uint64_t *)((char *)gone + d->counted) += dropped;
	return more;
}

static void reverse(struct retain_ids *ids)
{
	for (size_t i = 0; i < ids->n / 2; i++) {
		int64_t id = ids->id[i];

		ids->id[i] = ids->id[ids->n - 1 - i];
		ids->id[ids->n - 1 - i] = id;
	}
}

static int drop_nodes(struct store *st, struct sweep *s, struct weft_err *err)
{
	struct marks *nodes = &s->marks[SWEEP_NODE];
	int64_t at = s->at[0], id;
	sqlite3_stmt *stmt;
	uint64_t dropped;
	int rc, more, n = 0;

	if (!s->at[0])
		at = s->at[0] = nodes->end;
	rc = bind_at(st, s, STORE_SQL_SWEEP_NODES, 1, &stmt, err);
	if (rc)
		return rc;
	s->gone.n = 0;
	while ((more = sqlite3_step(stmt)) == SQLITE_ROW) {
		n++;
		s->at[0] = id = sqlite3_column_int64(stmt, 0);
		if (!is_marked(nodes, id)) {
			s->gone.id[s->gone.n++] = id;
			continue;
		}
		mark(nodes, sqlite3_column_int64(stmt, 1));
		mark(&s->marks[SWEEP_FRAME], sqlite3_column_int64(stmt, 2));
	}
	more = finish(st, stmt, more, n, err);
	if (more >= 0 && s->gone.n)
		rc = drop_gone(st, s, STORE_SQL_SWEEP_DROP_NODE, NO_STATEMENT,
			       &dropped, err);
	if (rc || more < 0) {
		s->at[0] = at;
		return rc ? rc : more;
	}
	reverse(&s->gone);
	retain_forget(&st->node, &s->gone);
	return more;
}

static int drop_attributes(struct store *st, struct weft_err *err)
{
	int rc = retain_begin(st, err);

	if (!rc)
		rc = retain_run(st, STORE_SQL_SWEEP_DROP_ATTRIBUTES, NULL, 0,
				err);
	return retain_end(st, rc, err);
}

/* ---- a sweep */

enum {
	STEP_KEYS = ARRAY_LEN(readings),
	STEP_STACKS,
	STEP_NODES,
	STEP_ROWS,
	STEP_ATTRIBUTES = STEP_ROWS + ARRAY_LEN(droppings),
	STEPS
};

static int do_step(struct store *st, struct sweep *s, struct store_gone *gone,
		   struct weft_err *err)
{
	if (s->step < STEP_KEYS)
		return read_references(st, s, &readings[s->step], err);
	switch (s->step) {
	case STEP_KEYS:
		return drop_keys(st, s, err);
	case STEP_STACKS:
		return drop_rows(st, s, &stacks, gone, err);
	case STEP_NODES:
		return drop_nodes(st, s, err);
	case STEP_ATTRIBUTES:
		return drop_attributes(st, err);
	default:
		return drop_rows(st, s, &droppings[s->step - STEP_ROWS], gone,
				 err);
	}
}

/* Is it worth reading all that there is? While it is recorded, only where many
 * rows have gone, also beside those that are read; under pressure sooner. */
static bool is_due(const struct store *st, const struct retention *r)
{
	if (r->has_swept)
		return false;
	if (st->is_amended)
		return true;
	if (r->is_pressed)
		return r->removed >= st->sweep_after / 10 && r->removed;
	return r->removed >= st->sweep_after &&
	       r->removed >= st->sealed_rows / 2;
}

int sweep_step(struct store *st, struct retention *r, struct weft_err *err)
{
	struct sweep *s = r->sweep;
	int rc;

	if (!s && !is_due(st, r))
		return 0;
	if (!s) {
		rc = begin(st, &s, err);
		if (rc)
			return rc;
		r->sweep = s;
		memset(s->at, 0, sizeof(s->at));
		s->at[0] = INT64_MIN;
	}
	rc = do_step(st, s, r->gone, err);
	if (rc)
		return rc;
	s->at[0] = s->step + 1 == STEP_NODES ? 0 : INT64_MIN;
	s->at[1] = s->at[2] = INT64_MIN;
	if (++s->step < STEPS)
		return 1;
	sweep_free(s);
	r->sweep = NULL;
	r->removed = 0;
	r->has_swept = true;
	return 0;
}

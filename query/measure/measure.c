/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/measure/measure.h"

const char *const measure_end_names[MEASURE_ENDS] = {
	[MEASURE_FIRED] = "fired",
	[MEASURE_COUNTED] = "counted",
	[MEASURE_FILTERED] = "filtered",
	[MEASURE_NOT_MET] = "not_met",
	[MEASURE_KEYS_FULL] = "keys_full",
	[MEASURE_BUSY] = "lost_busy",
	[MEASURE_UNREADABLE] = "unreadable",
	[MEASURE_ENTERED] = "entered",
	[MEASURE_NO_ENTRY] = "no_entry",
	[MEASURE_NO_RETURN] = "no_return",
	[MEASURE_CALLS_FULL] = "calls_full",
	[MEASURE_MISSED] = "missed",
	[MEASURE_DISCARDED] = "lost_discarded",
	[MEASURE_SELECTED] = "selected",
	[MEASURE_LOST_EXEMPLARS] = "lost_exemplars",
};

static int out_of_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory");
}

int measure_query(const struct measure *m, struct db *db,
		  const struct range_part *part, enum query_sql id,
		  sqlite3_stmt **out, struct weft_err *err)
{
	int rc = db_query(db, id, out, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(*out, 1, m->id);
	sqlite3_bind_int64(*out, 2, part->first_interval);
	sqlite3_bind_int64(*out, 3, part->last_interval);
	return 0;
}

static struct measure_row *add_row(struct measure *m, int64_t key_id)
{
	struct measure_row *rows = m->rows;

	if ((m->n_rows & (m->n_rows - 1)) == 0) /* a power of two: full */
		rows = reallocarray(rows, m->n_rows ? 2 * m->n_rows : 1,
				    sizeof(*rows));
	if (!rows)
		return NULL;
	m->rows = rows;
	rows[m->n_rows] = (struct measure_row){ .key_id = key_id };
	return &rows[m->n_rows++];
}

/* The functions of a frame: outermost first, between semicolons. Returns how
 * much of out is used, or would be. */
static size_t add_frame(char *names, char *out, size_t used, size_t size)
{
	char *last;

	do {
		last = strrchr(names, ';');
		if (used < size)
			used += (size_t)snprintf(out + used, size - used,
						 "%s%s", used ? " < " : "",
						 last ? last + 1 : names);
		if (last)
			*last = '\0';
	} while (last);
	return used;
}

int measure_place(struct db *db, int64_t stack_id, int n, char *out,
		  size_t size, struct weft_err *err)
{
	bool in_kernel = false;
	sqlite3_stmt *stmt;
	size_t used = 0;
	int rc = db_query(db, QUERY_SQL_MEASURE_STACK, &stmt, err);

	*out = '\0';
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, stack_id);
	sqlite3_bind_int(stmt, 2, n);
	while (used < size && (rc = db_step(db, stmt, err)) > 0) {
		char names[600];

		if (!used)
			in_kernel = sqlite3_column_int(stmt, 1);
		if (in_kernel != sqlite3_column_int(stmt, 1))
			break;
		db_copy_text(stmt, 0, names, sizeof(names));
		used = add_frame(names, out, used, size);
	}
	return rc < 0 ? rc : 0;
}

/* The parts of a row's key. */
static int take_key(struct measure *m, struct measure_row *row, struct db *db,
		    sqlite3_stmt *stmt, struct weft_err *err)
{
	int rc = 0;

	for (int i = 0; i < m->n_keys && !rc; i++) {
		db_copy_text(stmt, 1 + i, row->key[i], sizeof(row->key[i]));
		row->is_number[i] =
			sqlite3_column_type(stmt, 1 + i) == SQLITE_INTEGER;
		if (strcmp(m->key[i], "stack"))
			continue;
		row->is_number[i] = false;
		rc = measure_place(db, sqlite3_column_int64(stmt, 1 + i), 12,
				   row->key[i], sizeof(row->key[i]), err);
		if (!rc && !*row->key[i])
			memcpy(row->key[i], "[no stack]", 11);
	}
	return rc;
}

/* Rows of one key come one after the other. */
static int load_values(struct measure *m, struct db *db,
		       const struct range_part *part, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = measure_query(m, db, part, QUERY_SQL_MEASURE_VALUES, &stmt,
			       err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);
		struct measure_row *row =
			m->n_rows ? &m->rows[m->n_rows - 1] : NULL;
		int64_t min = sqlite3_column_int64(stmt, 7);
		int64_t max = sqlite3_column_int64(stmt, 8);

		rc = 0;
		if (!row || row->key_id != id) {
			row = add_row(m, id);
			if (!row)
				return out_of_memory(err);
			row->min = min;
			row->max = max;
			rc = take_key(m, row, db, stmt, err);
		}
		row->count += sqlite3_column_int64(stmt, 5);
		/* As in the kernel, it wraps. */
		row->sum = (int64_t)((uint64_t)row->sum +
				     (uint64_t)sqlite3_column_int64(stmt, 6));
		row->min = min < row->min ? min : row->min;
		row->max = max > row->max ? max : row->max;
	}
	return rc;
}

/* Both come in the order of keys. */
static int load_buckets(struct measure *m, struct db *db,
			const struct range_part *part, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	size_t at = 0;
	int rc = measure_query(m, db, part, QUERY_SQL_MEASURE_BUCKETS, &stmt,
			       err);

	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		rc = 0;
		while (at < m->n_rows && m->rows[at].key_id < id)
			at++;
		if (at == m->n_rows || m->rows[at].key_id != id)
			continue;
		if (histogram_add(&m->rows[at].histogram,
				  (uint32_t)sqlite3_column_int64(stmt, 1),
				  (uint64_t)sqlite3_column_int64(stmt, 2)))
			return out_of_memory(err);
	}
	return rc;
}

static int load_ends(struct measure *m, struct db *db,
		     const struct range_part *part, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = measure_query(m, db, part, QUERY_SQL_MEASURE_ENDS, &stmt, err);

	if (!rc)
		rc = db_step(db, stmt, err);
	for (int i = 0; i < MEASURE_ENDS && rc > 0; i++)
		m->end[i] = sqlite3_column_int64(stmt, i);
	return rc < 0 ? rc : 0;
}

static void take_measure(struct measure *m, sqlite3_stmt *stmt)
{
	*m = (struct measure){ .id = sqlite3_column_int64(stmt, 0) };
	db_copy_text(stmt, 1, m->name, sizeof(m->name));
	db_copy_text(stmt, 2, m->text, sizeof(m->text));
	db_copy_text(stmt, 3, m->aggregate, sizeof(m->aggregate));
	db_copy_text(stmt, 4, m->unit, sizeof(m->unit));
	m->n_keys = sqlite3_column_int(stmt, 5);
	if (m->n_keys < 0 || m->n_keys > MEASURE_KEYS)
		m->n_keys = MEASURE_KEYS;
	for (int i = 0; i < MEASURE_KEYS; i++)
		db_copy_text(stmt, 6 + i, m->key[i], sizeof(m->key[i]));
	m->edges.min = sqlite3_column_int64(stmt, 10);
	m->edges.max = sqlite3_column_int64(stmt, 11);
	m->edges.step = sqlite3_column_int64(stmt, 12);
	if (m->edges.step < 0 || m->edges.max <= m->edges.min)
		m->edges.step = 0;
	m->max_keys = sqlite3_column_int64(stmt, 13);
	db_copy_text(stmt, 14, m->probe, sizeof(m->probe));
}

/* The measures of one recording, still without their values. */
static int list(struct measures *out, struct db *db, int64_t recording_id,
		struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_MEASURE_LIST, &stmt, err);

	if (!rc)
		sqlite3_bind_int64(stmt, 1, recording_id);
	while (!rc && (rc = db_step(db, stmt, err)) > 0) {
		struct measure *bigger =
			reallocarray(out->list, out->n + 1, sizeof(*bigger));

		if (!bigger)
			return out_of_memory(err);
		out->list = bigger;
		take_measure(&out->list[out->n++], stmt);
		rc = 0;
	}
	return rc;
}

bool measure_has_buckets(const struct measure *m)
{
	return !strcmp(m->aggregate, "hist") || !strcmp(m->aggregate, "lhist");
}

double measure_figure(const struct measure *m, const struct measure_row *row)
{
	if (!strcmp(m->aggregate, "sum"))
		return (double)row->sum;
	if (!strcmp(m->aggregate, "avg"))
		return (double)row->sum / (double)row->count;
	if (!strcmp(m->aggregate, "min"))
		return (double)row->min;
	if (!strcmp(m->aggregate, "max"))
		return (double)row->max;
	return (double)row->count;
}

/* The most first; of equal ones the one that came first. */
static int compare_rows(const void *a, const void *b, void *measure)
{
	const struct measure_row *x = a, *y = b;
	double p = measure_figure(measure, x), q = measure_figure(measure, y);

	if (p == q)
		return x->key_id < y->key_id ? -1 : 1;
	return p < q ? 1 : -1;
}

static int fail_absent(const struct measures *all, const struct db *db,
		       const char *name, struct weft_err *err)
{
	const char *names[65] = { NULL }, *near;
	size_t i;

	for (i = 0; i < all->n && i < 64; i++)
		names[i] = all->list[i].name;
	if (!i)
		return weft_fail(err, -ENODATA,
				 "'%s' has no measures; weft record --measure "
				 "makes them",
				 db_path(db));
	near = weft_nearest(name, names);
	return weft_fail(err, -ENODATA, "'%s' has no measure '%s'; %s '%s'%s",
			 db_path(db), name,
			 near ? "did you mean" : "the first is",
			 near ? near : names[0], near ? "?" : "");
}

int measures_have_tables(struct db *db, struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_MEASURE_TABLES, &stmt, err);

	return rc ? rc : (int)db_ask(db, stmt, err);
}

/* Keep only the measure of that name. */
static int keep(struct measures *m, const struct db *db, size_t first,
		const char *name, struct weft_err *err)
{
	size_t kept = first;

	for (size_t i = first; i < m->n; i++)
		if (!strcmp(m->list[i].name, name))
			m->list[kept++] = m->list[i];
	if (kept == first)
		return fail_absent(m, db, name, err);
	m->n = kept;
	return 0;
}

int measures_load(struct measures *out, struct db *db, const struct range *r,
		  const char *name, struct weft_err *err)
{
	int rc = measures_have_tables(db, err);

	*out = (struct measures){ 0 };
	for (size_t p = 0; p < r->n_parts && rc > 0; p++) {
		size_t first = out->n;
		int failed = list(out, db, r->parts[p].recording_id, err);

		if (!failed && name)
			failed = keep(out, db, first, name, err);
		for (size_t i = first; i < out->n && !failed; i++) {
			struct measure *m = &out->list[i];

			m->part = p;
			failed = load_values(m, db, &r->parts[p], err);
			if (!failed)
				failed = load_buckets(m, db, &r->parts[p], err);
			if (!failed)
				failed = load_ends(m, db, &r->parts[p], err);
			if (!failed && m->n_rows)
				qsort_r(m->rows, m->n_rows, sizeof(*m->rows),
					compare_rows, m);
		}
		rc = failed ? failed : rc;
	}
	if (rc >= 0 && !out->n)
		return fail_absent(out, db, "", err);
	return rc < 0 ? rc : 0;
}

void measures_release(struct measures *m)
{
	for (size_t i = 0; i < m->n; i++) {
		for (size_t k = 0; k < m->list[i].n_rows; k++)
			histogram_release(&m->list[i].rows[k].histogram);
		free(m->list[i].rows);
		free(m->list[i].examples);
	}
	free(m->list);
	*m = (struct measures){ 0 };
}

int64_t measure_lost(const struct measure *m)
{
	return m->end[MEASURE_KEYS_FULL] + m->end[MEASURE_BUSY] +
	       m->end[MEASURE_UNREADABLE] + m->end[MEASURE_CALLS_FULL] +
	       m->end[MEASURE_MISSED] + m->end[MEASURE_DISCARDED];
}

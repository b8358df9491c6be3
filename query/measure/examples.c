/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/measure/examples.h"
#include "query/measure/print.h"

static struct measure_example *add(struct measure *m)
{
	struct measure_example *all = m->examples;

	if ((m->n_examples & (m->n_examples - 1)) == 0) /* a power of 2: full */
		all = reallocarray(all, m->n_examples ? 2 * m->n_examples : 1,
				   sizeof(*all));
	if (!all)
		return NULL;
	m->examples = all;
	all[m->n_examples] = (struct measure_example){ 0 };
	return &all[m->n_examples++];
}

static void take(struct measure_example *e, sqlite3_stmt *stmt)
{
	e->key_id = sqlite3_column_int64(stmt, 0);
	e->bucket = (uint32_t)sqlite3_column_int64(stmt, 1);
	e->value = sqlite3_column_int64(stmt, 2);
	e->unix_ns = sqlite3_column_int64(stmt, 3);
	e->pid = sqlite3_column_int64(stmt, 4);
	e->tid = sqlite3_column_int64(stmt, 5);
	db_copy_text(stmt, 6, e->comm, sizeof(e->comm));
	db_copy_text(stmt, 7, e->trace, sizeof(e->trace));
	db_copy_text(stmt, 8, e->span, sizeof(e->span));
	e->stack_id = sqlite3_column_int64(stmt, 9);
	db_copy_text(stmt, 10, e->context_status, sizeof(e->context_status));
}

static bool is_wanted(const struct measure *m,
		      const struct measure_wanted *wanted, uint32_t bucket)
{
	struct bucket_bounds at = bucket_bounds(&m->edges, bucket);

	return !wanted->of_bucket ||
	       (measure_has_buckets(m) && at.lo <= wanted->value &&
		wanted->value < at.hi);
}

static int load(struct measure *m, struct db *db, const struct range_part *part,
		const struct measure_wanted *wanted, struct weft_err *err)
{
	struct measure_example last = { 0 }, e = { 0 };
	sqlite3_stmt *stmt;
	uint64_t of_bucket = 0;
	int rc = measure_query(m, db, part, QUERY_SQL_MEASURE_EXAMPLES, &stmt,
			       err);

	if (rc)
		return rc;
	sqlite3_bind_int(stmt, 4, measure_has_buckets(m));
	while ((rc = db_step(db, stmt, err)) > 0) {
		struct measure_example *to;

		take(&e, stmt);
		if (e.key_id != last.key_id || e.bucket != last.bucket)
			of_bucket = 0;
		last = e;
		if (of_bucket++ >= wanted->n || !is_wanted(m, wanted, e.bucket))
			continue;
		to = add(m);
		if (!to)
			return weft_fail(err, -ENOMEM, "out of memory");
		*to = e;
	}
	for (size_t i = 0; i < m->n_examples && !rc; i++)
		rc = measure_place(db, m->examples[i].stack_id, 5,
				   m->examples[i].place,
				   sizeof(m->examples[i].place), err);
	return rc;
}

int measure_examples_load(struct measures *m, struct db *db,
			  const struct range *r,
			  const struct measure_wanted *wanted,
			  struct weft_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < m->n && !rc; i++)
		rc = load(&m->list[i], db, &r->parts[m->list[i].part], wanted,
			  err);
	return rc;
}

static void print_one(const struct measure_example *e, const char *unit)
{
	char comm[260], place[1700];
	int64_t us = e->unix_ns / 1000 % 1000000;

	weft_sanitize(comm, sizeof(comm), e->comm, strlen(e->comm));
	weft_sanitize(place, sizeof(place), e->place, strlen(e->place));
	/* RFC 3339, with the digits below a second before the zone. */
	printf("    %s  %.19s.%06dZ  %s %lld/%lld  ",
	       measure_value_text(&(struct figure){ "" }, e->value, unit),
	       FIGURE(figure_time, e->unix_ns), (int)us, comm,
	       (long long)e->pid, (long long)e->tid);
	if (*e->trace)
		printf("trace %s span %s\n", e->trace, e->span);
	else
		printf("no trace (%s)\n", e->context_status);
	printf("      %s\n", *place ? place : "[no stack]");
}

void measure_examples_print(const struct measure *m,
			    const struct measure_row *row, const char *unit)
{
	const struct measure_example *last = NULL;
	char label[64];

	for (size_t i = 0; i < m->n_examples; i++) {
		const struct measure_example *e = &m->examples[i];

		if (e->key_id != row->key_id)
			continue;
		if (!measure_has_buckets(m) && !last)
			printf("  of the highest:\n");
		else if (measure_has_buckets(m) &&
			 (!last || last->bucket != e->bucket))
			printf("  from the %s bucket:\n",
			       bucket_label(label, &m->edges, e->bucket));
		print_one(e, unit);
		last = e;
	}
	if (last)
		printf("\n");
}

void measure_examples_json(const struct measure *m,
			   const struct measure_row *row, struct json *j)
{
	json_array(j, "examples");
	for (size_t i = 0; i < m->n_examples; i++) {
		const struct measure_example *e = &m->examples[i];
		struct bucket_bounds at = bucket_bounds(&m->edges, e->bucket);

		if (e->key_id != row->key_id)
			continue;
		json_object(j, NULL);
		if (measure_has_buckets(m) && at.lo != INT64_MIN)
			json_int(j, "lo", at.lo);
		if (measure_has_buckets(m) && at.hi != INT64_MAX)
			json_int(j, "hi", at.hi);
		json_int(j, "value", e->value);
		json_int(j, "unix_ns", e->unix_ns);
		json_int(j, "pid", e->pid);
		json_int(j, "tid", e->tid);
		json_bytes(j, "thread", e->comm, strlen(e->comm));
		json_text(j, "trace_id", *e->trace ? e->trace : NULL);
		json_text(j, "span_id", *e->span ? e->span : NULL);
		json_text(j, "context", e->context_status);
		json_int(j, "stack_id", e->stack_id);
		json_bytes(j, "place", e->place, strlen(e->place));
		json_end_object(j);
	}
	json_end_array(j);
}

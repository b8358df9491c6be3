/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/measure/examples.h"
#include "query/measure/print.h"
#include "query/report.h"

static const double quantiles[] = { 0.5, 0.9, 0.99 };

const char *measure_value_text(struct figure *to, int64_t v, const char *unit)
{
	static const char units[] = " KMGTPE";
	double shown = (double)v;
	int i = 0;

	if (!strcmp(unit, "ns"))
		return figure_ns(to, shown);
	if (!strcmp(unit, "bytes") && (v >= 1024 || v <= -1024)) {
		while ((shown >= 1024 || shown <= -1024) && units[i + 1]) {
			shown /= 1024;
			i++;
		}
		snprintf(to->text, sizeof(to->text), "%.1f%c", shown, units[i]);
		return to->text;
	}
	snprintf(to->text, sizeof(to->text), "%" PRId64, v);
	return to->text;
}

#define VALUE(v, unit) measure_value_text(&(struct figure){ "" }, v, unit)

static void print_loss(const struct measure *m, enum measure_end end,
		       const char *what)
{
	if (m->end[end])
		printf("  %s: %s\n", FIGURE(figure_count, (double)m->end[end]),
		       what);
}

/* What is not in the counts, each with what it means. */
static void print_losses(const struct measure *m)
{
	char full[160];

	snprintf(full, sizeof(full),
		 "not counted: more than %" PRId64
		 " keys in an interval (--max-keys)",
		 m->max_keys);
	print_loss(m, MEASURE_KEYS_FULL, full);
	print_loss(m, MEASURE_BUSY,
		   "not counted: the kernel's table was in use");
	print_loss(m, MEASURE_UNREADABLE,
		   "not counted: a field could not be read");
	print_loss(m, MEASURE_MISSED,
		   "not counted: the kernel did not run our program");
	print_loss(m, MEASURE_DISCARDED,
		   "counted, but not stored: the batch had no room");
	print_loss(m, MEASURE_CALLS_FULL,
		   "calls not followed to their return: too many at a time");
	print_loss(m, MEASURE_NO_RETURN,
		   "calls left without a return (longjmp, exec, exit)");
	print_loss(m, MEASURE_NO_ENTRY,
		   "returns of calls that had begun before");
	print_loss(m, MEASURE_LOST_EXEMPLARS,
		   "examples that were lost; their events are counted");
}

static void print_heading(const struct measure *m,
			  const struct measure_look *look)
{
	char text[2200];

	weft_sanitize(text, sizeof(text), m->text, strlen(m->text));
	printf("%s\n", text);
	printf("  %s events",
	       FIGURE(figure_count, (double)m->end[MEASURE_COUNTED]));
	if (m->end[MEASURE_NOT_MET])
		printf(", %s more did not meet the condition",
		       FIGURE(figure_count, (double)m->end[MEASURE_NOT_MET]));
	printf("; %s\n", measure_lost(m) ? "some were lost:"
			 : look->is_open ? "none lost in what is stored so far"
					 : "none lost");
	print_losses(m);
	printf("\n");
}

/* The limits within which a percentile lies: those of its bucket, or closer
 * where the least or the greatest value is in it. */
static void print_quantiles(const struct measure *m,
			    const struct measure_row *row, const char *unit)
{
	for (size_t i = 0; i < ARRAY_LEN(quantiles); i++) {
		uint32_t b = histogram_quantile(&row->histogram, quantiles[i]);
		struct bucket_bounds at = bucket_bounds(&m->edges, b);

		if (at.lo < row->min)
			at.lo = row->min;
		if (at.hi > row->max)
			at.hi = row->max;
		printf(", p%g %s", quantiles[i] * 100, VALUE(at.lo, unit));
		if (at.hi > at.lo)
			printf(" .. %s", VALUE(at.hi, unit));
	}
}

static void print_histogram(const struct measure *m,
			    const struct measure_row *row,
			    const struct measure_look *look)
{
	const char *unit = look->unit ? look->unit : m->unit;
	char text[2100];

	for (int i = 0; i < m->n_keys; i++) {
		weft_sanitize(text, sizeof(text), row->key[i],
			      strlen(row->key[i]));
		printf("%s%s", i ? ", " : "", text);
	}
	if (m->n_keys)
		printf("\n");
	histogram_print(&row->histogram, &m->edges, unit, look->div,
			table_width(), stdout);
	printf("  count %" PRId64 ", avg %s, min %s, max %s", row->count,
	       VALUE(row->count ? row->sum / row->count : 0, unit),
	       VALUE(row->min, unit), VALUE(row->max, unit));
	print_quantiles(m, row, unit);
	printf("\n\n");
	measure_examples_print(m, row, unit);
}

/* Which columns an aggregate has. */
struct columns {
	bool count, sum, avg, min, max;
};

static struct columns columns_of(const struct measure *m)
{
	bool all = !strcmp(m->aggregate, "stats");

	return (struct columns){
		.count = all || !strcmp(m->aggregate, "count"),
		.sum = all || !strcmp(m->aggregate, "sum"),
		.avg = all || !strcmp(m->aggregate, "avg"),
		.min = all || !strcmp(m->aggregate, "min"),
		.max = all || !strcmp(m->aggregate, "max"),
	};
}

static void add_cells(struct table *t, const struct measure *m,
		      const struct measure_row *row, const struct columns *c,
		      const struct measure_look *look)
{
	const char *unit = look->unit ? look->unit : m->unit;
	int64_t div = (int64_t)look->div;

	if (c->count)
		table_text(t, VALUE(row->count / div, ""));
	if (c->sum)
		table_text(t, VALUE(row->sum / div, unit));
	if (c->avg)
		table_text(t, VALUE(row->sum / row->count / div, unit));
	if (c->min)
		table_text(t, VALUE(row->min / div, unit));
	if (c->max)
		table_text(t, VALUE(row->max / div, unit));
	for (int i = 0; i < m->n_keys; i++)
		table_text(t, row->key[i]);
}

static int print_table(const struct measure *m, const struct measure_look *look,
		       size_t n_rows, struct weft_err *err)
{
	struct table_column columns[5 + MEASURE_KEYS];
	const struct columns c = columns_of(m);
	struct table *t;
	size_t n = 0;
	int rc;

	if (c.count)
		columns[n++] = (struct table_column){ "COUNT", TABLE_RIGHT };
	if (c.sum)
		columns[n++] = (struct table_column){ "SUM", TABLE_RIGHT };
	if (c.avg)
		columns[n++] = (struct table_column){ "AVG", TABLE_RIGHT };
	if (c.min)
		columns[n++] = (struct table_column){ "MIN", TABLE_RIGHT };
	if (c.max)
		columns[n++] = (struct table_column){ "MAX", TABLE_RIGHT };
	for (int i = 0; i < m->n_keys; i++)
		columns[n++] = (struct table_column){ m->key[i], TABLE_LEFT };
	t = table_new(columns, n);
	if (!t)
		return weft_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n_rows; i++)
		add_cells(t, m, &m->rows[i], &c, look);
	rc = report_print_table(t, err);
	table_free(t);
	printf("\n");
	return rc;
}

int measure_print(const struct measure *m, const struct measure_look *look,
		  struct weft_err *err)
{
	size_t n =
		look->rows && look->rows < m->n_rows ? look->rows : m->n_rows;
	bool has_buckets = measure_has_buckets(m);
	int rc = 0;

	print_heading(m, look);
	if (has_buckets)
		for (size_t i = 0; i < n; i++)
			print_histogram(m, &m->rows[i], look);
	else if (n)
		rc = print_table(m, look, n, err);
	for (size_t i = 0; i < n && !has_buckets; i++)
		measure_examples_print(m, &m->rows[i],
				       look->unit ? look->unit : m->unit);
	if (n < m->n_rows)
		printf("%zu more keys; -n 0 prints all\n\n", m->n_rows - n);
	return rc;
}

static void json_row(const struct measure *m, const struct measure_row *row,
		     struct json *j)
{
	const struct columns c = columns_of(m);
	bool has_buckets = row->histogram.n;

	json_object(j, NULL);
	json_array(j, "key");
	for (int i = 0; i < m->n_keys; i++) {
		int64_t number;

		if (row->is_number[i] &&
		    sscanf(row->key[i], "%" SCNd64, &number) == 1)
			json_int(j, NULL, number);
		else
			json_bytes(j, NULL, row->key[i], strlen(row->key[i]));
	}
	json_end_array(j);
	json_int(j, "count", row->count);
	if (c.sum || c.avg || has_buckets)
		json_int(j, "sum", row->sum);
	if (c.avg || has_buckets)
		json_real(j, "avg", (double)row->sum / (double)row->count);
	if (c.min || has_buckets)
		json_int(j, "min", row->min);
	if (c.max || has_buckets)
		json_int(j, "max", row->max);
	if (has_buckets)
		json_array(j, "buckets");
	for (size_t i = 0; i < row->histogram.n; i++) {
		const struct bucket_count *b = &row->histogram.counts[i];
		struct bucket_bounds at = bucket_bounds(&m->edges, b->bucket);

		json_object(j, NULL);
		if (at.lo != INT64_MIN)
			json_int(j, "lo", at.lo);
		if (at.hi != INT64_MAX)
			json_int(j, "hi", at.hi);
		json_int(j, "count", (int64_t)b->count);
		json_end_object(j);
	}
	if (has_buckets)
		json_end_array(j);
	if (m->n_examples)
		measure_examples_json(m, row, j);
	json_end_object(j);
}

void measure_json(const struct measure *m, struct json *j)
{
	json_object(j, NULL);
	json_bytes(j, "name", m->name, strlen(m->name));
	json_bytes(j, "text", m->text, strlen(m->text));
	json_bytes(j, "aggregate", m->aggregate, strlen(m->aggregate));
	json_bytes(j, "unit", m->unit, strlen(m->unit));
	json_bytes(j, "probe", m->probe, strlen(m->probe));
	json_array(j, "by");
	for (int i = 0; i < m->n_keys; i++)
		json_bytes(j, NULL, m->key[i], strlen(m->key[i]));
	json_end_array(j);
	json_object(j, "events");
	for (int i = 0; i < MEASURE_ENDS; i++)
		json_int(j, measure_end_names[i], m->end[i]);
	json_end_object(j);
	json_array(j, "keys");
	for (size_t i = 0; i < m->n_rows; i++)
		json_row(m, &m->rows[i], j);
	json_end_array(j);
	json_end_object(j);
}

/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "query/figure.h"
#include "query/spans.h"
#include "query/wall.h"

static const char *const words[WALL_KINDS] = {
	[WALL_RUNNING] = "running",
	[WALL_RUNNABLE] = "runnable",
	[WALL_BLOCKED] = "blocked",
};

/* In the order of trust: runs are exact, the timer's samples an estimate. */
static const struct source {
	const char *event;
	enum wall_kind kind;
} sources[] = {
	{ "on-cpu", WALL_RUNNING },
	{ "cpu-clock", WALL_RUNNING },
	{ "run-queue", WALL_RUNNABLE },
	{ "off-cpu", WALL_BLOCKED },
};

static const struct source *find(const char *event)
{
	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (!strcmp(sources[i].event, event))
			return &sources[i];
	return NULL;
}

const struct wall_part *wall_part_of(const struct wall *w, const char *event)
{
	for (enum wall_kind i = 0; i < WALL_KINDS; i++)
		if (w->part[i].event && !strcmp(w->part[i].event, event))
			return &w->part[i];
	return NULL;
}

/* Blocks that were certain to be chosen are added as they are. */
static struct stats_interval interval_of(sqlite3_stmt *stmt,
					 const struct report *r)
{
	double k = sqlite3_column_double(stmt, 2);
	double sum = db_weight(stmt, 3);
	double chance_sum = db_weight(stmt, 5);
	struct stats_interval in;

	if (sqlite3_column_type(stmt, 1) == SQLITE_NULL)
		return k > 0 ? stats_request_ns(k, sum / k, true)
			     : (struct stats_interval){
				       0, stats_unsampled_ns(report_ns_each(r))
			       };
	in = stats_weighted_sum(chance_sum, db_weight(stmt, 6),
				db_weight(stmt, 1));
	in.lo += sum - chance_sum;
	in.hi += sum - chance_sum;
	return in;
}

/* From the first begin to the last end; -1: there are no samples. */
static double extent_ns(const struct wall *w)
{
	double first = 0, last = 0;
	bool is_first = true;

	for (enum wall_kind i = 0; i < WALL_KINDS; i++) {
		const struct wall_part *part = &w->part[i];

		if (!part->samples)
			continue;
		if (is_first || part->first_ns < first)
			first = part->first_ns;
		if (is_first || part->last_ns > last)
			last = part->last_ns;
		is_first = false;
	}
	return is_first ? -1 : last - first;
}

static int load_parts(struct wall *w, struct report *r, int64_t trace,
		      struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = range_query(&r->range, r->range.n_parts - 1, r->db,
			     QUERY_SQL_WALL_PARTS, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, trace);
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		const char *name = (const char *)sqlite3_column_text(stmt, 0);
		const struct source *source = find(name ? name : "");
		struct wall_part *part;

		if (!source)
			continue;
		part = &w->part[source->kind];
		if (part->event && find(part->event) < source)
			continue;
		*part = (struct wall_part){
			.event = source->event,
			.samples = (uint64_t)sqlite3_column_int64(stmt, 2),
			.ns = db_weight(stmt, 3),
			.interval = interval_of(stmt, r),
			.first_ns = db_weight(stmt, 7),
			.last_ns = db_weight(stmt, 8),
		};
	}
	return rc;
}

/* Runs are cut between two looks of the timer; the root span knows better. */
static int move_to_span(struct wall *w, struct report *r, int64_t trace,
			const struct spans_root *root, struct weft_err *err)
{
	struct wall_part *running = &w->part[WALL_RUNNING];
	sqlite3_stmt *stmt;
	double more_ns;
	int rc;

	if (!running->event || strcmp(running->event, "on-cpu") != 0)
		return 0;
	rc = range_query(&r->range, r->range.n_parts - 1, r->db,
			 QUERY_SQL_WALL_ENDS, &stmt, err);
	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, trace);
	sqlite3_bind_int64(stmt, 6, root->start_ns);
	sqlite3_bind_int64(stmt, 7, root->start_ns + root->duration_ns);
	rc = db_step(r->db, stmt, err);
	if (rc <= 0)
		return rc;
	more_ns = sqlite3_column_double(stmt, 0);
	running->ns += more_ns;
	running->interval.lo += more_ns;
	running->interval.hi += more_ns;
	return 0;
}

int wall_load(struct wall *w, struct report *r, int64_t trace,
	      struct weft_err *err)
{
	struct spans_root root;
	int rc;

	*w = (struct wall){ .wall_ns = -1 };
	rc = load_parts(w, r, trace, err);
	if (rc)
		return rc;
	w->has_everything = true;
	for (enum wall_kind i = 0; i < WALL_KINDS; i++)
		w->has_everything &= w->part[i].event != NULL;
	rc = spans_find_root(r->db, trace, &root, err);
	if (rc < 0)
		return rc;
	w->is_of_span = rc > 0 && root.duration_ns > 0;
	w->wall_ns = w->is_of_span ? (double)root.duration_ns : extent_ns(w);
	return w->is_of_span ? move_to_span(w, r, trace, &root, err) : 0;
}

static double rest_ns(const struct wall *w)
{
	double rest = w->wall_ns;

	for (enum wall_kind i = 0; i < WALL_KINDS; i++)
		rest -= w->part[i].ns;
	return rest;
}

void wall_print(const struct wall *w)
{
	if (!w->has_everything || w->wall_ns < 0)
		return;
	printf("wall %s (%s) =", FIGURE(figure_ns, w->wall_ns),
	       w->is_of_span ? "its root span" : "from first to last");
	for (enum wall_kind i = 0; i < WALL_KINDS; i++)
		printf("%s %s %s (95 %%: %s)", i ? " +" : "", words[i],
		       FIGURE(figure_ns, w->part[i].ns),
		       FIGURE(figure_value_interval, w->part[i].interval,
			      "ns"));
	printf(" + rest %s\n\n", FIGURE(figure_ns, rest_ns(w)));
}

void wall_json(const struct wall *w, struct json *j)
{
	char key[32];

	if (!w->has_everything || w->wall_ns < 0) {
		json_null(j, "wall");
		return;
	}
	json_object(j, "wall");
	json_real(j, "wall_ns", w->wall_ns);
	json_bool(j, "of_root_span", w->is_of_span);
	for (enum wall_kind i = 0; i < WALL_KINDS; i++) {
		snprintf(key, sizeof(key), "%s_ns", words[i]);
		json_real(j, key, w->part[i].ns);
		json_interval(j, key, w->part[i].interval);
	}
	json_real(j, "rest_ns", rest_ns(w));
	json_end_object(j);
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/figure.h"
#include "query/open_spans.h"
#include "query/span_tree.h"

enum {
	SPANS_MAX = 100000,
	DEPTH_SHOWN = 40 /* deeper is not indented more */
};

/* Samples of one span on one stack. */
struct heat {
	size_t node;
	int64_t stack_id;
	double weight;
};

struct heats {
	struct heat *heat; /* owned */
	size_t n, room;
};

void span_tree_release(struct span_tree *t)
{
	free(t->nodes);
	*t = (struct span_tree){ 0 };
}

static int no_memory(struct weft_err *err)
{
	return weft_fail(err, -ENOMEM, "out of memory for the spans");
}

static bool take_id(sqlite3_stmt *stmt, int column, uint8_t id[8])
{
	const void *blob = sqlite3_column_blob(stmt, column);

	if (!blob || sqlite3_column_bytes(stmt, column) != 8)
		return false;
	memcpy(id, blob, 8);
	return true;
}

static int load_nodes(struct span_tree *t, struct db *db, int64_t trace,
		      struct weft_err *err)
{
	size_t room = 0;
	sqlite3_stmt *stmt;
	int rc = db_query(db, QUERY_SQL_SPANS_OF_TRACE, &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, trace);
	while ((rc = db_step(db, stmt, err)) > 0) {
		struct span_node *node;

		if (t->n == SPANS_MAX) {
			t->is_cut = true;
			return 0;
		}
		if (t->n == room) {
			room = room ? 2 * room : 64;
			node = reallocarray(t->nodes, room, sizeof(*node));
			if (!node)
				return no_memory(err);
			t->nodes = node;
		}
		node = &t->nodes[t->n];
		*node = (struct span_node){
			.start_ns = db_time(stmt, 5),
			.end_ns = db_time(stmt, 6),
			.parent = SIZE_MAX,
			.hot_stack = -1,
		};
		if (!take_id(stmt, 0, node->id))
			continue; /* damage: the column is checked */
		node->has_parent = take_id(stmt, 1, node->parent_id);
		db_copy_text(stmt, 2, node->service, sizeof(node->service));
		db_copy_text(stmt, 3, node->name, sizeof(node->name));
		db_copy_text(stmt, 4, node->kind, sizeof(node->kind));
		db_copy_text(stmt, 7, node->status, sizeof(node->status));
		t->n++;
	}
	return rc;
}

/* Indexes of nodes by span ID, for searching. */
struct by_id {
	const struct span_node *nodes;
	size_t *index; /* owned */
	size_t n;
};

static int compare_ids(const void *a, const void *b, void *ctx)
{
	const struct span_node *nodes = ctx;

	return memcmp(nodes[*(const size_t *)a].id,
		      nodes[*(const size_t *)b].id, 8);
}

static int by_id_make(struct by_id *ids, const struct span_tree *t,
		      struct weft_err *err)
{
	*ids = (struct by_id){ .nodes = t->nodes, .n = t->n };
	ids->index = calloc(t->n + 1, sizeof(*ids->index));
	if (!ids->index)
		return no_memory(err);
	for (size_t i = 0; i < t->n; i++)
		ids->index[i] = i;
	qsort_r(ids->index, t->n, sizeof(*ids->index), compare_ids, t->nodes);
	return 0;
}

/* SIZE_MAX: there is none. */
static size_t by_id_find(const struct by_id *ids, const uint8_t id[8])
{
	size_t low = 0, high = ids->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = memcmp(ids->nodes[ids->index[middle]].id, id, 8);

		if (!order)
			return ids->index[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

/* Parents that lead in a circle lead nowhere: cut it once. */
static void cut_circles(struct span_tree *t, uint8_t *state)
{
	enum {
		NEW,
		ON_THE_WAY,
		DONE
	};

	for (size_t i = 0; i < t->n; i++) {
		size_t at = i, last = SIZE_MAX;

		while (at != SIZE_MAX && state[at] == NEW) {
			state[at] = ON_THE_WAY;
			last = at;
			at = t->nodes[at].parent;
		}
		if (at != SIZE_MAX && state[at] == ON_THE_WAY)
			t->nodes[last].parent = SIZE_MAX;
		for (at = i; at != SIZE_MAX && state[at] == ON_THE_WAY;
		     at = t->nodes[at].parent)
			state[at] = DONE;
	}
}

static int link_parents(struct span_tree *t, struct weft_err *err)
{
	uint8_t *state = calloc(t->n + 1, sizeof(*state));
	struct by_id ids;
	int rc = state ? by_id_make(&ids, t, err) : no_memory(err);

	if (rc) {
		free(state);
		return rc;
	}
	for (size_t i = 0; i < t->n; i++)
		if (t->nodes[i].has_parent)
			t->nodes[i].parent =
				by_id_find(&ids, t->nodes[i].parent_id);
	cut_circles(t, state);
	free(ids.index);
	free(state);
	return 0;
}

/*
 * Put nodes in the order of the tree. They come by start, so that children
 * are found in the right order by walking a list of each parent's.
 */
static int order(struct span_tree *t, struct weft_err *err)
{
	size_t *child = malloc((t->n + 1) * sizeof(*child)); /* of a parent */
	size_t *next = malloc((t->n + 1) * sizeof(*next));   /* sibling */
	size_t *place = malloc((t->n + 1) * sizeof(*place)); /* new index */
	struct span_node *sorted = calloc(t->n + 1, sizeof(*sorted));
	size_t roots = SIZE_MAX, at, n = 0;
	int rc = child && next && place && sorted ? 0 : no_memory(err);

	for (size_t i = 0; i < t->n && !rc; i++)
		child[i] = SIZE_MAX;
	for (size_t i = t->n; i-- && !rc;) {
		size_t *list = t->nodes[i].parent == SIZE_MAX
				       ? &roots
				       : &child[t->nodes[i].parent];

		next[i] = *list;
		*list = i;
	}
	at = roots;
	while (!rc && at != SIZE_MAX) {
		size_t parent = t->nodes[at].parent;

		place[at] = n;
		sorted[n] = t->nodes[at];
		if (parent != SIZE_MAX) {
			sorted[n].parent = place[parent];
			sorted[n].depth = sorted[place[parent]].depth + 1;
		}
		n++;
		if (child[at] != SIZE_MAX) {
			at = child[at];
			continue;
		}
		while (at != SIZE_MAX && next[at] == SIZE_MAX)
			at = t->nodes[at].parent;
		if (at != SIZE_MAX)
			at = next[at];
	}
	free(child);
	free(next);
	free(place);
	if (rc) {
		free(sorted);
		return rc;
	}
	free(t->nodes);
	t->nodes = sorted;
	return 0;
}

static int add_heat(struct heats *h, size_t node, int64_t stack_id,
		    double weight, struct weft_err *err)
{
	struct heat *bigger;

	if (h->n == h->room) {
		h->room = h->room ? 2 * h->room : 256;
		bigger = reallocarray(h->heat, h->room, sizeof(*bigger));
		if (!bigger)
			return no_memory(err);
		h->heat = bigger;
	}
	h->heat[h->n++] = (struct heat){ node, stack_id, weight };
	return 0;
}

static int load_part(struct span_tree *t, struct report *r, size_t part,
		     int64_t trace, const struct by_id *ids,
		     const struct open_spans *open, struct heats *h,
		     struct weft_err *err)
{
	sqlite3_stmt *stmt;
	int rc = range_query(&r->range, part, r->db, QUERY_SQL_SPANS_SAMPLES,
			     &stmt, err);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 5, trace);
	while ((rc = db_step(r->db, stmt, err)) > 0) {
		struct tally tally =
			ledger_sample(&r->ledger, sqlite3_column_int64(stmt, 3),
				      sqlite3_column_double(stmt, 4),
				      sqlite3_column_double(stmt, 5));
		size_t node = SIZE_MAX;
		uint8_t id[8];

		if (take_id(stmt, 0, id))
			node = by_id_find(ids, id);
		if (node == SIZE_MAX)
			node = open_spans_at(open,
					     sqlite3_column_int64(stmt, 1));
		if (node == SIZE_MAX) {
			tally_add(&t->outside, &tally);
			continue;
		}
		tally_add(&t->nodes[node].self, &tally);
		rc = add_heat(h, node, sqlite3_column_int64(stmt, 2),
			      tally.weight, err);
		if (rc)
			return rc;
	}
	return rc;
}

static int compare_heat(const void *a, const void *b)
{
	const struct heat *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->stack_id < y->stack_id ? -1 : x->stack_id > y->stack_id;
}

/* The stack on which most of each span's samples are. */
static void find_hottest(struct span_tree *t, struct heats *h)
{
	size_t node = SIZE_MAX;
	double most = 0;

	if (h->n)
		qsort(h->heat, h->n, sizeof(*h->heat), compare_heat);
	for (size_t i = 0; i < h->n;) {
		const struct heat *first = &h->heat[i];
		double sum = 0;

		while (i < h->n && !compare_heat(first, &h->heat[i]))
			sum += h->heat[i++].weight;
		if (first->node != node)
			most = 0;
		node = first->node;
		if (sum > most) {
			most = sum;
			t->nodes[node].hot_stack = first->stack_id;
		}
	}
}

static int load_samples(struct span_tree *t, struct report *r, int64_t trace,
			struct weft_err *err)
{
	struct open_spans open = { 0 };
	struct heats heats = { 0 };
	struct by_id ids;
	int rc = by_id_make(&ids, t, err);

	if (!rc && open_spans_make(&open, t->nodes, t->n))
		rc = no_memory(err);
	for (size_t i = 0; i < r->range.n_parts && !rc; i++)
		rc = load_part(t, r, i, trace, &ids, &open, &heats, err);
	if (!rc)
		find_hottest(t, &heats);
	free(heats.heat);
	free(ids.index);
	open_spans_release(&open);
	/* Children come after their parents. */
	for (size_t i = t->n; i-- && !rc;) {
		struct span_node *node = &t->nodes[i];

		tally_add(&node->total, &node->self);
		if (node->parent != SIZE_MAX)
			tally_add(&t->nodes[node->parent].total, &node->total);
	}
	return rc;
}

int span_tree_load(struct span_tree *t, struct report *r, int64_t trace,
		   struct weft_err *err)
{
	int rc;

	*t = (struct span_tree){ 0 };
	rc = load_nodes(t, r->db, trace, err);
	if (!rc && t->n) {
		rc = link_parents(t, err);
		if (!rc)
			rc = order(t, err);
		if (!rc)
			rc = load_samples(t, r, trace, err);
	}
	if (rc)
		span_tree_release(t);
	return rc;
}

/* What a tally says of CPU time: its interval, "-" without a sample. */
static const char *used(struct figure *to, const struct tally *tally,
			const char *unit)
{
	double k = (double)tally->count;

	if (!tally->count)
		return "-";
	return figure_value_interval(
		to, stats_request_ns(k, tally->estimate / k, true), unit);
}

static void print_name(const struct span_tree *t, size_t i, char *out,
		       size_t size)
{
	const struct span_node *node = &t->nodes[i];
	size_t indent = node->depth < DEPTH_SHOWN ? node->depth : DEPTH_SHOWN;
	const struct span_node *up =
		node->parent == SIZE_MAX ? NULL : &t->nodes[node->parent];
	bool is_new = !up || strcmp(up->service, node->service) != 0;

	snprintf(out, size, "%*s%s%s%s%s", (int)(2 * indent), "",
		 is_new ? node->service : "",
		 is_new && *node->service ? ": " : "",
		 *node->name ? node->name : "(no name)",
		 strcmp(node->status, "error") == 0 ? " [error]" : "");
}

static void print_hot(const struct span_node *node, const struct stacks *stacks,
		      struct table *table)
{
	table_text(table, node->hot_stack < 0
				  ? "-"
				  : stacks_leaf(stacks, node->hot_stack));
}

int span_tree_print(const struct span_tree *t, const struct report *r,
		    const struct stacks *stacks, struct weft_err *err)
{
	static const struct table_column columns[] = {
		{ "START", TABLE_RIGHT },          { "DURATION", TABLE_RIGHT },
		{ "SAMPLES", TABLE_RIGHT },        { "SELF 95 %", TABLE_RIGHT },
		{ "TOTAL 95 %", TABLE_RIGHT },     { "SPAN", TABLE_LEFT },
		{ "MOST OF SELF IN", TABLE_LEFT },
	};
	const char *unit = r->range.unit;
	struct table *table;
	char name[512];
	int rc;

	if (!t->n)
		return 0;
	table = table_new(columns, ARRAY_LEN(columns));
	if (!table)
		return no_memory(err);
	for (size_t i = 0; i < t->n; i++) {
		const struct span_node *node = &t->nodes[i];
		int64_t start = node->start_ns - t->nodes[0].start_ns;
		int64_t length = node->end_ns - node->start_ns;

		print_name(t, i, name, sizeof(name));
		table_text(table, node->start_ns
					  ? FIGURE(figure_ns, (double)start)
					  : "-");
		table_text(table, node->start_ns && length >= 0
					  ? FIGURE(figure_ns, (double)length)
					  : "-");
		table_text(table,
			   FIGURE(figure_count, (double)node->self.count));
		table_text(table, FIGURE(used, &node->self, unit));
		table_text(table, FIGURE(used, &node->total, unit));
		table_text(table, name);
		print_hot(node, stacks, table);
	}
	rc = report_print_table(table, err);
	table_free(table);
	if (!rc && t->outside.count)
		printf("%s samples (%s) in none of its spans\n",
		       FIGURE(figure_count, (double)t->outside.count),
		       FIGURE(used, &t->outside, unit));
	if (!rc && t->is_cut)
		printf("only the first %d spans\n", SPANS_MAX);
	putchar('\n');
	return rc;
}

static void json_id(struct json *j, const char *key, const uint8_t id[8])
{
	char hex[17];

	weft_hex(hex, id, 8);
	json_text(j, key, hex);
}

static void json_tally(struct json *j, const char *name,
		       const struct tally *tally, const char *unit)
{
	char key[64];
	double k = (double)tally->count;

	snprintf(key, sizeof(key), "%s_samples", name);
	json_int(j, key, (int64_t)tally->count);
	snprintf(key, sizeof(key), "%s_estimate_%s", name, unit);
	json_real(j, key, tally->estimate);
	if (tally->count)
		json_interval(j, key,
			      stats_request_ns(k, tally->estimate / k, true));
}

void span_tree_json(const struct span_tree *t, const struct report *r,
		    struct json *j)
{
	json_array(j, "spans");
	for (size_t i = 0; i < t->n; i++) {
		const struct span_node *node = &t->nodes[i];

		json_object(j, NULL);
		json_id(j, "span_id", node->id);
		if (node->has_parent)
			json_id(j, "parent_span_id", node->parent_id);
		else
			json_null(j, "parent_span_id");
		json_int(j, "depth", (int64_t)node->depth);
		json_text(j, "service", *node->service ? node->service : NULL);
		json_text(j, "name", *node->name ? node->name : NULL);
		json_text(j, "kind", *node->kind ? node->kind : NULL);
		json_text(j, "status", *node->status ? node->status : NULL);
		json_int(j, "start_unix_ns", node->start_ns);
		json_int(j, "end_unix_ns", node->end_ns);
		json_tally(j, "self", &node->self, r->range.unit);
		json_tally(j, "total", &node->total, r->range.unit);
		json_end_object(j);
	}
	json_end_array(j);
	json_tally(j, "outside_spans", &t->outside, r->range.unit);
}

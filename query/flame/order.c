/* SPDX-License-Identifier: MIT */
/*
 * The order in which a tree is drawn, and what is left out of it. Nodes are
 * numbered anew: each before its children, of these the larger first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/flame/flame.h"

/* Beside each node while it is put in order. */
struct place {
	double size; /* the sum of its shares of the main layers */
	uint32_t child, sibling;
	uint32_t to;   /* its new number */
	uint32_t rest; /* the new number of its [smaller frames] */
	bool is_folded;
	bool has_rest; /* children of it are folded */
};

struct order {
	struct flame *f;
	struct place *places;     /* owned */
	uint32_t *sorted;         /* owned: nodes, by parent and size */
	struct flame_node *nodes; /* owned: the new ones */
	size_t n_nodes;
	uint32_t rest_frame;
};

static void add_sizes(struct order *o, size_t n_main)
{
	const struct flame *f = o->f;
	size_t i, k;

	for (k = 0; k < n_main && k < f->n_layers; k++) {
		const struct flame_layer *l = &f->layers[k];

		for (i = 0; i < l->n; i++)
			o->places[l->rows[i].node].size +=
				tally_share(&l->rows[i].tally, &l->all);
	}
	for (i = f->n_nodes; i-- > 1;)
		o->places[f->nodes[i].parent].size += o->places[i].size;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* Fold what is no larger than the first that is too many. A node is never
 * larger than its parent, so what stays is a tree. */
static int fold_small(struct order *o, size_t most)
{
	size_t n = o->f->n_nodes, i;
	double *sizes, limit;

	if (n <= most)
		return 0;
	sizes = malloc(n * sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		sizes[i] = o->places[i].size;
	qsort(sizes, n, sizeof(*sizes), by_size);
	limit = sizes[most];
	free(sizes);
	for (i = 1; i < n; i++) {
		struct place *p = &o->places[i];

		/* Sums of parts may differ from each other by roundings. */
		p->is_folded = o->places[o->f->nodes[i].parent].is_folded ||
			       p->size <= limit;
		o->f->n_folded += p->is_folded;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *o = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct flame_node *n = o->f->nodes;
	const struct flame_frame *frames = o->f->frames;
	int order;

	if (n[x].parent != n[y].parent)
		return n[x].parent < n[y].parent ? -1 : 1;
	if (o->places[x].size != o->places[y].size)
		return o->places[x].size > o->places[y].size ? -1 : 1;
	order = strcmp(frames[n[x].frame].name, frames[n[y].frame].name);
	if (!order)
		order = strcmp(frames[n[x].frame].binary,
			       frames[n[y].frame].binary);
	if (!order)
		order = x < y ? -1 : x > y;
	return order;
}

/* Hang the nodes that stay below their parents, in order. */
static void link_children(struct order *o)
{
	size_t n = o->f->n_nodes, i;
	uint32_t node;

	for (i = 0; i < n; i++) {
		o->sorted[i] = (uint32_t)i;
		o->places[i].child = o->places[i].sibling = FLAME_NONE;
		o->places[i].rest = FLAME_NONE;
	}
	qsort_r(o->sorted + 1, n - 1, sizeof(*o->sorted), compare, o);
	for (i = n; i-- > 1;) {
		struct place *up;

		node = o->sorted[i];
		up = &o->places[o->f->nodes[node].parent];
		if (o->places[node].is_folded) {
			up->has_rest = true;
			continue;
		}
		o->places[node].sibling = up->child;
		up->child = node;
	}
}

static uint32_t put(struct order *o, uint32_t parent, uint32_t frame,
		    uint32_t depth)
{
	o->nodes[o->n_nodes] = (struct flame_node){ parent, frame, depth };
	return (uint32_t)o->n_nodes++;
}

static void enter(struct order *o, uint32_t node)
{
	const struct flame_node *n = &o->f->nodes[node];

	o->places[node].to =
		put(o, node ? o->places[n->parent].to : 0, n->frame, n->depth);
}

/* All its children are there. */
static void leave(struct order *o, uint32_t node)
{
	struct place *p = &o->places[node];

	if (p->has_rest)
		p->rest = put(o, p->to, o->rest_frame,
			      o->f->nodes[node].depth + 1);
}

/* Number the nodes anew, without recursion: depth costs no memory. */
static void renumber(struct order *o)
{
	const struct flame_node *n = o->f->nodes;
	uint32_t at = 0;

	enter(o, at);
	for (;;) {
		if (o->places[at].child != FLAME_NONE) {
			at = o->places[at].child;
			enter(o, at);
			continue;
		}
		leave(o, at);
		while (at && o->places[at].sibling == FLAME_NONE) {
			at = n[at].parent;
			leave(o, at);
		}
		if (!at)
			return;
		at = o->places[at].sibling;
		enter(o, at);
	}
}

/* Parents come first, so a folded one knows already where it went. */
static void follow(struct order *o)
{
	size_t i;

	for (i = 1; i < o->f->n_nodes; i++) {
		struct place *p = &o->places[i];
		const struct place *up = &o->places[o->f->nodes[i].parent];

		if (p->is_folded)
			p->to = up->is_folded ? up->to : up->rest;
	}
}

static void move(const struct order *o, struct flame_layer *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->rows[i].node = o->places[l->rows[i].node].to;
	flame_merge(l);
}

int flame_finish(struct flame *f, size_t n_main, size_t most)
{
	struct order o = { .f = f };
	size_t i;
	int rc = -ENOMEM;

	o.places = calloc(f->n_nodes, sizeof(*o.places));
	o.sorted = calloc(f->n_nodes, sizeof(*o.sorted));
	o.nodes = calloc(2 * f->n_nodes, sizeof(*o.nodes));
	if (!o.places || !o.sorted || !o.nodes)
		goto out;
	add_sizes(&o, n_main);
	o.rest_frame = flame_frame(f, "[smaller frames]", "", FLAME_MARK);
	if (fold_small(&o, most) || o.rest_frame == FLAME_NONE)
		goto out;
	link_children(&o);
	renumber(&o);
	follow(&o);
	for (i = 0; i < f->n_layers; i++)
		move(&o, &f->layers[i]);
	free(f->nodes);
	f->nodes = o.nodes;
	f->n_nodes = o.n_nodes;
	o.nodes = NULL;
	rc = 0;
out:
	free(o.nodes);
	free(o.sorted);
	free(o.places);
	return rc;
}

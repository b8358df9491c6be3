/* SPDX-License-Identifier: MIT */
/* A walk along time from start to start and end to end, with a heap of the
 * spans that have started, the innermost on top; those that have ended are
 * taken off when they come up. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "query/open_spans.h"
#include "query/span_tree.h"

struct heap {
	const struct span_node *nodes;
	size_t *at; /* owned: indexes of nodes */
	size_t n;
};

static bool is_inner(const struct heap *h, size_t a, size_t b)
{
	const struct span_node *x = &h->nodes[a], *y = &h->nodes[b];

	if (x->depth != y->depth)
		return x->depth > y->depth;
	return x->start_ns != y->start_ns ? x->start_ns > y->start_ns : a > b;
}

static void swap(struct heap *h, size_t a, size_t b)
{
	size_t keep = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = keep;
}

static void push(struct heap *h, size_t node)
{
	size_t i = h->n++;

	h->at[i] = node;
	for (; i && is_inner(h, h->at[i], h->at[(i - 1) / 2]); i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void pop(struct heap *h)
{
	size_t i = 0, below;

	h->at[0] = h->at[--h->n];
	for (; (below = 2 * i + 1) < h->n; i = below) {
		if (below + 1 < h->n &&
		    is_inner(h, h->at[below + 1], h->at[below]))
			below++;
		if (!is_inner(h, h->at[below], h->at[i]))
			return;
		swap(h, i, below);
	}
}

static int compare_steps(const void *a, const void *b)
{
	const struct open_step *x = a, *y = b;

	return x->unix_ns < y->unix_ns ? -1 : x->unix_ns > y->unix_ns;
}

static bool has_time(const struct span_node *node)
{
	return node->start_ns && node->end_ns >= node->start_ns &&
	       node->end_ns < INT64_MAX;
}

/* Steps come as what starts (a node) or ends (SIZE_MAX), and leave as what is
 * open from there on. */
static void walk(struct open_spans *o, struct heap *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->n;) {
		int64_t now = o->steps[i].unix_ns;

		for (; i < o->n && o->steps[i].unix_ns == now; i++)
			if (o->steps[i].node != SIZE_MAX)
				push(h, o->steps[i].node);
		while (h->n && h->nodes[h->at[0]].end_ns < now)
			pop(h);
		o->steps[kept++] =
			(struct open_step){ now, h->n ? h->at[0] : SIZE_MAX };
	}
	o->n = kept;
}

int open_spans_make(struct open_spans *o, const struct span_node *nodes,
		    size_t n)
{
	struct heap heap = { .nodes = nodes };

	*o = (struct open_spans){ 0 };
	heap.at = calloc(n + 1, sizeof(*heap.at));
	o->steps = calloc(2 * n + 1, sizeof(*o->steps));
	if (!heap.at || !o->steps) {
		free(heap.at);
		open_spans_release(o);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		if (!has_time(&nodes[i]))
			continue;
		o->steps[o->n++] = (struct open_step){ nodes[i].start_ns, i };
		o->steps[o->n++] =
			(struct open_step){ nodes[i].end_ns + 1, SIZE_MAX };
	}
	qsort(o->steps, o->n, sizeof(*o->steps), compare_steps);
	walk(o, &heap);
	free(heap.at);
	return 0;
}

size_t open_spans_at(const struct open_spans *o, int64_t unix_ns)
{
	size_t low = 0, high = o->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (o->steps[middle].unix_ns <= unix_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? o->steps[low - 1].node : SIZE_MAX;
}

void open_spans_release(struct open_spans *o)
{
	free(o->steps);
	*o = (struct open_spans){ 0 };
}

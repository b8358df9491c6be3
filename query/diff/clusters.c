/* SPDX-License-Identifier: MIT */
/*
 * Samples that were read, added up. They are sorted by request, and one request
 * after the other is added, since each is a cluster: by the weights of its
 * samples. The other sums do not depend on clusters, and are kept by stack.
 *
 * What takes the time is to wait for memory. So half of the requests are added
 * on a second thread, and the sums of both put together.
 */
#include <errno.h>
#include <stdlib.h>

#include "query/diff/requests.h"
#include "query/thread.h"

enum {
	AHEAD = 8 /* samples, of which what is needed is asked for */
};

/* What each stack adds to: they were found as the stacks came. */
static int find_items(struct loading *l)
{
	for (size_t i = 0; i < l->ids.n; i++) {
		struct stack *s = &l->stacks[i];

		s->items = diff_items_of(l->d->items, 0, s->id, &s->n_items);
		if (!s->items)
			return -ENOMEM;
	}
	return 0;
}

/* What the stacks come to over all requests. */
static int add_stacks(struct loading *l)
{
	struct compare *c = &l->d->compare;

	for (size_t i = 0; i < l->ids.n; i++)
		for (int side = 0; side < COMPARE_SIDES; side++) {
			const struct stack *s = &l->stacks[i];
			const struct tally *tally = &l->tally[i].side[side];

			if (!tally->count)
				continue;
			tally_add(&c->set[side].all, tally);
			if (compare_add_sums(c, side, s->items, s->n_items,
					     tally))
				return -ENOMEM;
		}
	return 0;
}

/* Put the samples of each request together. Returns 0 or -ENOMEM. */
static int sort_samples(struct loading *l)
{
	uint32_t end = 0;

	l->sorted = malloc((l->n_samples + 1) * sizeof(*l->sorted));
	if (!l->sorted)
		return -ENOMEM;
	for (size_t i = 0; i < l->traces.sums.n; i++) {
		end += l->requests[i].n;
		l->requests[i].first = end;
	}
	/* The last comes first. */
	for (size_t i = 0; i < l->n_samples; i++) {
		const struct sample *s = &l->samples[i];

		l->sorted[--l->requests[s->request].first] =
			(struct sorted){ s->stack, s->weight };
	}
	free(l->samples);
	l->samples = NULL;
	return 0;
}

/* The samples of a request into the cluster at hand. */
static int add_samples(const struct loading *l, const struct request *r,
		       struct compare *to)
{
	int rc = 0;

	for (size_t i = r->first; i < (size_t)r->first + r->n && !rc; i++) {
		const struct sorted *s = &l->sorted[i];
		const struct stack *k = &l->stacks[s->stack];

		if (i + AHEAD < l->n_samples)
			__builtin_prefetch(
				l->stacks[l->sorted[i + AHEAD].stack].items);
		to->weight_now += s->weight;
		rc = compare_add_weight(to, k->items, k->n_items, s->weight);
	}
	return rc;
}

/* How the request at hand stands to the one that is looked at. */
static void rank(struct diff *d, const struct request *r,
		 const struct request *one)
{
	if (r->n < one->n)
		return;
	d->peers++;
	for (size_t i = 0; i < d->n_ranks; i++) {
		struct diff_rank *to = &d->ranks[i];
		double all = d->compare.weight_now * (1 - 1e-9);

		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->at_least[kind] +=
				compare_now(&d->compare, kind, to->item) >=
				to->share[kind] * all;
	}
}

/* The one request comes first: its items are what others are ranked in. */
static int add_one(struct loading *l, const struct request *one)
{
	struct compare *c = &l->d->compare;
	const struct compare_gathering *on = &c->gathering[COMPARE_TOTAL];
	int rc = add_samples(l, one, c);

	if (rc)
		return rc;
	l->d->ranks = calloc(on->n_open + 1, sizeof(*l->d->ranks));
	if (!l->d->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < on->n_open; i++) {
		struct diff_rank *to = &l->d->ranks[l->d->n_ranks++];

		to->item = on->open[i];
		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			to->share[kind] =
				compare_now(c, kind, to->item) / c->weight_now;
	}
	compare_end_cluster(c, COMPARE_SECOND, 1);
	return 0;
}

/* The others, each looked at beside the one. */
static int add_beside(struct loading *l, const struct request *one)
{
	struct diff *d = l->d;
	int rc = add_one(l, one);

	for (size_t i = 0; i < l->traces.sums.n && !rc; i++) {
		const struct request *r = &l->requests[i];

		if (r == one || r->side == NOWHERE)
			continue;
		rc = add_samples(l, r, &d->compare);
		if (!rc)
			rank(d, r, one);
		compare_end_cluster(&d->compare, r->side, 1);
	}
	return rc;
}

/* Some of the requests, and what they come to. */
struct half {
	const struct loading *l;
	size_t from, until; /* in l->requests */
	struct compare *to;
	int rc;
};

static void *add_half(void *ctx)
{
	struct half *h = ctx;

	for (size_t i = h->from; i < h->until && !h->rc; i++) {
		const struct request *r = &h->l->requests[i];

		if (r->side == NOWHERE)
			continue;
		h->rc = add_samples(h->l, r, h->to);
		compare_end_cluster(h->to, r->side, 1);
	}
	return NULL;
}

/* Always in halves, thread or none, so that the sums are always the same. */
static int add_halves(struct loading *l)
{
	struct compare *c = &l->d->compare;
	struct compare other = { 0 };
	size_t n = l->traces.sums.n;
	struct half first = { l, 0, n / 2, c, 0 };
	struct half second = { l, n / 2, n, &other, 0 };
	pthread_t thread;
	bool has_thread = thread_start(&thread, add_half, &second);
	int rc;

	add_half(&first);
	if (has_thread)
		pthread_join(thread, NULL);
	else
		add_half(&second);
	rc = first.rc ? first.rc : second.rc;
	if (!rc)
		rc = compare_merge(c, &other);
	compare_release(&other);
	return rc;
}

int clusters_add(struct loading *l, const struct request *one)
{
	int rc = find_items(l);

	if (!rc)
		rc = add_stacks(l);
	if (!rc)
		rc = sort_samples(l);
	if (!rc)
		rc = one ? add_beside(l, one) : add_halves(l);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Two sets of samples against each other, item by item: an item is a function
 * or a stack. What is said is about the program, not about these recordings:
 * samples come in clusters (blocks of time, or requests) whose own samples are
 * alike, so that only how clusters vary tells what another recording would
 * show.
 *
 * Zero it, add the clusters of both sides one after the other, finish, read
 * the answers. No SQL, no names.
 */
#ifndef WEFT_COMPARE_H
#define WEFT_COMPARE_H

#include "query/diff/compare_stats.h"
#include "store/weft.h"

enum compare_kind {
	COMPARE_SELF, /* the item was the innermost */
	COMPARE_TOTAL,
	COMPARE_KINDS
};

enum compare_side {
	COMPARE_FIRST, /* what it is compared with */
	COMPARE_SECOND,
	COMPARE_SIDES
};

enum {
	COMPARE_FEW_BLOCKS = 10,
	COMPARE_FEW_REQUESTS = 50
};

/* The rule by which nothing is said. */
enum compare_rule {
	COMPARE_SAID,
	COMPARE_NO_SAMPLES,   /* on one side */
	COMPARE_FEW_CLUSTERS, /* on one side */
	COMPARE_FEW_SAMPLES   /* that have the item, or that lack it: no p could
				 be small enough */
};

/* Sums over clusters: an item's weights k_i, those n_i of all, exposures. */
struct compare_spread {
	double k_sq, kn, ke;
	uint32_t having, nothing_else; /* clusters with k_i > 0, k_i = n_i */
};

/* What an item had on one side. */
struct compare_part {
	struct tally tally;
	struct compare_spread spread; /* from compare_finish() on */
};

struct compare_answer {
	double share[COMPARE_SIDES];
	/* Of the program; of these samples where they are of one cluster. */
	struct stats_interval share_in[COMPARE_SIDES];
	double difference; /* of shares: second - first */
	struct stats_interval difference_in;
	double p, q;                 /* q: adjusted for all that were tested */
	double rate[COMPARE_SIDES];  /* estimate by exposure */
	struct stats_interval ratio; /* of rates: second / first */
	enum compare_rule rule;      /* else than COMPARE_SAID: no interval of a
					difference or ratio, no p, no q */
};

struct compare_item {
	struct compare_part part[COMPARE_KINDS][COMPARE_SIDES];
	struct compare_answer answer[COMPARE_KINDS];
};

/* Of the cluster at hand, and of those that are over: apart from the rest, so
 * that what is touched for each sample, or for each cluster, lies together. */
struct compare_gathering {
	double *now; /* owned; parallel to items: their weights */
	struct compare_spread *spread[COMPARE_SIDES]; /* owned; the same */
	uint32_t *open; /* owned: items that have some now; room for all */
	size_t n_open;
};

/* One of the two sets. */
struct compare_set {
	struct tally all;
	double clusters; /* with samples or without */
	double sampled;  /* of them have samples */
	double n_sq;     /* sum n_i^2 */
	double exposure, exposure_sq;
	double effect[COMPARE_KINDS]; /* design effect, over all items */
	double freedom; /* of how clusters vary: 1 and more, or infinite */
	double student;
};

struct compare {
	double least_clusters; /* input: with fewer nothing is said */
	struct compare_set set[COMPARE_SIDES];
	struct compare_item *items; /* owned */
	struct compare_gathering gathering[COMPARE_KINDS];
	size_t n_items, room;
	double weight_now; /* of the cluster at hand */
	double tests[COMPARE_KINDS];
	enum compare_rule rule; /* of all items */
};

void compare_release(struct compare *c);

/* Count a sample, or several alike, in the cluster at hand of a side. */
void compare_add_all(struct compare *c, enum compare_side side,
		     const struct tally *tally);

/*
 * The items that they were on, each once; the first is the innermost. Returns 0
 * or -ENOMEM. In two halves for who has very many samples: their weight in the
 * cluster at hand, and, at any time, what they come to over all clusters.
 */
int compare_add(struct compare *c, enum compare_side side,
		const uint32_t *items, size_t n, const struct tally *tally);
int compare_add_weight(struct compare *c, const uint32_t *items, size_t n,
		       double weight);
int compare_add_sums(struct compare *c, enum compare_side side,
		     const uint32_t *items, size_t n,
		     const struct tally *tally);

/* The weight of an item in the cluster at hand. */
static inline double compare_now(const struct compare *c,
				 enum compare_kind kind, uint32_t item)
{
	return item < c->n_items ? c->gathering[kind].now[item] : 0;
}

/* The cluster at hand is over. exposure: how long it was, in any unit, or 1 of
 * a request. */
void compare_end_cluster(struct compare *c, enum compare_side side,
			 double exposure);

/* Add the clusters of another, all of them over, and its sums. Returns 0 or
 * -ENOMEM. */
int compare_merge(struct compare *c, const struct compare *other) MUST_CHECK;

/* Fill the answers, and what is said of all. Returns 0 or -ENOMEM. */
int compare_finish(struct compare *c) MUST_CHECK;

/* The smallest difference to a share that would have been found. */
double compare_least_difference(const struct compare *c, enum compare_kind kind,
				double share);

#endif

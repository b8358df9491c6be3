/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of samples: how sure is a number. All intervals are 95 %,
 * two-sided, and speak of this recording (not of the program in general)
 * unless said otherwise. No state, no SQL; any thread.
 */
#ifndef WEFT_STATS_H
#define WEFT_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct stats_interval {
	double lo, hi;
};

/*
 * What was added up over some samples. For shape, which is exact, weight =
 * weight_sq = count and estimate = value. For detail a sample of weight w
 * adds 1, w, w^2 and w * value.
 */
struct tally {
	uint64_t count; /* samples */
	double weight, weight_sq;
	double estimate; /* in the event's unit */
};

static inline void tally_add(struct tally *to, const struct tally *more)
{
	to->count += more->count;
	to->weight += more->weight;
	to->weight_sq += more->weight_sq;
	to->estimate += more->estimate;
}

/* A tally of shape: count firings that sum to value. */
struct tally tally_of_shape(uint64_t count, uint64_t value);

/*
 * Where samples differ in value (how long a block was), what has a share is the
 * value: make it the weight. Sums of such tallies have the effective number of
 * samples of Kish 1965.
 */
void tally_by_value(struct tally *t);

/* part's share of all: the ratio of weights (Hajek 1971); 0 of nothing. */
double tally_share(const struct tally *part, const struct tally *all);

/* As many independent samples of equal weight there are: the effective number
 * (sum w)^2 / sum w^2 (Kish 1965); 0 of nothing. */
double tally_samples(const struct tally *t);

/*
 * The interval of tally_share(), for a row of a table that lists only what
 * was found: stats_share_listed() on the effective numbers of samples
 * n = tally_samples() of all and k = share * n.
 */
struct stats_interval tally_share_interval(const struct tally *part,
					   const struct tally *all);

/*
 * Limits of a Poisson mean of which k events were seen; k may be real.
 * Wilson-Hilferty's form of Garwood's exact limits (Breslow, Day 1987).
 */
struct stats_interval stats_count(double k);

/*
 * The same for something that is listed because k >= 1: up to k = 5 the lower
 * limit is that of a zero-truncated Poisson, the mean m with
 * P(K >= k | K >= 1) = 0.025.
 */
struct stats_interval stats_count_listed(double k);

/*
 * A share of which k of n independent samples were seen: Wilson 1927, where
 * fewer than 10 are on one side mended with stats_count() (after Brown, Cai,
 * DasGupta 2001). n = 0 gives [0, 1].
 */
struct stats_interval stats_share(double k, double n);

/* The same for another quantile than that of 95 %. */
struct stats_interval stats_share_at(double k, double n, double z);

/* Student's t, two-sided 95 %, for whole degrees of freedom; infinite for less
 * than 1. */
double stats_student(double freedom);

/* stats_share() with the lower limits of stats_count_listed(). */
struct stats_interval stats_share_listed(double k, double n);

/*
 * What of samples in clusters (requests, whose own samples are alike) tells
 * how much they vary: over clusters with n_i samples, k_i of them of interest.
 * All in weights, as tallies have them.
 */
struct stats_clusters {
	double m;            /* clusters that have samples at all */
	double n_sq;         /* sum n_i^2 */
	double k_sq;         /* sum k_i^2 */
	double kn;           /* sum k_i n_i */
	double having;       /* clusters with k_i > 0 */
	double nothing_else; /* clusters with k_i = n_i */
};

/* The variance of a share between clusters, around a share that is taken for
 * true: the linearised ratio. Of two clusters and more. */
double stats_between(const struct stats_clusters *c, const struct tally *all,
		     double share);

/* Fewer than 5 clusters have it, or lack it: too few to tell how it varies. */
bool stats_is_rare(const struct stats_clusters *c);

/*
 * The share of part of all, for requests like these, of which clusters had
 * samples: stats_share() of the numbers that as many independent samples would
 * have, by the design effect (Kish 1965) of the linearised ratio, and with
 * Student's t in place of z. Where fewer than 5 clusters have it, or lack it,
 * each cluster counts as one sample. With one cluster [0, 1].
 */
struct stats_interval stats_share_clustered(const struct tally *part,
					    const struct tally *all,
					    const struct stats_clusters *c);

/* Upper 95 % bound (one-sided) of the share of what was not seen among n
 * samples: 1 - 0.05^(1/n), about 3/n (Hanley, Lippman-Hand 1983). */
double stats_absent(double n);

/* The same if each of the lost firings may have been it:
 * B_hi1(lost) / (n + lost), B_hi1 the one-sided limit of stats_count(). */
double stats_absent_with_loss(double n, double lost);

/*
 * How often shape counted what detail has k >= 1 samples of, each chosen with
 * probability 1 / one_in: one_in * stats_count_listed(k), never below k; for
 * k >= 30 narrowed by sqrt(1 - 1 / one_in). one_in = 1 is exact.
 */
struct stats_interval stats_shape_count(double k, double one_in);

/*
 * The CPU time of a request with k samples that stand for ns_each (one_in *
 * period) each: ns_each * stats_count(), or if it is listed because k >= 1,
 * ns_each * stats_count_listed().
 */
struct stats_interval stats_request_ns(double k, double ns_each, bool listed);

/* What a request without a sample may have used at most (95 %, one-sided):
 * -ln(0.05) * ns_each, about three times that. */
double stats_unsampled_ns(double ns_each);

/*
 * Mean CPU time of requests like n that were seen, of which some may have no
 * sample: sum and sum_sq over their numbers of samples, each of which stands
 * for ns_each. Limits of a Poisson mean, widened by how much more the numbers
 * vary than Poisson's do (quasi-Poisson: Wedderburn 1974).
 */
struct stats_interval stats_mean_request_ns(double sum, double sum_sq, double n,
					    double ns_each);

/*
 * A sum over blocks chosen with unequal probabilities (Fay, Feuer 1997): sum
 * and sum_sq of the weighted values w_i that were chosen by chance, largest =
 * the largest w that one could have had. Blocks that were certain are added
 * by the caller.
 */
struct stats_interval stats_weighted_sum(double sum, double sum_sq,
					 double largest);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of two sets of samples: do they differ, by how much, and what
 * could have been found. What is called 1 is compared with what is called 2.
 * k of n samples, which may be effective numbers (of clustered samples) and so
 * not whole. No state, no SQL; any thread.
 */
#ifndef WEFT_COMPARE_STATS_H
#define WEFT_COMPARE_STATS_H

#include <stddef.h>

#include "query/stats.h"

/*
 * The interval of share1 - share2 from those of the two shares: Newcombe 1998,
 * method 10.
 */
struct stats_interval compare_difference(double share1,
					 struct stats_interval in1,
					 double share2,
					 struct stats_interval in2);

/*
 * Could shares as different as k1 of n1 and k2 of n2 have come about by
 * chance? Two-sided mid-p of Fisher's exact test: twice the smaller tail of
 * the hypergeometric distribution, what was seen with half its weight. The
 * numbers are rounded. 1 where there is nothing to compare.
 */
double compare_mid_p(double k1, double n1, double k2, double n2);

/*
 * The smallest p that k = k1 + k2 samples can have, if a part (0 to 1) of all
 * samples are of side 1: that of all k on the rarer side (Tarone 1990).
 */
double compare_least_p(double k, double part);

/*
 * Benjamini and Hochberg's adjusted p-values (1995) of n tests: q[i] of p[i].
 * p and q may be the same. Returns 0 or -ENOMEM.
 */
int compare_adjust(const double *p, double *q, size_t n);

/*
 * Limits of rate1 / rate2, of which k1 events were seen in exposure1 (of any
 * unit) and k2 in exposure2: given k1 + k2, k1 is binomial. 0 to infinity where
 * nothing was seen.
 */
struct stats_interval compare_ratio(double k1, double exposure1, double k2,
				    double exposure2);

/*
 * The smallest difference to a share that n1 and n2 samples show 9 times of 10,
 * where so many tests are made, by compare_student_p() of such degrees of
 * freedom. Beyond 1 - share there is none: infinity.
 */
double compare_detectable(double share, double n1, double n2, double tests,
			  double freedom);

/*
 * A two-sided p that took a variance for known, if it was estimated with so
 * many degrees of freedom, 1 and more: that of Student's t where the normal
 * quantile of p was. An infinite number changes nothing.
 */
double compare_student_p(double p, double freedom);

/*
 * Degrees of freedom of the sum of two variances, each estimated with its own
 * number: Satterthwaite 1946.
 */
double compare_freedom(double variance1, double freedom1, double variance2,
		       double freedom2);

/* z so that a standard normal variable exceeds it with probability p, 0 < p <=
 * 0.5. */
double compare_normal(double p);

#endif

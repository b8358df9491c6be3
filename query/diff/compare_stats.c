/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "query/diff/compare_stats.h"

struct stats_interval compare_difference(double share1,
					 struct stats_interval in1,
					 double share2,
					 struct stats_interval in2)
{
	double d = share1 - share2;

	return (struct stats_interval){
		d - hypot(share1 - in1.lo, in2.hi - share2),
		d + hypot(in1.hi - share1, share2 - in2.lo),
	};
}

/* ln(n!); lgamma() would write to a variable of all threads. */
static double ln_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

/* The probability of k1 of n1 where k1 + k2 of n1 + n2 are so: of the four
 * numbers of the table. */
static double hypergeometric(double k1, double n1, double k2, double n2)
{
	return exp(ln_factorial(n1) - ln_factorial(k1) - ln_factorial(n1 - k1) +
		   ln_factorial(n2) - ln_factorial(k2) - ln_factorial(n2 - k2) -
		   ln_factorial(n1 + n2) + ln_factorial(k1 + k2) +
		   ln_factorial(n1 + n2 - k1 - k2));
}

double compare_mid_p(double k1, double n1, double k2, double n2)
{
	/* Beyond that the sum takes long, and factorials are not exact. */
	const double most = 1e9;
	double at, term, tail = 0, other, less;

	if (n1 + n2 > most) {
		less = 0.99 * most / (n1 + n2);
		return compare_mid_p(k1 * less, n1 * less, k2 * less,
				     n2 * less);
	}
	k1 = round(k1);
	n1 = round(n1);
	k2 = round(k2);
	n2 = round(n2);
	if (n1 <= 0 || n2 <= 0 || k1 + k2 <= 0 || k1 + k2 >= n1 + n2)
		return 1;
	if (k1 * n2 > k2 * n1) /* sum the tail that lies away from the mean */
		return compare_mid_p(k2, n2, k1, n1);
	at = term = hypergeometric(k1, n1, k2, n2);
	/* From each table to the one with one less on side 1. */
	while (k1 > 0 && k2 < n2 && term > tail * 1e-18) {
		term *= k1 * (n2 - k2) / ((n1 - k1 + 1) * (k2 + 1));
		k1--;
		k2++;
		tail += term;
	}
	other = fmax(0, 1 - tail - at);
	return fmin(1, 2 * fmin(tail, other) + at);
}

double compare_least_p(double k, double part)
{
	return fmin(1, 2 * pow(fmin(part, 1 - part), k));
}

struct ranked {
	double p;
	size_t at;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->p < y->p ? -1 : x->p > y->p;
}

int compare_adjust(const double *p, double *q, size_t n)
{
	struct ranked *order = calloc(n ? n : 1, sizeof(*order));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked){ p[i], i };
	qsort(order, n, sizeof(*order), compare_ranked);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, order[i].p * (double)n / (double)(i + 1));
		q[order[i].at] = least;
	}
	free(order);
	return 0;
}

struct stats_interval compare_ratio(double k1, double exposure1, double k2,
				    double exposure2)
{
	struct stats_interval in = { 0, INFINITY };
	double scale = exposure2 / exposure1;

	if (k1 + k2 <= 0)
		return in;
	in = stats_share(k1, k1 + k2);
	in.lo = in.lo < 1 ? in.lo / (1 - in.lo) * scale : INFINITY;
	in.hi = in.hi < 1 ? in.hi / (1 - in.hi) * scale : INFINITY;
	return in;
}

double compare_normal(double p)
{
	double lo = 0, hi = 40;

	while (hi - lo > 1e-14 * hi) {
		double mid = (lo + hi) / 2;

		if (erfc(mid * M_SQRT1_2) / 2 > p)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

static double variance(double share)
{
	return fmax(0, share * (1 - share));
}

double compare_detectable(double share, double n1, double n2, double tests)
{
	static const double z_found = 1.2815515655446004; /* 9 of 10 */
	double z = compare_normal(0.05 / (2 * fmax(1, tests)));
	double each = 1 / n1 + 1 / n2;
	double found = (z + z_found) * sqrt(variance(share) * each);

	/* The larger share varies by itself: a few rounds settle it. */
	for (int i = 0; i < 6; i++) {
		double larger = share + found;
		double pooled = (n1 * larger + n2 * share) / (n1 + n2);

		found = z * sqrt(variance(pooled) * each) +
			z_found * sqrt(variance(larger) / n1 +
				       variance(share) / n2);
	}
	return share + found < 1 ? found : INFINITY;
}

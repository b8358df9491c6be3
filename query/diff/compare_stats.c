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

/* The continued fraction of the incomplete beta function, x below its mean:
 * Abramowitz, Stegun 26.5.8, from the front (Lentz 1976). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), all = d;

	for (int m = 1; m < 10000 && (m < 2 || fabs(c * d - 1) > 1e-15); m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x /
			     ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		all *= c * d;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		all *= c * d;
	}
	return all;
}

/* P(|T| > t) of Student's t: Abramowitz, Stegun 26.7.1 with 26.5.27. */
static double student_beyond(double t, double freedom)
{
	double x = freedom / (freedom + t * t),
	       rest = t * t / (freedom + t * t);
	double a = freedom / 2, b = 0.5, front;

	if (t <= 0)
		return 1;
	/* The gammas of a and a + b by ln_factorial(), of one less. */
	front = exp(ln_factorial(a + b - 1) - ln_factorial(a - 1) -
		    ln_factorial(b - 1) + a * log(x) + b * log(rest));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, rest) / b;
}

/* From here on t is as good as normal, and gammas are less exact than that. */
static const double MANY_FREEDOM = 1e6;

double compare_student_p(double p, double freedom)
{
	if (p >= 1 || freedom >= MANY_FREEDOM)
		return p;
	return student_beyond(compare_normal(p / 2), freedom);
}

/* t that is exceeded with probability p, 0 < p < 0.5. */
static double student_quantile(double p, double freedom)
{
	double lo = 0, hi = 1;

	if (freedom >= MANY_FREEDOM)
		return compare_normal(p);
	while (student_beyond(hi, freedom) > 2 * p)
		hi *= 2;
	while (hi - lo > 1e-12 * hi) {
		double mid = (lo + hi) / 2;

		if (student_beyond(mid, freedom) > 2 * p)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

double compare_freedom(double variance1, double freedom1, double variance2,
		       double freedom2)
{
	double sum = variance1 + variance2;

	return sum * sum /
	       (variance1 * variance1 / freedom1 +
		variance2 * variance2 / freedom2);
}

static double variance(double share)
{
	return fmax(0, share * (1 - share));
}

double compare_detectable(double share, double n1, double n2, double tests,
			  double freedom)
{
	static const double z_found = 1.2815515655446004; /* 9 of 10 */
	double z = student_quantile(0.05 / (2 * fmax(1, tests)), freedom);
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

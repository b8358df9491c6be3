/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "query/stats.h"

static const double Z = 1.959963984540054;      /* 95 %, two-sided */
static const double Z_ONE = 1.6448536269514722; /* 95 %, one-sided */
static const double LN_20 = 2.995732273553991;  /* -ln(0.05) */

struct tally tally_of_shape(uint64_t count, uint64_t value)
{
	return (struct tally){ .count = count,
			       .weight = (double)count,
			       .weight_sq = (double)count,
			       .estimate = (double)value };
}

void tally_by_value(struct tally *t)
{
	t->weight = t->estimate;
	t->weight_sq = t->count ? t->weight * t->weight / (double)t->count : 0;
}

double tally_share(const struct tally *part, const struct tally *all)
{
	return all->weight > 0 ? part->weight / all->weight : 0;
}

double tally_samples(const struct tally *t)
{
	return t->weight_sq > 0 ? t->weight * t->weight / t->weight_sq : 0;
}

struct stats_interval tally_share_interval(const struct tally *part,
					   const struct tally *all)
{
	double n = tally_samples(all);

	return stats_share_listed(tally_share(part, all) * n, n);
}

/* k (1 - 1/(9k) + z/(3 sqrt k))^3, the heart of Wilson-Hilferty. */
static double poisson_limit(double k, double z)
{
	double t;

	if (k <= 0)
		return 0;
	t = 1 - 1 / (9 * k) + z / (3 * sqrt(k));
	return t > 0 ? k * t * t * t : 0;
}

struct stats_interval stats_count(double k)
{
	return (struct stats_interval){ poisson_limit(k, -Z),
					poisson_limit(k + 1, Z) };
}

/* The lower limit for what is listed; between whole k, on the line. */
static double listed_lower(double k)
{
	static const double lower[] = { 0, 0, 0.0504, 0.4083, 0.9333, 1.5200 };
	const int last = sizeof(lower) / sizeof(lower[0]) - 1;
	double at;
	int i;

	/* An effective count of 5 may come out a rounding above it. */
	if (k > last + 1e-9)
		return poisson_limit(k, -Z);
	if (k >= last)
		return lower[last];
	at = k > 0 ? k : 0;
	i = (int)at;
	return lower[i] + (at - i) * (lower[i + 1] - lower[i]);
}

struct stats_interval stats_count_listed(double k)
{
	return (struct stats_interval){ listed_lower(k),
					poisson_limit(k + 1, Z) };
}

static struct stats_interval wilson(double k, double n, double z)
{
	double mid = (k + z * z / 2) / (n + z * z);
	double spread = k * (1 - k / n) + z * z / 4;
	double half = z / (n + z * z) * sqrt(spread > 0 ? spread : 0);

	return (struct stats_interval){ k <= 0 ? 0 : fmax(0, mid - half),
					k >= n ? 1 : fmin(1, mid + half) };
}

struct stats_interval stats_share_at(double k, double n, double z)
{
	struct stats_interval in;

	if (n <= 0)
		return (struct stats_interval){ 0, 1 };
	in = wilson(k, n, z);
	if (k > 0 && k < 10 && n > k)
		in.lo = fmin(in.lo, poisson_limit(k, -z) / n);
	if (n - k > 0 && n - k < 10 && k > 0)
		in.hi = fmax(in.hi, 1 - poisson_limit(n - k, -z) / n);
	return in;
}

struct stats_interval stats_share(double k, double n)
{
	return stats_share_at(k, n, Z);
}

/* P(|T| < t) for whole degrees of freedom, theta = atan(t / sqrt(n)):
 * Abramowitz, Stegun 26.7.3 and 26.7.4. */
static double student_within(double theta, int n)
{
	double cosine_sq = cos(theta) * cos(theta);
	double term = n % 2 ? cos(theta) : 1, sum = n > 1 ? term : 0;

	for (int i = n % 2 ? 3 : 2; i < n; i += 2) {
		term *= cosine_sq * (i - 1) / i;
		sum += term;
	}
	sum *= sin(theta);
	return n % 2 ? M_2_PI * (theta + sum) : sum;
}

double stats_student(double freedom)
{
	enum {
		/* From here on the series is exact to 1e-10. */
		SERIES_FROM = 100
	};
	const double n = freedom, z2 = Z * Z;
	double lo = 0, hi = M_PI_2;

	if (n < 1)
		return INFINITY;
	if (n > SERIES_FROM)
		return Z * (1 + (z2 + 1) / (4 * n) +
			    ((5 * z2 + 16) * z2 + 3) / (96 * n * n) +
			    (((3 * z2 + 19) * z2 + 17) * z2 - 15) /
				    (384 * n * n * n) +
			    ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 -
			     945) / (92160 * n * n * n * n));
	while (hi - lo > 1e-15) {
		double mid = (lo + hi) / 2;

		if (student_within(mid, (int)n) < 0.95)
			lo = mid;
		else
			hi = mid;
	}
	return sqrt(floor(n)) * tan(lo);
}

double stats_between(const struct stats_clusters *c, const struct tally *all,
		     double share)
{
	return c->m / (c->m - 1) *
	       (c->k_sq - 2 * share * c->kn + share * share * c->n_sq) /
	       (all->weight * all->weight);
}

bool stats_is_rare(const struct stats_clusters *c)
{
	enum {
		FEW_CLUSTERS = 5
	};

	return fmin(c->having, c->m - c->nothing_else) < FEW_CLUSTERS;
}

struct stats_interval stats_share_clustered(const struct tally *part,
					    const struct tally *all,
					    const struct stats_clusters *c)
{
	double share = tally_share(part, all), n, base, effect = 1;

	if (c->m < 2 || all->weight_sq <= 0)
		return (struct stats_interval){ 0, 1 };
	n = tally_samples(all);
	base = share * (1 - share) / n;
	if (base > 0)
		effect = fmax(1, stats_between(c, all, share) / base);
	if (stats_is_rare(c))
		effect = fmax(effect, c->n_sq / all->weight_sq);
	return stats_share_at(share * n / effect, n / effect,
			      stats_student(c->m - 1));
}

struct stats_interval stats_share_listed(double k, double n)
{
	struct stats_interval in = stats_share(k, n);

	if (k > 0 && k < 5 + 1e-9 && k < n)
		in.lo = fmin(in.lo, listed_lower(k) / n);
	return in;
}

double stats_absent(double n)
{
	return n > 0 ? -expm1(-LN_20 / n) : 1;
}

double stats_absent_with_loss(double n, double lost)
{
	if (lost <= 0)
		return stats_absent(n);
	return fmin(1, poisson_limit(lost + 1, Z_ONE) / (n + lost));
}

struct stats_interval stats_shape_count(double k, double one_in)
{
	struct stats_interval in;
	double middle = k * one_in;
	double narrow;

	if (one_in <= 1)
		return (struct stats_interval){ k, k };
	in = stats_count_listed(k);
	in.lo *= one_in;
	in.hi *= one_in;
	if (k >= 30) {
		narrow = sqrt(1 - 1 / one_in);
		in.lo = middle - (middle - in.lo) * narrow;
		in.hi = middle + (in.hi - middle) * narrow;
	}
	in.lo = fmax(k, in.lo);
	return in;
}

struct stats_interval stats_request_ns(double k, double ns_each, bool listed)
{
	struct stats_interval in =
		listed ? stats_count_listed(k) : stats_count(k);

	in.lo *= ns_each;
	in.hi *= ns_each;
	return in;
}

struct stats_interval stats_mean_request_ns(double sum, double sum_sq, double n,
					    double ns_each)
{
	double mean = sum / n, phi = 1;
	struct stats_interval in;

	if (n > 1 && sum > 0)
		phi = (sum_sq - sum * mean) / (n - 1) / mean;
	if (phi < 1)
		phi = 1;
	in = stats_count(sum / phi);
	in.lo *= phi * ns_each / n;
	in.hi *= phi * ns_each / n;
	return in;
}

double stats_unsampled_ns(double ns_each)
{
	return LN_20 * ns_each;
}

struct stats_interval stats_weighted_sum(double sum, double sum_sq,
					 double largest)
{
	struct stats_interval in = { 0, 0 };
	double high = sum + largest;
	double high_sq = sum_sq + largest * largest;
	double k;

	/* poisson_limit() of the effective count, in units of sum / count */
	if (sum > 0 && sum_sq > 0) {
		k = sum * sum / sum_sq;
		in.lo = poisson_limit(k, -Z) * sum / k;
	}
	if (high_sq > 0) {
		k = high * high / high_sq;
		in.hi = poisson_limit(k, Z) * high / k;
	}
	return in;
}

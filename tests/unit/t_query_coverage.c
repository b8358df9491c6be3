/* SPDX-License-Identifier: MIT */
/*
 * Do the printed 95 % intervals hold what they should? Simulated recordings
 * of a known program go through the functions that the reports call; the
 * truth must lie within at least 93 of 100 intervals, over all functions and
 * over those that a report lists (because they have a sample), which is the
 * harder claim. Seeds are fixed: the figures do not change from run to run.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/stats.h"
#include "store/weft.h"

enum {
	RECORDINGS = 2000,
	FUNCTIONS = 2000
};

static const double WANTED = 0.93;

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static double uniform(uint64_t *seed) /* in (0, 1) */
{
	return ((double)(next(seed) >> 11) + 0.5) / 9007199254740992.0;
}

/* Successes among n chances of p, by skipping from one to the next. */
static uint64_t binomial(uint64_t *seed, uint64_t n, double p)
{
	double skip = 1 / log1p(-p), at = 0;
	uint64_t k = 0;

	for (;;) {
		at += floor(log(uniform(seed)) * skip) + 1;
		if (at > (double)n)
			return k;
		k++;
	}
}

/* Shares of a program whose functions are hot as words are frequent: Zipf. */
static void zipf(double *share)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < FUNCTIONS; i++)
		sum += 1.0 / (double)(i + 1);
	for (i = 0; i < FUNCTIONS; i++)
		share[i] = 1 / (sum * (double)(i + 1));
}

struct covered {
	uint64_t all, all_held, listed, listed_held;
};

static void note(struct covered *c, bool is_listed, bool held)
{
	c->all++;
	c->all_held += held;
	c->listed += is_listed;
	c->listed_held += is_listed && held;
}

static bool holds(struct stats_interval in, double truth)
{
	return in.lo <= truth * (1 + 1e-12) && truth <= in.hi * (1 + 1e-12);
}

static void check(const char *what, const struct covered *c)
{
	double all = (double)c->all_held / (double)c->all;
	double listed = (double)c->listed_held / (double)c->listed;

	print_message("# %s: all %.4f, listed %.4f of %llu\n", what, all,
		      listed, (unsigned long long)c->listed);
	assert_true(all >= WANTED);
	assert_true(listed >= WANTED);
}

typedef struct stats_interval interval_fn(const struct tally *part,
					  const struct tally *all);

/* n samples of the program, of which every second stands for `weight` times
 * what the others do. */
static struct covered simulate_shares(uint64_t seed, size_t n, double weight,
				      interval_fn *interval)
{
	static double share[FUNCTIONS], upto[FUNCTIONS];
	struct tally tally[FUNCTIONS], all;
	struct covered c = { 0 };
	size_t recording, i, lo, hi, mid;
	double u, sum = 0;

	zipf(share);
	for (i = 0; i < FUNCTIONS; i++)
		upto[i] = sum += share[i];
	for (recording = 0; recording < RECORDINGS; recording++) {
		memset(tally, 0, sizeof(tally));
		memset(&all, 0, sizeof(all));
		for (i = 0; i < n; i++) {
			double w = i % 2 ? weight : 1;
			struct tally one = { 1, w, w * w, w };

			u = uniform(&seed) * sum;
			for (lo = 0, hi = FUNCTIONS - 1; lo < hi;) {
				mid = (lo + hi) / 2;
				if (upto[mid] < u)
					lo = mid + 1;
				else
					hi = mid;
			}
			tally_add(&tally[lo], &one);
			tally_add(&all, &one);
		}
		for (i = 0; i < FUNCTIONS; i++)
			note(&c, tally[i].count > 0,
			     holds(interval(&tally[i], &all), share[i]));
	}
	return c;
}

static void shares_of_the_shape_are_covered(void **state)
{
	struct covered c;

	(void)state;
	c = simulate_shares(1, 100, 1, tally_share_interval);
	check("share, 100 samples", &c);
	c = simulate_shares(2, 1000, 1, tally_share_interval);
	check("share, 1,000 samples", &c);
	c = simulate_shares(3, 10000, 1, tally_share_interval);
	check("share, 10,000 samples", &c);
}

static void shares_of_unequal_weights_are_covered(void **state)
{
	struct covered c;

	(void)state;
	c = simulate_shares(4, 1000, 2, tally_share_interval);
	check("share, 1,000 samples of weights 1 and 2", &c);
}

static struct stats_interval unlisted(const struct tally *part,
				      const struct tally *all)
{
	return stats_share(part->weight, all->weight);
}

/* Were it not so, this test could not see a wrong interval. */
static void the_form_without_listed_limits_is_caught(void **state)
{
	struct covered c = simulate_shares(1, 100, 1, unlisted);
	double listed = (double)c.listed_held / (double)c.listed;

	(void)state;
	print_message("# share, 100 samples, without listed limits: listed "
		      "%.4f\n",
		      listed);
	assert_true(listed < WANTED);
}

static void detail_covers_the_exact_count(void **state)
{
	static const double one_in[] = { 2, 10, 100 };
	static double share[FUNCTIONS];
	uint64_t seed = 5, truth, k;
	struct covered c;
	size_t i, f, recording;
	char what[64];

	(void)state;
	zipf(share);
	for (i = 0; i < ARRAY_LEN(one_in); i++) {
		c = (struct covered){ 0 };
		for (recording = 0; recording < RECORDINGS; recording++)
			for (f = 0; f < FUNCTIONS; f++) {
				truth = (uint64_t)ceil(60000 * share[f]);
				k = binomial(&seed, truth, 1 / one_in[i]);
				note(&c, k > 0,
				     holds(stats_shape_count((double)k,
							     one_in[i]),
					   (double)truth) ||
					     (k == 0 &&
					      holds(stats_request_ns(0,
								     one_in[i],
								     false),
						    (double)truth)));
			}
		snprintf(what, sizeof(what), "detail 1/%.0f to shape",
			 one_in[i]);
		check(what, &c);
	}
}

/* How often a timer of that period fires during cpu_ns of work in slices,
 * whose phase against the timer is anything. */
static uint64_t firings(uint64_t *seed, double cpu_ns, double slice_ns,
			double period_ns)
{
	double left = cpu_ns, slice;
	uint64_t n = 0;

	while (left > 0) {
		slice = slice_ns > 0 ? -slice_ns * log(uniform(seed)) : left;
		if (slice > left)
			slice = left;
		n += (uint64_t)(uniform(seed) + slice / period_ns);
		left -= slice;
	}
	return n;
}

static struct covered simulate_requests(uint64_t *seed, double one_in,
					double cpu_ns, double slice_ns)
{
	struct covered c = { 0 };
	double period, each;
	uint64_t k;
	int i;

	for (i = 0; i < 2 * RECORDINGS; i++) {
		/* the period moves by 5 %, as it does from interval to
		   interval */
		period = 1e9 / 997 * (0.95 + 0.1 * uniform(seed));
		k = firings(seed, cpu_ns, slice_ns, period);
		if (one_in > 1)
			k = binomial(seed, k, 1 / one_in);
		each = one_in * period;
		/* unlisted requests are those that people ask for by ID */
		c.all++;
		c.all_held +=
			holds(stats_request_ns((double)k, each, k > 0), cpu_ns);
		c.listed += k > 0;
		c.listed_held +=
			k > 0 &&
			holds(stats_request_ns((double)k, each, true), cpu_ns);
	}
	return c;
}

static void cpu_time_of_requests_is_covered(void **state)
{
	static const double one_in[] = { 1, 10, 100 };
	static const double cpu_ms[] = { 2, 20, 200, 2000 };
	static const double slice_ms[] = { 0, 0.5, 5 };
	double lowest = 1, lowest_listed = 1, held;
	uint64_t seed = 6;
	struct covered c;
	size_t i, k, m;

	(void)state;
	for (i = 0; i < ARRAY_LEN(one_in); i++)
		for (k = 0; k < ARRAY_LEN(cpu_ms); k++)
			for (m = 0; m < ARRAY_LEN(slice_ms); m++) {
				c = simulate_requests(&seed, one_in[i],
						      1e6 * cpu_ms[k],
						      1e6 * slice_ms[m]);
				held = (double)c.all_held / (double)c.all;
				lowest = fmin(lowest, held);
				if (c.listed < 200)
					continue;
				held = (double)c.listed_held / (double)c.listed;
				lowest_listed = fmin(lowest_listed, held);
			}
	print_message("# CPU per request: lowest of 36 cases, all %.4f, listed "
		      "%.4f\n",
		      lowest, lowest_listed);
	assert_true(lowest >= WANTED);
	assert_true(lowest_listed >= WANTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_the_shape_are_covered),
		cmocka_unit_test(shares_of_unequal_weights_are_covered),
		cmocka_unit_test(the_form_without_listed_limits_is_caught),
		cmocka_unit_test(detail_covers_the_exact_count),
		cmocka_unit_test(cpu_time_of_requests_is_covered),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of simulated programs, whose truth is known: intervals hold it,
 * nothing is reported where nothing changed, and what changed is found. Seeds
 * are fixed. SIMULATION_RUNS=N makes N times as many (make check-long).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "query/diff/compare.h"
#include "store/weft.h"

enum {
	STACKS = 2000,
	FUNCTIONS = 60,
	BLOCKS = 20
};

static uint64_t seed;

static double uniform(void) /* [0, 1): splitmix64 */
{
	uint64_t x = seed += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static double exponential(double mean)
{
	return -mean * log1p(-uniform());
}

static int runs_of(int runs)
{
	const char *times = getenv("SIMULATION_RUNS");
	uint64_t n = 1;

	if (times && weft_parse_u64(times, 1, 1000, &n))
		fail_msg("SIMULATION_RUNS=%s", times);
	return runs * (int)n;
}

/* ---- One thread in runs of A and B; a timer of 997 Hz. */

static void add_samples(struct compare *c, enum compare_side side,
			uint32_t item, uint64_t count)
{
	struct tally t = tally_of_shape(count, count);

	if (!count)
		return;
	compare_add_all(c, side, &t);
	assert_int_equal(compare_add(c, side, &item, 1, &t), 0);
}

static void record_runs(struct compare *c, enum compare_side side, double share,
			double run, double seconds)
{
	const double period = 1 / 997.0;
	double next = uniform() * period, now = 0;
	bool in_a = uniform() < share;

	for (int block = 1; block <= BLOCKS; block++) {
		double until = seconds * block / BLOCKS;

		while (now < until) {
			double length = exponential(2 * run *
						    (in_a ? share : 1 - share));
			double end = now + length;

			/* A run goes on in the next block: it has no memory. */
			bool goes_on = end >= until;
			double n;

			end = fmin(end, until);
			n = end > next ? ceil((end - next) / period) : 0;
			add_samples(c, side, !in_a, (uint64_t)n);
			next += n * period;
			now = end;
			in_a ^= !goes_on;
		}
		compare_end_cluster(c, side, seconds / BLOCKS);
	}
}

static bool holds(struct stats_interval in, double truth)
{
	return in.lo <= truth && truth <= in.hi;
}

static void intervals_hold_the_truth(void **state)
{
	static const struct {
		double share[COMPARE_SIDES], run, seconds;
		int runs;
	} cases[] = {
		{ { 0.3, 0.3 }, 0.0005, 10, 200 },
		{ { 0.3, 0.35 }, 0.01, 60, 800 },
		{ { 0.3, 0.3 }, 0.2, 60, 4000 },
		{ { 0.3, 0.45 }, 0.2, 300, 2000 },
		{ { 0.02, 0.03 }, 0.01, 60, 800 },
		{ { 0.01, 0.01 }, 0.0005, 10, 200 },
		{ { 0.5, 0.5 }, 0.05, 20, 2000 },
		{ { 0.002, 0.002 }, 0.002, 5, 1000 },
	};

	(void)state;
	seed = 6;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int runs = runs_of(cases[i].runs), one = 0, difference = 0,
		    said = 0;
		const double *share = cases[i].share;

		for (int run = 0; run < runs; run++) {
			struct compare c = { .least_clusters =
						     COMPARE_FEW_BLOCKS };
			const struct compare_answer *a;

			record_runs(&c, 0, share[0], cases[i].run,
				    cases[i].seconds);
			record_runs(&c, 1, share[1], cases[i].run,
				    cases[i].seconds);
			assert_int_equal(compare_finish(&c), 0);
			a = &c.items[0].answer[COMPARE_SELF];
			one += holds(a->share_in[0], share[0]);
			if (a->rule == COMPARE_SAID) { /* not too few of it */
				said++;
				difference += holds(a->difference_in,
						    share[1] - share[0]);
			}
			compare_release(&c);
		}
		printf("# runs of %g s, %g s, shares %g and %g: of %d, %.3f of "
		       "the intervals hold the share, %.3f the difference\n",
		       cases[i].run, cases[i].seconds, share[0], share[1], runs,
		       (double)one / runs, (double)difference / said);
		assert_true(one >= 0.93 * runs);
		assert_true(difference >= 0.93 * said);
	}
}

/* ---- Very many stacks, few of them frequent; samples in runs. */

static uint32_t choose(const double *up_to, uint32_t n)
{
	double at = uniform() * up_to[n - 1];
	uint32_t lo = 0, hi = n - 1;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (up_to[mid] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* Shares 1, 1/2, 1/3 ..., of which raised (if not 0) has so much more, taken
 * from the first; as sums. */
static void make_shares(double *up_to, uint32_t n, uint32_t raised, double more)
{
	double all = 0, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		all += 1.0 / (i + 1);
	for (uint32_t i = 0; i < n; i++) {
		sum += 1.0 / (i + 1) / all;
		if (raised && i == 0)
			sum -= more;
		if (raised && i == raised)
			sum += more;
		up_to[i] = sum;
	}
}

static void record_stacks(struct compare *c, enum compare_side side,
			  const double *up_to, int samples, double run)
{
	uint32_t stack = 0;
	int left = 0;

	for (int block = 0; block < BLOCKS; block++) {
		for (int i = 0; i < samples / BLOCKS; i++) {
			if (left-- == 0) {
				stack = choose(up_to, STACKS);
				left = run <= 1 ? 0
						: (int)(log1p(-uniform()) /
							log1p(-1 / run));
			}
			add_samples(c, side, stack, 1);
		}
		compare_end_cluster(c, side, 1);
	}
}

/* How many were reported; found: whether that one was. */
static int reported(const struct compare *c, uint32_t which, bool *found)
{
	int n = 0;

	for (size_t i = 0; i < c->n_items; i++) {
		const struct compare_answer *a =
			&c->items[i].answer[COMPARE_SELF];
		bool is = a->rule == COMPARE_SAID && a->q < 0.05;

		n += is;
		if (i == which)
			*found = is;
	}
	return n;
}

static void nothing_changed_and_nothing_is_reported(void **state)
{
	static const struct {
		int samples[COMPARE_SIDES];
		double run;
	} cases[] = {
		{ { 10000, 10000 }, 1 },
		{ { 30000, 30000 }, 4 },
		{ { 30000, 30000 }, 20 },
		{ { 1000, 20000 }, 1 },
	};
	double up_to[STACKS];
	bool unused;

	(void)state;
	seed = 9;
	make_shares(up_to, STACKS, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int runs = runs_of(40), wrong = 0;

		for (int run = 0; run < runs; run++) {
			struct compare c = { .least_clusters =
						     COMPARE_FEW_BLOCKS };

			for (int side = 0; side < COMPARE_SIDES; side++)
				record_stacks(&c, side, up_to,
					      cases[i].samples[side],
					      cases[i].run);
			assert_int_equal(compare_finish(&c), 0);
			assert_true(c.tests[COMPARE_SELF] > 10);
			wrong += reported(&c, 0, &unused) > 0;
			compare_release(&c);
		}
		printf("# nothing changed, %d and %d samples in runs of %g: of "
		       "%d comparisons %d report anything\n",
		       cases[i].samples[0], cases[i].samples[1], cases[i].run,
		       runs, wrong);
		assert_true(wrong <= 0.05 * runs);
	}
}

static void five_points_more_are_found(void **state)
{
	/* Samples in runs of mean r are worth 1 in 2 r - 1. */
	static const struct {
		uint32_t raised;
		int samples;
		double run;
	} cases[] = { { 5, 10000, 1 },
		      { 1, 10000, 1 },
		      { 5, 70000, 4 },
		      { 1, 70000, 4 } };
	double before[STACKS], after[STACKS];

	(void)state;
	seed = 13;
	make_shares(before, STACKS, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int runs = runs_of(20), found = 0, others = 0;
		double effect = 0;

		make_shares(after, STACKS, cases[i].raised, 0.05);
		for (int run = 0; run < runs; run++) {
			struct compare c = { .least_clusters =
						     COMPARE_FEW_BLOCKS };
			bool is = false;

			record_stacks(&c, 0, before, cases[i].samples,
				      cases[i].run);
			record_stacks(&c, 1, after, cases[i].samples,
				      cases[i].run);
			assert_int_equal(compare_finish(&c), 0);
			others += reported(&c, cases[i].raised, &is) - is;
			found += is;
			effect += c.set[0].effect[COMPARE_SELF] / runs;
			compare_release(&c);
		}
		printf("# stack %u of 5 points more, %d samples in runs of %g "
		       "(design effect %.1f): found in %d of %d; others, with "
		       "the one that it was taken from: %d\n",
		       cases[i].raised, cases[i].samples, cases[i].run, effect,
		       found, runs, others);
		assert_true(found >= 0.9 * runs);
	}
}

/* ---- Requests, whose samples are alike; the slowest against the others. */

static int poisson(double mean)
{
	double limit = exp(-mean), product = uniform();
	int n = 0;

	for (; product > limit; n++)
		product *= uniform();
	return n;
}

static double lognormal(void)
{
	double radius = sqrt(-2 * log1p(-uniform()));

	return exp(radius * cos(2 * M_PI * uniform()));
}

/* The samples of a request: some repeat an earlier one (an urn). */
static void add_request(struct compare *c, enum compare_side side,
			const double *up_to, double mean, double alike)
{
	uint32_t got[256];
	int n = poisson(mean);

	for (int i = 0; i < n && i < (int)ARRAY_LEN(got); i++) {
		bool again = uniform() < i * alike / (1 - alike + i * alike);

		got[i] = again ? got[(int)(uniform() * i)]
			       : choose(up_to, FUNCTIONS);
		add_samples(c, side, got[i], 1);
	}
	compare_end_cluster(c, side, 1);
}

static int slow_reports(const double *slow, double alike, int runs, int *found)
{
	enum {
		REQUESTS = 12000
	};
	const double slow_from = 10.24; /* of 1 in 100, lognormal */
	double up_to[FUNCTIONS];
	int any = 0;

	*found = 0;
	make_shares(up_to, FUNCTIONS, 0, 0);
	for (int run = 0; run < runs; run++) {
		struct compare c = { .least_clusters = COMPARE_FEW_REQUESTS };
		bool is = false;

		for (int i = 0; i < REQUESTS; i++) {
			double duration = lognormal();
			bool is_slow = duration >= slow_from;

			add_request(&c, is_slow, is_slow ? slow : up_to,
				    duration, alike);
		}
		assert_int_equal(compare_finish(&c), 0);
		any += reported(&c, 2, &is) > 0;
		*found += is;
		compare_release(&c);
	}
	return any;
}

static void slow_requests_differ_only_where_they_do(void **state)
{
	static const double alike[] = { 0, 0.2, 0.6 };
	double same[FUNCTIONS], other[FUNCTIONS];
	int found;

	(void)state;
	seed = 10;
	make_shares(same, FUNCTIONS, 0, 0);
	make_shares(other, FUNCTIONS, 2, 0.09);
	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		int runs = runs_of(20);
		int wrong = slow_reports(same, alike[i], runs, &found);

		printf("# slowest of 12000 requests, samples alike by %g: of "
		       "%d comparisons of the same %d report anything",
		       alike[i], runs, wrong);
		assert_true(wrong <= 0.05 * runs);
		slow_reports(other, alike[i], runs, &found);
		printf("; 9 points more are found in %d\n", found);
		/* 120 requests alike to 0.2 are worth some 300 samples. */
		if (alike[i] < 0.5)
			assert_true(found >= (alike[i] > 0 ? 0.6 : 0.9) * runs);
	}
}

/* ---- Requests of routes, each with functions of its own: a few are large, so
 * that what a route does is in few requests of a side and makes up much of it,
 * or is missing there. Which side a request is on, chance says. */

enum {
	ROUTES = 4,
	LARGEST = 20000 /* samples of a request */
};

/* How unequal requests of a route are, and how alike their samples. */
struct routed {
	double sigma, alike;
};

static void add_routed(struct compare *c, enum compare_side side,
		       const double *up_to, const struct routed *of)
{
	static const struct {
		double part, samples; /* of all requests; of each, on average */
	} routes[ROUTES] = {
		{ 0.3, 5 }, { 0.4, 20 }, { 0.27, 100 }, { 0.03, 1000 }
	};
	static uint32_t got[LARGEST];
	double at = uniform(), size;
	uint32_t route = 0;

	while (route + 1 < ROUTES && at >= routes[route].part)
		at -= routes[route++].part;
	size = routes[route].samples *
	       exp(of->sigma * log(lognormal()) - of->sigma * of->sigma / 2);
	for (int i = 0; i < (int)(size + uniform()) && i < LARGEST; i++) {
		bool again = uniform() <
			     i * of->alike / (1 - of->alike + i * of->alike);
		const struct tally one = tally_of_shape(1, 1);
		uint32_t items[3];

		got[i] = again ? got[(int)(uniform() * i)]
			       : route * FUNCTIONS + choose(up_to, FUNCTIONS);
		items[0] = got[i];
		items[1] = ROUTES * FUNCTIONS + got[i] / 8;
		items[2] = 2 * ROUTES * FUNCTIONS + route;
		compare_add_all(c, side, &one);
		assert_int_equal(compare_add(c, side, items, 3, &one), 0);
	}
	compare_end_cluster(c, side, 1);
}

/* Is anything reported, by self or by total? */
static bool is_anything_reported(const struct compare *c)
{
	for (size_t i = 0; i < c->n_items; i++)
		for (int kind = 0; kind < COMPARE_KINDS; kind++) {
			const struct compare_answer *a =
				&c->items[i].answer[kind];

			if (a->rule == COMPARE_SAID && a->q < 0.05)
				return true;
		}
	return false;
}

static void a_few_large_requests_are_no_finding(void **state)
{
	static const struct {
		struct routed of;
		int requests[COMPARE_SIDES];
	} cases[] = {
		{ { 0.5, 0.05 }, { 55, 2000 } }, { { 0.5, 0.05 }, { 60, 60 } },
		{ { 1, 0.05 }, { 100, 250 } },   { { 1, 0.05 }, { 60, 60 } },
		{ { 0.5, 0.4 }, { 60, 60 } },    { { 2, 0.4 }, { 100, 250 } },
		{ { 0.5, 0.9 }, { 100, 250 } },
	};
	double up_to[FUNCTIONS];

	(void)state;
	seed = 11;
	make_shares(up_to, FUNCTIONS, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int runs = runs_of(100), wrong = 0;

		for (int run = 0; run < runs; run++) {
			struct compare c = { .least_clusters =
						     COMPARE_FEW_REQUESTS };

			for (int side = 0; side < COMPARE_SIDES; side++)
				for (int r = 0; r < cases[i].requests[side];
				     r++)
					add_routed(&c, side, up_to,
						   &cases[i].of);
			assert_int_equal(compare_finish(&c), 0);
			wrong += is_anything_reported(&c);
			compare_release(&c);
		}
		printf("# %d and %d requests of routes of which some are "
		       "large, by e^%g, samples alike by %g: of %d comparisons "
		       "of the same %d report anything\n",
		       cases[i].requests[0], cases[i].requests[1],
		       cases[i].of.sigma, cases[i].of.alike, runs, wrong);
		assert_true(wrong <= 0.05 * runs);
	}
}

/* ---- Requests each with a mixture of its own, of lengths so unequal that the
 * largest of a side has much of it (Pareto's, of which not even the mean is
 * finite): how they vary is told by few. */

static void add_heavy(struct compare *c, enum compare_side side, double tail)
{
	enum {
		MIXED = 10
	};
	double samples = fmin(1e5, 5 * pow(1 - uniform(), -1 / tail));
	double part[MIXED], all = 0;

	for (int i = 0; i < MIXED; i++) {
		part[i] = pow(exponential(1), 3) / (i + 1);
		all += part[i];
	}
	for (uint32_t i = 0; i < MIXED; i++)
		add_samples(c, side, i,
			    (uint64_t)(samples * part[i] / all + uniform()));
	compare_end_cluster(c, side, 1);
}

static void very_unequal_requests_are_no_finding(void **state)
{
	static const struct {
		double tail;
		int requests[COMPARE_SIDES];
	} cases[] = {
		{ 0.8, { 60, 60 } },
		{ 0.8, { 100, 250 } },
		{ 0.9, { 60, 60 } },
		{ 1.1, { 250, 250 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int runs = runs_of(500), wrong = 0;

		seed = 12 + i;
		for (int run = 0; run < runs; run++) {
			struct compare c = { .least_clusters =
						     COMPARE_FEW_REQUESTS };

			for (int side = 0; side < COMPARE_SIDES; side++)
				for (int r = 0; r < cases[i].requests[side];
				     r++)
					add_heavy(&c, side, cases[i].tail);
			assert_int_equal(compare_finish(&c), 0);
			assert_int_equal(c.rule, COMPARE_SAID);
			wrong += is_anything_reported(&c);
			compare_release(&c);
		}
		printf("# %d and %d requests of Pareto lengths (%g): of %d "
		       "comparisons of the same %d report anything\n",
		       cases[i].requests[0], cases[i].requests[1],
		       cases[i].tail, runs, wrong);
		assert_true(wrong <= 0.05 * runs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(nothing_changed_and_nothing_is_reported),
		cmocka_unit_test(five_points_more_are_found),
		cmocka_unit_test(slow_requests_differ_only_where_they_do),
		cmocka_unit_test(a_few_large_requests_are_no_finding),
		cmocka_unit_test(very_unequal_requests_are_no_finding),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

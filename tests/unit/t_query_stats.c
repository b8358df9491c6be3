/* SPDX-License-Identifier: MIT */
/* The formulas against figures of an independent implementation of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/stats.h"
#include "store/weft.h"

static void near(double got, double want)
{
	if (fabs(got - want) > 1e-9 + 1e-8 * fabs(want))
		fail_msg("%.12g, not %.12g", got, want);
}

static void a_share_has_the_mended_wilson_interval(void **state)
{
	static const struct {
		double k, n, lo, hi;
	} rows[] = {
		{ 0, 0, 0, 1 },
		{ 0, 10, 0, 0.277532799863 },
		{ 1, 10, 0.001307213290, 0.589311497599 },
		{ 3, 10, 0.060297257097, 0.719556931492 },
		{ 5, 10, 0.161134771575, 0.838865228425 },
		{ 10, 10, 0.722467200137, 1 },
		{ 1, 1000, 0.000013072133, 0.005642558598 },
		{ 9, 1000, 0.004106885024, 0.017015816165 },
		{ 10, 1000, 0.005440754446, 0.018309468870 },
		{ 995, 1000, 0.988349044627, 0.998388652284 },
		{ 999, 1000, 0.994357441402, 0.999986927867 },
		{ 50, 100000, 0.000379312022, 0.000659062678 },
		{ 2.5, 40, 0.009971035274, 0.182097039039 },
	};
	struct stats_interval in;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		in = stats_share(rows[i].k, rows[i].n);
		near(in.lo, rows[i].lo);
		near(in.hi, rows[i].hi);
	}
}

/* Ten requests that vary, few that have it, all or nothing, two, many alike,
 * none that has it. Weights are 3 each: they change nothing. */
static void a_clustered_share_knows_how_requests_vary(void **state)
{
	static const struct {
		double m, n, k, n_sq, k_sq, kn, having, all, lo, hi;
	} rows[] = {
		{ 10, 73, 24, 605, 108, 230, 7, 0, 0.198270795588,
		  0.492401638547 },
		{ 6, 17, 1, 59, 1, 3, 1, 0, 0, 0.819424227538 },
		{ 16, 320, 160, 6400, 3200, 3200, 8, 8, 0.191176929167,
		  0.808823070833 },
		{ 2, 20, 11, 200, 61, 110, 2, 0, 0, 1 },
		{ 40, 239, 60, 1455, 140, 359, 30, 0, 0.194886468051,
		  0.317016612153 },
		{ 6, 17, 0, 59, 0, 0, 0, 0, 0, 0.574369327384 },
	};
	const double w = 3;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tally all = { (uint64_t)rows[i].n, w * rows[i].n,
				     w * w * rows[i].n, 0 };
		struct tally part = { (uint64_t)rows[i].k, w * rows[i].k,
				      w * w * rows[i].k, 0 };
		struct stats_clusters c = {
			.m = rows[i].m,
			.n_sq = w * w * rows[i].n_sq,
			.k_sq = w * w * rows[i].k_sq,
			.kn = w * w * rows[i].kn,
			.having = rows[i].having,
			.nothing_else = rows[i].all,
		};
		struct stats_interval in =
			stats_share_clustered(&part, &all, &c);

		/* theirs takes t from a table of four digits */
		if (fabs(in.lo - rows[i].lo) > 1e-4 ||
		    fabs(in.hi - rows[i].hi) > 1e-4)
			fail_msg("%zu: %.9g to %.9g", i, in.lo, in.hi);
	}
}

static void outer_limits_are_exactly_0_and_1(void **state)
{
	(void)state;
	assert_true(stats_share(0, 123456).lo == 0);
	assert_true(stats_share(123456, 123456).hi == 1);
	assert_true(stats_share_listed(1, 1000).lo == 0);
	assert_true(stats_count(0).lo == 0);
}

static void listed_shares_have_the_lower_limits_of_what_was_found(void **state)
{
	(void)state;
	near(stats_share_listed(2, 1000).lo, 0.0504 / 1000);
	near(stats_share_listed(3, 10).lo, 0.040830);
	near(stats_share_listed(4, 1000).lo, 0.9333 / 1000);
	near(stats_share_listed(5, 10).lo, 0.152);
	near(stats_share_listed(9, 1000).lo, stats_share(9, 1000).lo);
	near(stats_share_listed(3, 10).hi, stats_share(3, 10).hi);
	/* of all of n there is nothing left to be wrong about below */
	near(stats_share_listed(3, 3).lo, stats_share(3, 3).lo);
}

static void counts_have_byars_limits(void **state)
{
	static const struct {
		double k, lo, hi;
	} rows[] = {
		{ 0, 0, 3.668011832 },
		{ 1, 0.013072133, 5.563755582 },
		{ 2, 0.224625211, 7.220869001 },
		{ 3, 0.602972571, 8.765364397 },
		{ 5, 1.611347716, 11.668164123 },
		{ 10, 4.787449914, 18.391458606 },
		{ 100, 81.362105491, 121.627937579 },
		{ 1234.5, 1166.587305910, 1305.334717243 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		near(stats_count(rows[i].k).lo, rows[i].lo);
		near(stats_count(rows[i].k).hi, rows[i].hi);
	}
	near(stats_count_listed(1).lo, 0);
	near(stats_count_listed(2).lo, 0.0504);
	near(stats_count_listed(5).lo, 1.52);
	near(stats_count_listed(6).lo, 2.190985811);
	near(stats_count_listed(6).hi, 13.059750859);
	near(stats_count_listed(2.5).lo, (0.0504 + 0.4083) / 2);
}

static void what_was_not_seen_is_bounded(void **state)
{
	(void)state;
	near(stats_absent(10), 0.2588655508930523);
	near(stats_absent(1000), 0.0029912495450953314);
	near(stats_absent(10000), 0.00029952835977664627);
	near(stats_absent(0), 1);
	near(stats_absent_with_loss(1000, 0), stats_absent(1000));
	near(stats_absent_with_loss(1000, 100), 0.10734410263779993);
	near(stats_absent_with_loss(0, 5), 1);
}

static void detail_estimates_the_shape(void **state)
{
	static const struct {
		double k, one_in, lo, hi;
	} rows[] = {
		{ 1, 100, 1, 556.375558248 },
		{ 2, 100, 5.04, 722.086900086 },
		{ 5, 10, 15.2, 116.681641234 },
		{ 10, 100, 478.744991397, 1839.145860576 },
		{ 30, 2, 46.192946855, 78.142057584 },
		{ 100, 10, 823.185407680, 1205.180631527 },
		{ 7, 1, 7, 7 },
	};
	struct stats_interval in;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		in = stats_shape_count(rows[i].k, rows[i].one_in);
		near(in.lo, rows[i].lo);
		near(in.hi, rows[i].hi);
	}
}

static void a_request_used_between_two_limits(void **state)
{
	(void)state;
	near(stats_request_ns(0, 1e7, false).hi, 3.668011832e7);
	near(stats_request_ns(2, 1e7, false).lo, 0.224625211e7);
	near(stats_request_ns(2, 1e7, true).lo, 0.0504e7);
	near(stats_request_ns(2, 1e7, true).hi, 7.220869001e7);
	near(stats_unsampled_ns(1e7), 2.995732274e7);
}

static void weighted_sums_have_gamma_limits(void **state)
{
	static const struct {
		double sum, sum_sq, largest, lo, hi;
	} rows[] = {
		{ 100, 100, 1, 81.362105491, 121.627937579 },
		{ 50, 500, 10, 16.113477157, 116.681641234 },
		{ 0, 0, 4, 0, 14.672047329 },
		{ 3.5, 4.25, 2, 0.671075414, 12.389517407 },
	};
	struct stats_interval in;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(rows); i++) {
		in = stats_weighted_sum(rows[i].sum, rows[i].sum_sq,
					rows[i].largest);
		near(in.lo, rows[i].lo);
		near(in.hi, rows[i].hi);
	}
}

static void unequal_weights_count_as_fewer_samples(void **state)
{
	/* weights 10 and 1: n = 11^2 / 101 */
	struct tally all = { 2, 11, 101, 0 }, part = { 1, 10, 100, 0 };
	double n = 121.0 / 101;
	struct stats_interval in = tally_share_interval(&part, &all);
	struct stats_interval want = stats_share_listed(10.0 / 11 * n, n);
	struct tally none = { 0 };

	(void)state;
	near(tally_share(&part, &all), 10.0 / 11);
	near(in.lo, want.lo);
	near(in.hi, want.hi);
	near(tally_share(&none, &none), 0);
	near(tally_share_interval(&none, &none).hi, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_share_has_the_mended_wilson_interval),
		cmocka_unit_test(a_clustered_share_knows_how_requests_vary),
		cmocka_unit_test(outer_limits_are_exactly_0_and_1),
		cmocka_unit_test(
			listed_shares_have_the_lower_limits_of_what_was_found),
		cmocka_unit_test(counts_have_byars_limits),
		cmocka_unit_test(what_was_not_seen_is_bounded),
		cmocka_unit_test(detail_estimates_the_shape),
		cmocka_unit_test(a_request_used_between_two_limits),
		cmocka_unit_test(weighted_sums_have_gamma_limits),
		cmocka_unit_test(unequal_weights_count_as_fewer_samples),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

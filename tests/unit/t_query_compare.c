/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of comparisons against an independent implementation of the
 * same formulas: compare_vectors.h says where its numbers come from.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "query/diff/compare.h"
#include "tests/unit/compare_vectors.h"

enum {
	ITEMS = sizeof(first[0]) / sizeof(first[0][0])
};

static void near(double got, double want)
{
	if (isinf(want) ? got != want
			: !(fabs(got - want) <= 1e-9 * fmax(1, fabs(want))))
		fail_msg("%.17g, not %.17g", got, want);
}

static void near_interval(struct stats_interval in, double lo, double hi)
{
	near(in.lo, lo);
	near(in.hi, hi);
}

static void intervals_of_shares_counts_and_sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(shares); i++)
		near_interval(
			stats_share_at(shares[i].k, shares[i].n, shares[i].z),
			shares[i].lo, shares[i].hi);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		near_interval(stats_count(counts[i].k), counts[i].lo,
			      counts[i].hi);
	for (size_t i = 0; i < ARRAY_LEN(sums); i++)
		near_interval(stats_weighted_sum(sums[i].sum, sums[i].sum_sq,
						 sums[i].largest),
			      sums[i].lo, sums[i].hi);
}

static void the_interval_of_a_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(differences); i++) {
		double k1 = differences[i].k1, n1 = differences[i].n1;
		double k2 = differences[i].k2, n2 = differences[i].n2;

		near_interval(compare_difference(k1 / n1, stats_share(k1, n1),
						 k2 / n2, stats_share(k2, n2)),
			      differences[i].lo, differences[i].hi);
	}
}

static void mid_p_is_that_of_fishers_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(mid_ps); i++) {
		near(compare_mid_p(mid_ps[i].k1, mid_ps[i].n1, mid_ps[i].k2,
				   mid_ps[i].n2),
		     mid_ps[i].p);
		near(compare_mid_p(mid_ps[i].k2, mid_ps[i].n2, mid_ps[i].k1,
				   mid_ps[i].n1),
		     mid_ps[i].p);
	}
	near(compare_mid_p(0, 0, 5, 10), 1);
	near(compare_mid_p(5, 10, 0, 0), 1);
	/* far out in the tail, where 1 - (the rest) would be nothing */
	assert_true(compare_mid_p(0, 1000, 400, 1000) < 1e-100);
	assert_true(compare_mid_p(0, 1000, 400, 1000) > 0);
}

static void what_cannot_be_found_is_known_beforehand(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(least_ps); i++)
		near(compare_least_p(least_ps[i].k, least_ps[i].part),
		     least_ps[i].p);
	for (size_t i = 0; i < ARRAY_LEN(detectables); i++)
		near(compare_detectable(detectables[i].share, detectables[i].n1,
					detectables[i].n2, detectables[i].tests,
					detectables[i].freedom),
		     detectables[i].d);
}

static void many_tests_are_adjusted_for(void **state)
{
	double q[ARRAY_LEN(ps)];

	(void)state;
	assert_int_equal(compare_adjust(ps, q, ARRAY_LEN(ps)), 0);
	for (size_t i = 0; i < ARRAY_LEN(ps); i++)
		near(q[i], qs[i]);
	assert_int_equal(compare_adjust(ps, q, 0), 0);
}

static void ratios_of_rates(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ratios); i++)
		near_interval(compare_ratio(ratios[i].k1, ratios[i].e1,
					    ratios[i].k2, ratios[i].e2),
			      ratios[i].lo, ratios[i].hi);
}

static void quantiles_of_normal_and_t(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(normals); i++)
		near(compare_normal(normals[i].p), normals[i].z);
	for (size_t i = 0; i < ARRAY_LEN(students); i++)
		near(stats_student(students[i].freedom), students[i].t);
	assert_true(isinf(stats_student(0)));
}

static void a_p_of_little_known_variance(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(student_ps); i++)
		near(compare_student_p(student_ps[i].p, student_ps[i].freedom) /
			     student_ps[i].got,
		     1);
	near(compare_student_p(1, 3), 1);
	near(compare_student_p(0.01, INFINITY), 0.01);
	/* two alike have twice as many, one that is nothing does not count */
	near(compare_freedom(2, 7, 2, 7), 14);
	near(compare_freedom(2, 7, 0, 1), 7);
}

static void a_clustered_share(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(clustered); i++) {
		struct tally all = tally_of_shape((uint64_t)clustered[i].n, 0);
		struct tally part = tally_of_shape((uint64_t)clustered[i].k, 0);
		struct stats_clusters c = {
			clustered[i].m,  clustered[i].n_sq,   clustered[i].k_sq,
			clustered[i].kn, clustered[i].having, clustered[i].all
		};

		near_interval(stats_share_clustered(&part, &all, &c),
			      clustered[i].lo, clustered[i].hi);
	}
}

static void add_clusters(struct compare *c, enum compare_side side,
			 const double (*rows)[ITEMS], size_t n, double weight)
{
	for (size_t i = 0; i < n; i++) {
		for (uint32_t item = 0; item < ITEMS; item++) {
			double k = rows[i][item];
			struct tally t = { (uint64_t)k, weight * k,
					   weight * weight * k, k };

			if (k <= 0)
				continue;
			compare_add_all(c, side, &t);
			assert_int_equal(compare_add(c, side, &item, 1, &t), 0);
		}
		compare_end_cluster(c, side, 1);
	}
}

/* Weights change nothing, if all are equal on a side. */
static void two_sets_of_clusters(void **state)
{
	(void)state;
	for (double weight = 1; weight < 20; weight += 9) {
		struct compare c = { .least_clusters = COMPARE_FEW_BLOCKS };
		size_t tested = 0;

		add_clusters(&c, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
		add_clusters(&c, COMPARE_SECOND, second, ARRAY_LEN(second),
			     weight);
		assert_int_equal(compare_finish(&c), 0);
		assert_int_equal(c.rule, COMPARE_SAID);
		for (int side = 0; side < COMPARE_SIDES; side++)
			near(c.set[side].effect[COMPARE_SELF], effects[side]);
		for (size_t i = 0; i < ITEMS; i++) {
			const struct compare_answer *a =
				&c.items[i].answer[COMPARE_SELF];

			if (item_ps[i] < 0) {
				assert_int_equal(a->rule, COMPARE_FEW_SAMPLES);
				continue;
			}
			assert_int_equal(a->rule, COMPARE_SAID);
			near(a->p, item_ps[i]);
			near(a->q, item_qs[tested++]);
			assert_true(a->difference_in.lo < a->difference);
			assert_true(a->difference_in.hi > a->difference);
		}
		assert_int_equal(tested, ARRAY_LEN(item_qs));
		assert_true(c.tests[COMPARE_SELF] == (double)tested);
		compare_release(&c);
	}
}

/* Intervals are of the program where there are clusters to tell. */
static void shares_are_clustered(const struct compare *c)
{
	for (int side = 0; side < COMPARE_SIDES; side++) {
		const struct compare_part *part =
			&c->items[0].part[COMPARE_SELF][side];
		const struct compare_set *set = &c->set[side];
		struct stats_clusters clusters = {
			set->sampled,        set->n_sq,
			part->spread.k_sq,   part->spread.kn,
			part->spread.having, part->spread.nothing_else
		};
		struct stats_interval in =
			set->sampled > 1
				? stats_share_clustered(&part->tally, &set->all,
							&clusters)
				: tally_share_interval(&part->tally, &set->all);

		near_interval(c->items[0].answer[COMPARE_SELF].share_in[side],
			      in.lo, in.hi);
	}
}

static void what_weighs_nothing_is_nowhere(void **state)
{
	struct compare c = { .least_clusters = COMPARE_FEW_BLOCKS };
	struct tally none = { 1, 0, 0, 0 };
	uint32_t item = 1;

	(void)state;
	add_clusters(&c, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
	add_clusters(&c, COMPARE_SECOND, second, ARRAY_LEN(second), 1);
	for (int i = 0; i < 5000; i++)
		assert_int_equal(
			compare_add(&c, COMPARE_SECOND, &item, 1, &none), 0);
	for (int kind = 0; kind < COMPARE_KINDS; kind++)
		assert_int_equal(c.gathering[kind].n_open, 0);
	/* an item of which one side has nothing else */
	item = ITEMS;
	assert_int_equal(compare_add(&c, COMPARE_SECOND, &item, 1, &none), 0);
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		struct tally t = tally_of_shape(40, 40);

		compare_add_all(&c, COMPARE_FIRST, &t);
		assert_int_equal(compare_add(&c, COMPARE_FIRST, &item, 1, &t),
				 0);
		compare_end_cluster(&c, COMPARE_FIRST, 1);
	}
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.items[item].answer[COMPARE_SELF].rule, COMPARE_SAID);
	assert_false(isnan(c.items[item].answer[COMPARE_SELF].ratio.hi));
	compare_release(&c);

	/* nothing but such */
	for (int side = 0; side < COMPARE_SIDES; side++) {
		compare_add_all(&c, side, &none);
		assert_int_equal(compare_add(&c, side, &item, 1, &none), 0);
		compare_end_cluster(&c, side, 1);
	}
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.rule, COMPARE_NO_SAMPLES);
	compare_release(&c);
}

static void near_answer(const struct compare_answer *got,
			const struct compare_answer *want)
{
	assert_int_equal(got->rule, want->rule);
	near(got->p, want->p);
	near(got->q, want->q);
	near(got->difference, want->difference);
	near_interval(got->difference_in, want->difference_in.lo,
		      want->difference_in.hi);
	near_interval(got->ratio, want->ratio.lo, want->ratio.hi);
	for (int side = 0; side < COMPARE_SIDES; side++) {
		near(got->rate[side], want->rate[side]);
		near(got->share[side], want->share[side]);
		near_interval(got->share_in[side], want->share_in[side].lo,
			      want->share_in[side].hi);
	}
}

/* Clusters added elsewhere are as if they had been added here. */
static void two_parts_are_the_whole(void **state)
{
	enum {
		FEW = ARRAY_LEN(first) / 3,
		MOST = ARRAY_LEN(second) - 2
	};
	struct compare whole = { .least_clusters = COMPARE_FEW_BLOCKS };
	struct compare part = whole, other = { 0 };

	(void)state;
	add_clusters(&whole, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
	add_clusters(&whole, COMPARE_SECOND, second, ARRAY_LEN(second), 1);
	add_clusters(&part, COMPARE_FIRST, first, FEW, 1);
	add_clusters(&part, COMPARE_SECOND, second, MOST, 1);
	add_clusters(&other, COMPARE_FIRST, first + FEW, ARRAY_LEN(first) - FEW,
		     1);
	add_clusters(&other, COMPARE_SECOND, second + MOST,
		     ARRAY_LEN(second) - MOST, 1);
	assert_int_equal(compare_merge(&part, &other), 0);
	compare_release(&other);
	/* nothing, and into nothing */
	assert_int_equal(compare_merge(&part, &other), 0);
	other.least_clusters = COMPARE_FEW_BLOCKS;
	assert_int_equal(compare_merge(&other, &part), 0);
	assert_int_equal(compare_finish(&whole), 0);
	assert_int_equal(compare_finish(&part), 0);
	assert_int_equal(compare_finish(&other), 0);
	assert_int_equal(part.n_items, whole.n_items);
	assert_int_equal(other.n_items, whole.n_items);
	for (size_t i = 0; i < whole.n_items; i++)
		for (int kind = 0; kind < COMPARE_KINDS; kind++) {
			near_answer(&part.items[i].answer[kind],
				    &whole.items[i].answer[kind]);
			near_answer(&other.items[i].answer[kind],
				    &whole.items[i].answer[kind]);
		}
	compare_release(&whole);
	compare_release(&part);
	compare_release(&other);
}

static void too_few_clusters_or_samples_are_told(void **state)
{
	struct compare c = { .least_clusters = COMPARE_FEW_BLOCKS };

	(void)state;
	add_clusters(&c, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
	add_clusters(&c, COMPARE_SECOND, second, COMPARE_FEW_BLOCKS - 1, 1);
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.rule, COMPARE_FEW_CLUSTERS);
	assert_int_equal(c.items[0].answer[COMPARE_SELF].rule,
			 COMPARE_FEW_CLUSTERS);
	assert_true(c.items[0].answer[COMPARE_SELF].share[1] > 0);
	shares_are_clustered(&c);
	compare_release(&c);

	/* one request against many: its own share is of its samples */
	c = (struct compare){ .least_clusters = COMPARE_FEW_REQUESTS };
	add_clusters(&c, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
	add_clusters(&c, COMPARE_SECOND, second, 1, 1);
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.rule, COMPARE_FEW_CLUSTERS);
	shares_are_clustered(&c);
	compare_release(&c);

	c = (struct compare){ .least_clusters = COMPARE_FEW_BLOCKS };
	add_clusters(&c, COMPARE_FIRST, first, ARRAY_LEN(first), 1);
	for (int i = 0; i < COMPARE_FEW_BLOCKS; i++)
		compare_end_cluster(&c, COMPARE_SECOND, 1);
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.rule, COMPARE_NO_SAMPLES);
	compare_release(&c);

	c = (struct compare){ .least_clusters = COMPARE_FEW_BLOCKS };
	assert_int_equal(compare_finish(&c), 0);
	assert_int_equal(c.rule, COMPARE_NO_SAMPLES);
	compare_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_of_shares_counts_and_sums),
		cmocka_unit_test(the_interval_of_a_difference),
		cmocka_unit_test(mid_p_is_that_of_fishers_test),
		cmocka_unit_test(what_cannot_be_found_is_known_beforehand),
		cmocka_unit_test(many_tests_are_adjusted_for),
		cmocka_unit_test(ratios_of_rates),
		cmocka_unit_test(quantiles_of_normal_and_t),
		cmocka_unit_test(a_p_of_little_known_variance),
		cmocka_unit_test(a_clustered_share),
		cmocka_unit_test(two_sets_of_clusters),
		cmocka_unit_test(two_parts_are_the_whole),
		cmocka_unit_test(what_weighs_nothing_is_nowhere),
		cmocka_unit_test(too_few_clusters_or_samples_are_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

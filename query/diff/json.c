/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/print.h"

static const char *const mode_words[] = {
	[DIFF_TWO_FILES] = "files", [DIFF_CUT] = "cut",
	[DIFF_WHERE] = "where",     [DIFF_SLOW] = "slow",
	[DIFF_TRACE] = "trace",
};

/* JSON has no infinity. */
static void json_finite(struct json *j, const char *key, double value)
{
	if (isfinite(value))
		json_real(j, key, value);
	else
		json_null(j, key);
}

static void json_set(const struct diff *d, struct json *j, const char *key,
		     enum compare_side side)
{
	const struct compare_set *set = &d->compare.set[side];
	size_t file = d->n_reports > 1 ? (size_t)side : 0;

	json_object(j, key);
	json_text(j, "word", diff_word(d, side));
	json_text(j, "file", db_path(d->reports[file].db));
	if (d->n_reports > 1)
		report_json_extent(&d->reports[file], j);
	json_int(j, "samples", (int64_t)set->all.count);
	json_int(j, "clusters", (int64_t)set->clusters);
	json_int(j, "clusters_sampled", (int64_t)set->sampled);
	if (!diff_is_of_requests(d))
		json_real(j, "block_ns",
			  set->clusters > 0 ? set->exposure / set->clusters
					    : 0);
	json_real(j, "rate",
		  set->exposure > 0 ? set->all.estimate / set->exposure : 0);
	if (d->compare.rule == COMPARE_SAID) {
		json_real(j, "self_design_effect", set->effect[COMPARE_SELF]);
		json_real(j, "total_design_effect", set->effect[COMPARE_TOTAL]);
	}
	json_end_object(j);
}

static int json_name(const struct diff *d, struct json *j, uint32_t item)
{
	char *name = diff_name(d, item);

	if (!name)
		return -1;
	json_text(j, d->by_stack ? "stack" : "function", name);
	free(name);
	if (!d->by_stack)
		json_text(j, "binary", diff_items_at(d->items, item)->binary);
	return 0;
}

static void json_shares(const struct diff *d, struct json *j,
			enum compare_kind kind, uint32_t item)
{
	static const char *const keys[COMPARE_SIDES][3] = {
		{ "first_samples", "first_share", "first_rate" },
		{ "second_samples", "second_share", "second_rate" },
	};
	const struct compare_item *of = &d->compare.items[item];
	const struct compare_answer *a = &of->answer[kind];

	for (int side = 0; side < COMPARE_SIDES; side++) {
		json_int(j, keys[side][0],
			 (int64_t)of->part[kind][side].tally.count);
		json_real(j, keys[side][1], a->share[side]);
		json_interval(j, keys[side][1], a->share_in[side]);
		json_real(j, keys[side][2], a->rate[side]);
	}
}

static int json_row(const struct diff *d, struct json *j,
		    enum compare_kind kind, uint32_t item)
{
	const struct compare_answer *a = &d->compare.items[item].answer[kind];

	json_object(j, NULL);
	if (json_name(d, j, item))
		return -1;
	json_shares(d, j, kind, item);
	json_text(j, "nothing_said",
		  a->rule == COMPARE_SAID ? NULL : diff_rule(d, a->rule));
	json_bool(j, "differs", diff_is_found(a));
	if (a->rule == COMPARE_SAID) {
		json_real(j, "difference", a->difference);
		json_interval(j, "difference", a->difference_in);
		json_real(j, "p", a->p);
		json_real(j, "q", a->q);
		json_finite(j, "ratio_lo", a->ratio.lo);
		json_finite(j, "ratio_hi", a->ratio.hi);
		json_finite(j, "least_difference",
			    compare_least_difference(&d->compare, kind,
						     a->share[0]));
	}
	json_end_object(j);
	return 0;
}

static int json_rows(const struct diff *d, struct json *j, const char *key,
		     enum compare_kind kind, size_t rows, struct weft_err *err)
{
	char name[64];
	size_t n, shown;
	uint32_t *order = diff_order(d, kind, &n);
	int rc = order ? 0 : diff_no_memory(err);

	shown = rows && rows < n ? rows : n;
	json_array(j, key);
	for (size_t i = 0; i < shown && !rc; i++)
		if (json_row(d, j, kind, order[i]))
			rc = diff_no_memory(err);
	json_end_array(j);
	snprintf(name, sizeof(name), "%s_tested", key);
	json_int(j, name, (int64_t)d->compare.tests[kind]);
	snprintf(name, sizeof(name), "%s_left_out", key);
	json_int(j, name, (int64_t)(n - shown));
	free(order);
	return rc;
}

static int json_ranks(const struct diff *d, struct json *j,
		      struct weft_err *err)
{
	json_text(j, "trace_id", d->hex);
	json_text(j, "service", *d->root.service ? d->root.service : NULL);
	json_text(j, "name", *d->root.name ? d->root.name : NULL);
	json_int(j, "peers", (int64_t)d->peers);
	json_array(j, "ranks");
	for (size_t i = 0; i < d->n_ranks; i++) {
		const struct diff_rank *r = &d->ranks[i];

		json_object(j, NULL);
		if (json_name(d, j, r->item))
			return diff_no_memory(err);
		json_real(j, "self_share", r->share[COMPARE_SELF]);
		json_int(j, "self_peers_at_least",
			 (int64_t)r->at_least[COMPARE_SELF]);
		json_real(j, "total_share", r->share[COMPARE_TOTAL]);
		json_int(j, "total_peers_at_least",
			 (int64_t)r->at_least[COMPARE_TOTAL]);
		json_end_object(j);
	}
	json_end_array(j);
	return 0;
}

int diff_print_json(const struct diff *d, size_t rows, struct weft_err *err)
{
	struct json j = { .to = stdout };
	int rc = 0;

	report_json(&d->reports[0], &j, "diff");
	json_text(&j, "mode", mode_words[d->mode]);
	json_text(&j, "by", d->by_stack ? "stack" : "function");
	json_bool(&j, "estimated", diff_is_of_requests(d));
	json_text(&j, "rates_are",
		  diff_is_of_requests(d) ? "of a request" : "by nanosecond");
	json_set(d, &j, "first", COMPARE_FIRST);
	json_set(d, &j, "second", COMPARE_SECOND);
	json_text(&j, "nothing_said",
		  d->compare.rule == COMPARE_SAID
			  ? NULL
			  : diff_rule(d, d->compare.rule));
	json_int(&j, "intervals_left_out", d->left_out);
	if (d->mode == DIFF_SLOW) {
		json_real(&j, "slow_from_ns", d->slow_from_ns);
		json_bool(&j, "by_extent", d->by_extent);
		json_int(&j, "requests_of_unknown_duration",
			 (int64_t)d->unknown);
	}
	if (diff_is_of_requests(d))
		json_bool(&j, "joined_by_time", d->by_time > 0);
	if (d->mode == DIFF_TRACE)
		rc = json_ranks(d, &j, err);
	if (!rc)
		rc = json_rows(d, &j, "self", COMPARE_SELF, rows, err);
	if (!rc && !d->by_stack)
		rc = json_rows(d, &j, "total", COMPARE_TOTAL, rows, err);
	json_end_object(&j);
	return rc;
}

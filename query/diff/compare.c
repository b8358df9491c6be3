/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/diff/compare.h"

/* An item whose p would be above that at best is not tested: it could not be
 * reported, and would only make it harder for others (Tarone 1990). That goes
 * for what has too few samples, and for what too few samples lack. */
static const double LEAST_P = 0.0025;

void compare_release(struct compare *c)
{
	for (int kind = 0; kind < COMPARE_KINDS; kind++) {
		struct compare_gathering *g = &c->gathering[kind];

		free(g->now);
		free(g->open);
		for (int side = 0; side < COMPARE_SIDES; side++)
			free(g->spread[side]);
	}
	free(c->items);
	*c = (struct compare){ 0 };
}

/* Make an array longer, with zeros. rows is the address of its pointer. */
static int lengthen(void *rows, size_t room, size_t new_room, size_t size)
{
	void *at, *grown;

	memcpy(&at, rows, sizeof(at));
	grown = reallocarray(at, new_room, size);
	if (!grown)
		return -ENOMEM;
	memset((char *)grown + room * size, 0, (new_room - room) * size);
	memcpy(rows, &grown, sizeof(grown));
	/* cppcheck-suppress memleak ; it is in the caller's pointer */
	return 0;
}

static int make_room(struct compare *c, size_t n)
{
	size_t room = c->room ? c->room : 1024;
	int rc;

	while (room < n)
		room *= 2;
	rc = lengthen(&c->items, c->room, room, sizeof(*c->items));
	for (int kind = 0; kind < COMPARE_KINDS; kind++) {
		struct compare_gathering *g = &c->gathering[kind];

		if (!rc)
			rc = lengthen(&g->now, c->room, room, sizeof(*g->now));
		/* One more: see compare_add_weight(). */
		if (!rc)
			rc = lengthen(&g->open, c->room ? c->room + 1 : 0,
				      room + 1, sizeof(*g->open));
		for (int side = 0; side < COMPARE_SIDES && !rc; side++)
			rc = lengthen(&g->spread[side], c->room, room,
				      sizeof(*g->spread[side]));
	}
	if (!rc)
		c->room = room;
	return rc;
}

void compare_add_all(struct compare *c, enum compare_side side,
		     const struct tally *tally)
{
	tally_add(&c->set[side].all, tally);
	c->weight_now += tally->weight;
}

/* Have room for an item. Returns 0 or -ENOMEM. */
static int reach(struct compare *c, uint32_t item)
{
	if (item < c->n_items)
		return 0;
	if (item >= c->room && make_room(c, (size_t)item + 1))
		return -ENOMEM;
	c->n_items = (size_t)item + 1;
	return 0;
}

/* Add to an item; it is open once it has some. No branch: for who has few
 * samples nobody can foretell which item is new. */
static inline void add_now(struct compare_gathering *g, uint32_t item,
			   double weight)
{
	g->open[g->n_open] = item;
	g->n_open += g->now[item] <= 0;
	g->now[item] += weight;
}

int compare_add_weight(struct compare *c, const uint32_t *items, size_t n,
		       double weight)
{
	struct compare_gathering total;

	/* What weighs nothing (a block of 0 ns) would not show as open. */
	if (!(weight > 0) || !n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (reach(c, items[i]))
			return -ENOMEM;
	add_now(&c->gathering[COMPARE_SELF], items[0], weight);
	total = c->gathering[COMPARE_TOTAL];
	for (size_t i = 0; i < n; i++)
		add_now(&total, items[i], weight);
	c->gathering[COMPARE_TOTAL].n_open = total.n_open;
	return 0;
}

int compare_add_sums(struct compare *c, enum compare_side side,
		     const uint32_t *items, size_t n, const struct tally *tally)
{
	for (size_t i = 0; i < n; i++) {
		if (reach(c, items[i]))
			return -ENOMEM;
		tally_add(&c->items[items[i]].part[COMPARE_TOTAL][side].tally,
			  tally);
	}
	if (n)
		tally_add(&c->items[items[0]].part[COMPARE_SELF][side].tally,
			  tally);
	return 0;
}

int compare_add(struct compare *c, enum compare_side side,
		const uint32_t *items, size_t n, const struct tally *tally)
{
	int rc = compare_add_weight(c, items, n, tally->weight);

	return rc ? rc : compare_add_sums(c, side, items, n, tally);
}

void compare_end_cluster(struct compare *c, enum compare_side side,
			 double exposure)
{
	struct compare_set *set = &c->set[side];
	double n = c->weight_now, nearly_n = n * (1 - 1e-9);

	for (int kind = 0; kind < COMPARE_KINDS; kind++) {
		struct compare_gathering *g = &c->gathering[kind];

		for (size_t i = 0; i < g->n_open; i++) {
			double k = g->now[g->open[i]];
			struct compare_spread *to =
				&g->spread[side][g->open[i]];

			to->k_sq += k * k;
			to->kn += k * n;
			to->ke += k * exposure;
			to->having++;
			to->nothing_else += k >= nearly_n;
			g->now[g->open[i]] = 0;
		}
		g->n_open = 0;
	}
	set->clusters++;
	set->sampled += n > 0;
	set->n_sq += n * n;
	set->exposure += exposure;
	set->exposure_sq += exposure * exposure;
	c->weight_now = 0;
}

static void merge_sets(struct compare_set *to, const struct compare_set *from)
{
	tally_add(&to->all, &from->all);
	to->clusters += from->clusters;
	to->sampled += from->sampled;
	to->n_sq += from->n_sq;
	to->exposure += from->exposure;
	to->exposure_sq += from->exposure_sq;
}

static void merge_spreads(struct compare_spread *to,
			  const struct compare_spread *from)
{
	to->k_sq += from->k_sq;
	to->kn += from->kn;
	to->ke += from->ke;
	to->having += from->having;
	to->nothing_else += from->nothing_else;
}

static void merge_items(struct compare *c, const struct compare *other,
			int kind, int side)
{
	struct compare_spread *to = c->gathering[kind].spread[side];
	const struct compare_spread *from = other->gathering[kind].spread[side];

	for (size_t i = 0; i < other->n_items; i++) {
		merge_spreads(&to[i], &from[i]);
		tally_add(&c->items[i].part[kind][side].tally,
			  &other->items[i].part[kind][side].tally);
	}
}

int compare_merge(struct compare *c, const struct compare *other)
{
	if (other->n_items && reach(c, (uint32_t)other->n_items - 1))
		return -ENOMEM;
	for (int side = 0; side < COMPARE_SIDES; side++) {
		merge_sets(&c->set[side], &other->set[side]);
		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			merge_items(c, other, kind, side);
	}
	return 0;
}

static struct stats_clusters clusters_of(const struct compare_part *part,
					 const struct compare_set *set)
{
	return (struct stats_clusters){
		.m = set->sampled,
		.n_sq = set->n_sq,
		.k_sq = part->spread.k_sq,
		.kn = part->spread.kn,
		.having = part->spread.having,
		.nothing_else = part->spread.nothing_else,
	};
}

static double between(const struct compare_part *part,
		      const struct compare_set *set, double share)
{
	const struct stats_clusters clusters = clusters_of(part, set);

	return stats_between(&clusters, &set->all, share);
}

/* The variance that independent samples would have. */
static double independent(const struct compare_set *set, double share)
{
	return share * (1 - share) / tally_samples(&set->all);
}

static double effect_of(const struct compare_part *part,
			const struct compare_set *set, double share)
{
	double base = independent(set, share);

	return base > 0 ? between(part, set, share) / base : 1;
}

static double pooled_share(const struct compare *c,
			   const struct compare_part *part)
{
	double n1 = tally_samples(&c->set[0].all),
	       n2 = tally_samples(&c->set[1].all);

	return (n1 * tally_share(&part[0].tally, &c->set[0].all) +
		n2 * tally_share(&part[1].tally, &c->set[1].all)) /
	       (n1 + n2);
}

/* How much more than independent samples vary, over all items. */
static void find_effects(struct compare *c, enum compare_kind kind)
{
	double seen[COMPARE_SIDES] = { 0 }, base[COMPARE_SIDES] = { 0 };

	for (size_t i = 0; i < c->n_items; i++) {
		const struct compare_part *part = c->items[i].part[kind];
		double share = pooled_share(c, part);

		for (int side = 0; side < COMPARE_SIDES && share > 0; side++) {
			seen[side] +=
				between(&part[side], &c->set[side], share);
			base[side] += independent(&c->set[side], share);
		}
	}
	for (int side = 0; side < COMPARE_SIDES; side++)
		c->set[side].effect[kind] =
			base[side] > 0 ? fmax(1, seen[side] / base[side]) : 1;
}

static bool is_rare(const struct compare_part *part,
		    const struct compare_set *set)
{
	const struct stats_clusters clusters = clusters_of(part, set);

	return stats_is_rare(&clusters);
}

/*
 * By what the number of samples on a side is to be divided: the design effect
 * of the item around a share, or that of its side, whichever is more (Rao,
 * Scott 1981). Where too few clusters have the item to tell, it is taken to
 * vary as on the other side; where these do not tell either, each cluster is
 * one observation. So for the interval, around the side's own share, and for
 * the test, around that of both: else a few large requests would be a finding.
 */
static double divisor(const struct compare *c, enum compare_kind kind,
		      const struct compare_part *part, int side, double share)
{
	const struct compare_set *set = &c->set[side], *other = &c->set[!side];
	double effect =
		fmax(set->effect[kind], effect_of(&part[side], set, share));

	if (!is_rare(&part[side], set))
		return effect;
	if (is_rare(&part[!side], other))
		return fmax(effect, set->n_sq / set->all.weight_sq);
	return fmax(effect,
		    effect_of(&part[!side], other,
			      tally_share(&part[!side].tally, &other->all)));
}

/* What a unit of weight stands for: sides of other rates have other ones. */
static double unit_of(const struct compare_set *set)
{
	double unit = set->all.estimate / set->all.weight;

	return unit > 0 && isfinite(unit) ? unit : 1;
}

/*
 * The design effect that a side would have if its clusters varied as those of
 * both sides do together, around the share of both. If nothing differs they are
 * drawn from the same ones, and a side with few may merely lack the large ones
 * that chance gave the other: by its own clusters alone it would seem to vary
 * little. Where a side has the larger clusters it counts that they are.
 */
static double effect_of_both(const struct compare *c,
			     const struct compare_part *part, int side,
			     double share)
{
	const struct compare_set *set = &c->set[side];
	double base = independent(set, share), m = 0, n = 0, spread = 0;
	double size = set->all.weight / set->sampled * unit_of(set);

	for (int i = 0; i < COMPARE_SIDES; i++) {
		const struct compare_spread *s = &part[i].spread;
		double unit = unit_of(&c->set[i]);

		m += c->set[i].sampled;
		n += c->set[i].all.weight * unit;
		spread += (s->k_sq - 2 * share * s->kn +
			   share * share * c->set[i].n_sq) *
			  unit * unit;
	}
	size = fmax(size, n / m);
	return base > 0 ? spread / (m - 1) / (set->sampled * size * size) / base
			: 1;
}

static void find_difference(const struct compare *c, enum compare_kind kind,
			    const struct compare_part *part,
			    struct compare_answer *to)
{
	struct stats_interval in[COMPARE_SIDES];

	for (int side = 0; side < COMPARE_SIDES; side++) {
		const struct compare_set *set = &c->set[side];
		double n = tally_samples(&set->all) /
			   divisor(c, kind, part, side, to->share[side]);

		in[side] = stats_share_at(to->share[side] * n, n, set->student);
	}
	to->difference_in =
		compare_difference(to->share[1], in[1], to->share[0], in[0]);
}

/* Degrees of freedom of a difference between n0 and n1 effective samples. */
static double freedom_of(const struct compare *c, double n0, double n1)
{
	return compare_freedom(1 / n0, c->set[0].freedom, 1 / n1,
			       c->set[1].freedom);
}

/*
 * p of an item, in effective numbers of samples. How much these are worth was
 * told by the clusters; where a few of them have most of the samples that is
 * little known, and the normal p finds what is not there.
 */
static void test(const struct compare *c, enum compare_kind kind,
		 const struct compare_part *part, struct compare_answer *to)
{
	double share = pooled_share(c, part);
	double k[COMPARE_SIDES], n[COMPARE_SIDES], few;

	for (int side = 0; side < COMPARE_SIDES; side++) {
		n[side] = tally_samples(&c->set[side].all) /
			  fmax(divisor(c, kind, part, side, share),
			       effect_of_both(c, part, side, share));
		k[side] = to->share[side] * n[side];
	}
	few = fmin(k[0] + k[1], n[0] + n[1] - k[0] - k[1]);
	if (compare_least_p(few, n[0] / (n[0] + n[1])) > LEAST_P) {
		to->rule = COMPARE_FEW_SAMPLES;
		return;
	}
	to->p = compare_student_p(compare_mid_p(k[0], n[0], k[1], n[1]),
				  freedom_of(c, n[0], n[1]));
}

/* How much more than Poisson's the counts of clusters vary. */
static double dispersion(const struct compare_part *part,
			 const struct compare_set *set)
{
	double each = part->tally.weight / set->exposure;
	double spread = part->spread.k_sq - 2 * each * part->spread.ke +
			each * each * set->exposure_sq;

	if (part->tally.weight_sq <= 0 || set->clusters < 2)
		return 1;
	return fmax(1, set->clusters / (set->clusters - 1) * spread /
			       part->tally.weight_sq);
}

/* Rates, and the limits of their ratio: of counts divided by how much more they
 * vary than Poisson's. */
static void find_rates(const struct compare *c, const struct compare_part *part,
		       struct compare_answer *to)
{
	double k[COMPARE_SIDES], exposure[COMPARE_SIDES], more = 1;

	/* No time at all (damage) has no rate. */
	to->ratio = (struct stats_interval){ 0, INFINITY };
	if (!(c->set[0].exposure > 0) || !(c->set[1].exposure > 0))
		return;
	for (int side = 0; side < COMPARE_SIDES; side++)
		more = fmax(more, dispersion(&part[side], &c->set[side]));
	for (int side = 0; side < COMPARE_SIDES; side++) {
		const struct compare_set *set = &c->set[side];
		const struct tally *t = part[side].tally.weight > 0
						? &part[side].tally
						: &set->all;
		double each = t->estimate / tally_samples(t);

		to->rate[side] = part[side].tally.estimate / set->exposure;
		k[side] = tally_samples(&part[side].tally) / more;
		exposure[side] = set->exposure / (each * more);
	}
	to->ratio = compare_ratio(k[1], exposure[1], k[0], exposure[0]);
}

static enum compare_rule rule_of(const struct compare *c)
{
	enum compare_rule rule = COMPARE_SAID;

	for (int side = 0; side < COMPARE_SIDES; side++) {
		if (!(c->set[side].all.weight > 0))
			return COMPARE_NO_SAMPLES;
		if (c->set[side].sampled < c->least_clusters)
			rule = COMPARE_FEW_CLUSTERS;
	}
	return rule;
}

static void answer(struct compare *c, struct compare_item *item,
		   enum compare_kind kind)
{
	const struct compare_part *part = item->part[kind];
	struct compare_answer *to = &item->answer[kind];

	*to = (struct compare_answer){ .rule = c->rule };
	for (int side = 0; side < COMPARE_SIDES; side++) {
		const struct compare_set *set = &c->set[side];
		const struct stats_clusters clusters =
			clusters_of(&part[side], set);

		to->share[side] = tally_share(&part[side].tally, &set->all);
		to->share_in[side] =
			set->sampled > 1
				? stats_share_clustered(&part[side].tally,
							&set->all, &clusters)
				: tally_share_interval(&part[side].tally,
						       &set->all);
		if (set->exposure > 0)
			to->rate[side] =
				part[side].tally.estimate / set->exposure;
	}
	to->difference = to->share[1] - to->share[0];
	if (to->rule != COMPARE_SAID)
		return;
	if (part[0].tally.count + part[1].tally.count == 0)
		to->rule = COMPARE_FEW_SAMPLES;
	else
		test(c, kind, part, to);
	if (to->rule != COMPARE_SAID)
		return;
	find_difference(c, kind, part, to);
	find_rates(c, part, to);
}

/* q of all that were tested; the number of tests. */
static int adjust(struct compare *c, enum compare_kind kind)
{
	double *p = calloc(c->n_items + 1, sizeof(*p));
	size_t n = 0;
	int rc;

	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_items; i++)
		if (c->items[i].answer[kind].rule == COMPARE_SAID)
			p[n++] = c->items[i].answer[kind].p;
	c->tests[kind] = (double)n;
	rc = compare_adjust(p, p, n);
	n = 0;
	for (size_t i = 0; i < c->n_items && !rc; i++)
		if (c->items[i].answer[kind].rule == COMPARE_SAID)
			c->items[i].answer[kind].q = p[n++];
	free(p);
	return rc;
}

/* What was gathered, to the rest of each item. */
static void put_together(struct compare *c)
{
	for (size_t i = 0; i < c->n_items; i++)
		for (int kind = 0; kind < COMPARE_KINDS; kind++)
			for (int side = 0; side < COMPARE_SIDES; side++)
				c->items[i].part[kind][side].spread =
					c->gathering[kind].spread[side][i];
}

/*
 * As many clusters of equal size would tell as much: Kish's effective number
 * (1965), as of weights. Where it is less than half of them, a few have most of
 * the samples, and what all of them vary by is known by no more than these: one
 * degree of freedom less than there are. Else the design effect is taken for
 * known (Rao, Scott 1981).
 */
static void find_freedom(struct compare_set *set)
{
	double clusters =
		set->n_sq > 0 ? set->all.weight * set->all.weight / set->n_sq
			      : 0;

	set->freedom =
		clusters < set->sampled / 2 ? fmax(1, clusters - 1) : INFINITY;
	set->student =
		stats_student(fmin(floor(set->freedom), set->sampled - 1));
}

int compare_finish(struct compare *c)
{
	int rc = 0;

	put_together(c);
	c->rule = rule_of(c);
	for (int side = 0; side < COMPARE_SIDES; side++)
		find_freedom(&c->set[side]);
	for (int kind = 0; kind < COMPARE_KINDS && !rc; kind++) {
		if (c->rule == COMPARE_SAID)
			find_effects(c, kind);
		for (size_t i = 0; i < c->n_items; i++)
			answer(c, &c->items[i], kind);
		rc = adjust(c, kind);
	}
	return rc;
}

double compare_least_difference(const struct compare *c, enum compare_kind kind,
				double share)
{
	const struct compare_set *set = c->set;
	double n[COMPARE_SIDES];

	for (int side = 0; side < COMPARE_SIDES; side++)
		n[side] =
			tally_samples(&set[side].all) / set[side].effect[kind];
	return compare_detectable(share, n[1], n[0], c->tests[kind],
				  freedom_of(c, n[0], n[1]));
}

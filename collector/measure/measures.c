/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/cgroup.h"
#include "collector/measure/inside.h"
#include "collector/probe_sites.h"
#include "collector/tracepoints.h"

static int plan_one(struct one *one, const char *text, int *events_fd,
		    struct weft_err *err)
{
	struct probe_sites sites;
	struct measure m;
	int rc = measure_parse(text, &m, err);

	if (!rc && m.probe == MEASURE_TRACEPOINT && *events_fd < 0) {
		*events_fd = tracepoints_open(err);
		rc = *events_fd < 0 ? *events_fd : 0;
	}
	if (!rc)
		rc = measure_plan(&m, *events_fd, &one->ready, err);
	/* That it is there; libbpf reads where its arguments are. */
	if (!rc && m.probe == MEASURE_USDT)
		rc = probe_sites_of_usdt(m.where, m.provider, m.what, &sites,
					 err);
	else if (!rc && m.probe != MEASURE_TRACEPOINT)
		rc = measure_symbol(m.where, m.what, &one->place, err);
	if (!rc && m.offset && one->place.size && m.offset >= one->place.size)
		rc = weft_fail(err, -EINVAL,
			       "'%s' in '%s' has %llu bytes: +%llu is outside",
			       m.what, m.where,
			       (unsigned long long)one->place.size,
			       (unsigned long long)m.offset);
	return rc;
}

static int check_names(const struct measures *m, struct weft_err *err)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t k = 0; k < i; k++)
			if (!strcmp(m->one[i].ready.measure.name,
				    m->one[k].ready.measure.name))
				return weft_fail(
					err, -EINVAL,
					"two measures are called '%s'; give each a name, as in 'NAME = count() ...'",
					m->one[i].ready.measure.name);
	return 0;
}

/* Which measures send examples: at least one must be able to. */
static int plan_examples(struct measures *m, uint32_t n, struct weft_err *err)
{
	bool any = false;

	for (size_t i = 0; i < m->n; i++)
		any |= measure_plan_examples(&m->one[i].ready, n);
	return any ? 0
		   : weft_fail(
			     err, -EINVAL,
			     "--examples is for hist(), lhist(), max() and stats(): no measure is one of them");
}

static const char *attribute_of(const struct one *one)
{
	const struct measure *m = &one->ready.measure;

	for (size_t i = 0; i < m->n_keys; i++)
		if (m->key[i].kind == MEASURE_ATTRIBUTE)
			return m->key[i].field;
	return NULL;
}

const char *measures_attribute(const struct measures *m)
{
	const char *found = NULL;

	for (size_t i = 0; i < measures_count(m) && !found; i++)
		found = attribute_of(&m->one[i]);
	return found;
}

/* The kernel program numbers the values of one attribute. */
static int check_attributes(const struct measures *m, struct weft_err *err)
{
	const char *all = measures_attribute(m);

	for (size_t i = 0; i < m->n; i++) {
		const char *own = attribute_of(&m->one[i]);

		if (own && strcmp(own, all))
			return weft_fail(
				err, -EINVAL,
				"measure '%s': attr.%s beside attr.%s: one attribute in a recording can be a key",
				m->one[i].ready.measure.name, own, all);
	}
	return 0;
}

bool measures_take_threads(const struct measures *m)
{
	for (size_t i = 0; i < measures_count(m); i++) {
		const struct measure_plan *plan = &m->one[i].ready.plan;

		if (plan->examples || plan->stack_at || plan->attribute_at)
			return true;
	}
	return false;
}

const char *measures_cgroup(const struct measures *m, uint64_t id)
{
	return cgroups_path(m->cgroups, id);
}

bool measure_key_stack(const struct measure_ready *r,
		       const struct measure_key *key, struct weft_identity *who,
		       struct weft_stack_key *stack)
{
	const __u64 *word = key->word + r->plan.stack_at - 1;

	if (!r->plan.stack_at)
		return false;
	*who = (struct weft_identity){
		.start_ns = word[0],
		.pid = (uint32_t)word[1],
		.exec_seq = (uint32_t)(word[1] >> 32),
	};
	*stack = (struct weft_stack_key){ { word[2], word[3] } };
	return true;
}

int measures_plan(struct measures **out, const struct measures_opts *opts,
		  struct weft_err *err)
{
	struct measures *m = calloc(1, sizeof(*m));
	int events_fd = -1, rc = 0;

	*out = NULL;
	if (!m)
		return weft_fail(err, -ENOMEM, "cannot measure: out of memory");
	m->max_keys = opts->max_keys;
	m->n_cpus = libbpf_num_possible_cpus();
	for (size_t i = 0; i < opts->n && !rc; i++) {
		m->one[i].place.fd = -1;
		m->n = i + 1;
		rc = plan_one(&m->one[i], opts->text[i], &events_fd, err);
		m->one[i].ready.plan.number = (uint32_t)i;
	}
	if (!rc && opts->examples)
		rc = plan_examples(m, opts->examples, err);
	m->cgroups = cgroups_new();
	if (!rc && !m->cgroups)
		rc = weft_fail(err, -ENOMEM, "cannot measure: out of memory");
	if (!rc)
		rc = check_names(m, err);
	if (!rc)
		rc = check_attributes(m, err);
	if (events_fd >= 0)
		close(events_fd);
	if (rc) {
		measures_close(m);
		return rc;
	}
	*out = m;
	return 0;
}

void measures_close(struct measures *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++) {
		measure_detach(&m->one[i]);
		if (m->one[i].place.fd >= 0)
			close(m->one[i].place.fd);
	}
	free(m->keys);
	free(m->values);
	free(m->ledgers);
	cgroups_free(m->cgroups);
	free(m);
}

size_t measures_count(const struct measures *m)
{
	return m ? m->n : 0;
}

const struct measure_ready *measures_get(const struct measures *m, size_t i)
{
	return &m->one[i].ready;
}

uint32_t measures_max_keys(const struct measures *m)
{
	return m->max_keys;
}

uint32_t measure_room(const struct measures *m, const struct one *one)
{
	return one->ready.plan.n_keys ? m->max_keys : 1;
}

uint64_t measures_memory(const struct measures *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < measures_count(m); i++) {
		const struct measure_ready *r = &m->one[i].ready;

		bytes += (uint64_t)WEFT_EPOCHS * measure_room(m, &m->one[i]) *
			 (64 + r->key_bytes +
			  (uint64_t)m->n_cpus * r->value_bytes);
		if (r->plan.pairs)
			bytes += (uint64_t)CALLS_MAX *
				 (48 + sizeof(struct measure_call_key) +
				  sizeof(struct measure_call));
	}
	return bytes;
}

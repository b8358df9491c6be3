/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/cgroup.h"
#include "collector/grow.h"
#include "collector/map_drain.h"
#include "collector/measure/measures.h"
#include "collector/measure/symbol.h"
#include "collector/tracefs.h"
#include "collector/tracepoints.h"
#include "gen/measure.skel.h"

enum {
	DRAIN_BYTES = 4 << 20, /* of values, in one call to the kernel */
	CALLS_MAX = 16384,     /* that have not returned, of a measure */
	LINKS_MAX = 2,
	EXAMPLES_MAX = 65536, /* of all measures, in an interval */
	ENOTSUPP = 524        /* of the kernel, not of user space */
};

struct one {
	struct measure_ready ready;
	struct measure_place place; /* of a function; fd -1: none */
	struct measure_bpf *skel;   /* owned */
	struct bpf_link *link[LINKS_MAX];
	uint64_t missed; /* by the kernel's count, so far */
};

struct measures {
	struct one one[MEASURES_MAX];
	size_t n;
	uint32_t max_keys;
	int n_cpus;              /* possible */
	struct cgroups *cgroups; /* owned */
	/* Buffers of a batch, owned. */
	void *keys, *values;
	struct measure_ledger *ledgers; /* n_cpus */
};

void measure_harvest_release(struct measure_harvest *h)
{
	free(h->rows);
	free(h->buckets);
	free(h->examples);
	*h = (struct measure_harvest){ 0 };
}

void measure_harvest_example(struct measure_harvest *h,
			     const struct measure_example *example)
{
	uint32_t measure = example->sample.event;

	if (measure >= MEASURES_MAX)
		return;
	if (h->n_examples >= EXAMPLES_MAX ||
	    GROW(h->examples, h->n_examples + 1, h->examples_room))
		h->unsent[measure]++;
	else
		h->examples[h->n_examples++] = *example;
}

static int plan_one(struct one *one, const char *text, int *events_fd,
		    struct weft_err *err)
{
	struct measure m;
	int rc = measure_parse(text, &m, err);

	if (!rc && m.probe == MEASURE_TRACEPOINT && *events_fd < 0) {
		*events_fd = tracepoints_open(err);
		rc = *events_fd < 0 ? *events_fd : 0;
	}
	if (!rc)
		rc = measure_plan(&m, *events_fd, &one->ready, err);
	if (!rc && m.probe != MEASURE_TRACEPOINT)
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
		for (int k = 0; k < LINKS_MAX; k++)
			bpf_link__destroy(m->one[i].link[k]);
		measure_bpf__destroy(m->one[i].skel);
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

uint64_t measures_memory(const struct measures *m)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < measures_count(m); i++) {
		const struct measure_ready *r = &m->one[i].ready;

		bytes += (uint64_t)WEFT_EPOCHS * m->max_keys *
			 (64 + r->key_bytes +
			  (uint64_t)m->n_cpus * r->value_bytes);
		if (r->plan.pairs)
			bytes += (uint64_t)CALLS_MAX *
				 (48 + sizeof(struct measure_call_key) +
				  sizeof(struct measure_call));
	}
	return bytes;
}

/* Which programs a hook takes: the first is attached first, so that no call is
 * seen to begin whose end would not be. */
static size_t programs_of(struct one *one,
			  struct bpf_program *program[LINKS_MAX])
{
	bool pairs = one->ready.plan.pairs;

	switch (one->ready.hook) {
	case MEASURE_AT_SYS_ENTER:
		program[0] = one->skel->progs.on_sys_enter;
		return 1;
	case MEASURE_AT_SYS_EXIT:
		program[0] = one->skel->progs.on_sys_exit;
		program[1] = one->skel->progs.on_sys_enter;
		return pairs ? 2 : 1;
	case MEASURE_AT_RAW:
		program[0] = one->skel->progs.on_raw;
		return 1;
	case MEASURE_AT_TRACEPOINT:
		program[0] = one->skel->progs.on_tracepoint;
		return 1;
	case MEASURE_AT_ENTRY:
		program[0] = one->skel->progs.on_entry;
		return 1;
	case MEASURE_AT_RETURN:
		program[0] = one->skel->progs.on_return;
		program[1] = one->skel->progs.on_entry;
		return pairs ? 2 : 1;
	}
	return 0;
}

/* What has no keys has one value: an array is the quicker to count in. */
static int make_array(struct bpf_map *values)
{
	int rc = bpf_map__set_type(values, BPF_MAP_TYPE_PERCPU_ARRAY);

	if (!rc)
		rc = bpf_map__set_key_size(values, sizeof(uint32_t));
	return rc ? rc : bpf_map__set_max_entries(values, 1);
}

static int size_maps(struct measures *m, struct one *one)
{
	const struct measure_ready *r = &one->ready;
	struct bpf_map *values[] = { one->skel->maps.values_0,
				     one->skel->maps.values_1 };
	int rc = bpf_map__set_value_size(one->skel->maps.nothing,
					 r->value_bytes);

	for (size_t i = 0; i < ARRAY_LEN(values) && !rc; i++) {
		rc = bpf_map__set_max_entries(values[i], m->max_keys);
		if (!rc)
			rc = bpf_map__set_key_size(values[i], r->key_bytes);
		if (!rc)
			rc = bpf_map__set_value_size(values[i], r->value_bytes);
		if (!rc && !r->plan.n_keys)
			rc = make_array(values[i]);
	}
	if (!rc)
		rc = bpf_map__set_max_entries(one->skel->maps.calls,
					      r->plan.pairs ? CALLS_MAX : 1);
	return rc;
}

/* Maps of an object's own, though the sampler's has some of the same names:
 * its variables, and what libbpf keeps of USDT probes. */
static bool is_own(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	return (bpf_map__is_internal(map) &&
		strcmp(name, WEFT_SHARED_SECTION)) ||
	       !strncmp(name, "__bpf_usdt", 10);
}

/* Have the program use the sampler's maps in place of its own of the same
 * names (targets, and what examples are made of), and be configured as it is.
 */
static int share(struct one *one, struct probe *probe)
{
	struct weft_config *config =
		(struct weft_config *)&one->skel->rodata->config;
	struct bpf_map *ours;

	memcpy(config, probe_config(probe), sizeof(*config));
	config->attributes = 0; /* examples come without */
	bpf_object__for_each_map(ours, one->skel->obj)
	{
		struct bpf_map *theirs = bpf_object__find_map_by_name(
			probe_object(probe), bpf_map__name(ours));
		int rc = 0;

		if (theirs && !is_own(ours))
			rc = bpf_map__reuse_fd(ours, bpf_map__fd(theirs));
		if (rc)
			return rc;
	}
	return 0;
}

static int load(struct measures *m, struct one *one, struct probe *probe,
		struct weft_err *err)
{
	struct bpf_program *wanted[LINKS_MAX], *p;
	size_t n;
	int rc;

	one->skel = measure_bpf__open();
	if (!one->skel)
		return weft_fail(err, -errno, "cannot measure: %s",
				 strerror(errno));
	memcpy((void *)&one->skel->rodata->plan, &one->ready.plan,
	       sizeof(one->ready.plan));
	bpf_object__for_each_program(p, one->skel->obj)
		bpf_program__set_autoload(p, false);
	n = programs_of(one, wanted);
	for (size_t i = 0; i < n; i++)
		bpf_program__set_autoload(wanted[i], true);
	rc = share(one, probe);
	if (!rc)
		rc = size_maps(m, one);
	if (!rc)
		rc = measure_bpf__load(one->skel);
	if (rc)
		return weft_fail(
			err, rc,
			"cannot load the program of measure '%s': %s; `weft record -v` shows what the kernel says",
			one->ready.measure.name, strerror(-rc));
	one->skel->bss->current_epoch = probe_epoch(probe);
	return 0;
}

/* The kernel looks at the instruction only when it puts the probe into a
 * mapping of the file. So that it does so now, and says what it finds, we have
 * one ourselves; nothing of it is touched or run. */
static struct bpf_link *
attach_function(struct one *one, struct bpf_program *program, bool is_return)
{
	long page = sysconf(_SC_PAGESIZE);
	uint64_t at = one->place.offset + one->ready.measure.offset;
	void *map = mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			 one->place.fd, (off_t)(at & ~((uint64_t)page - 1)));
	struct bpf_link *link;
	char path[32];
	int code;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", one->place.fd);
	link = bpf_program__attach_uprobe(program, is_return, -1, path, at);
	code = errno;
	if (map != MAP_FAILED)
		munmap(map, (size_t)page);
	errno = code;
	return link;
}

static int fail_attach(const struct one *one, int code, struct weft_err *err)
{
	const struct measure *m = &one->ready.measure;
	bool is_function = m->probe != MEASURE_TRACEPOINT;

	if (is_function && (code == ENOTSUPP || code == EINVAL ||
			    code == EOPNOTSUPP || code == EIO))
		return weft_fail(
			err, -EINVAL,
			"measure '%s': the kernel cannot probe the instruction at %s%s in '%s'; take another function, or an offset in it",
			m->name, m->what, m->offset ? "+OFFSET" : "", m->where);
	return weft_fail(err, -code, "measure '%s': cannot attach to %s: %s",
			 m->name, m->probe_text, strerror(code));
}

static int attach(struct one *one, struct weft_err *err)
{
	const struct measure_ready *r = &one->ready;
	struct bpf_program *program[LINKS_MAX];
	size_t n = programs_of(one, program);

	for (size_t i = 0; i < n; i++) {
		if (r->hook == MEASURE_AT_RAW)
			one->link[i] = bpf_program__attach_raw_tracepoint(
				program[i], r->measure.what);
		else if (r->hook == MEASURE_AT_TRACEPOINT)
			one->link[i] = tracefs_attach(
				program[i], r->measure.where, r->measure.what);
		else if (r->hook >= MEASURE_AT_ENTRY)
			one->link[i] = attach_function(
				one, program[i],
				program[i] == one->skel->progs.on_return);
		else
			one->link[i] = bpf_program__attach(program[i]);
		if (!one->link[i])
			return fail_attach(one, errno, err);
	}
	return 0;
}

static uint32_t batch_of(const struct measures *m, const struct one *one)
{
	uint64_t bytes = (uint64_t)m->n_cpus * one->ready.value_bytes;
	uint64_t n = DRAIN_BYTES / bytes;

	return n > m->max_keys ? m->max_keys : n < 16 ? 16 : (uint32_t)n;
}

static int make_buffers(struct measures *m, struct weft_err *err)
{
	size_t keys = 0, values = 0;

	for (size_t i = 0; i < m->n; i++) {
		const struct measure_ready *r = &m->one[i].ready;
		size_t n = batch_of(m, &m->one[i]);

		if (n * r->key_bytes > keys)
			keys = n * r->key_bytes;
		if (n * r->value_bytes * (size_t)m->n_cpus > values)
			values = n * r->value_bytes * (size_t)m->n_cpus;
	}
	m->keys = malloc(keys);
	m->values = malloc(values);
	m->ledgers = calloc((size_t)m->n_cpus, sizeof(*m->ledgers));
	return m->keys && m->values && m->ledgers
		       ? 0
		       : weft_fail(err, -ENOMEM,
				   "cannot measure: out of memory");
}

int measures_attach(struct measures *m, struct probe *probe,
		    struct weft_err *err)
{
	int rc = make_buffers(m, err);

	for (size_t i = 0; i < m->n && !rc; i++)
		rc = load(m, &m->one[i], probe, err);
	for (size_t i = 0; i < m->n && !rc; i++)
		rc = attach(&m->one[i], err);
	return rc;
}

void measures_turn(struct measures *m, uint32_t epoch)
{
	for (size_t i = 0; i < measures_count(m); i++)
		m->one[i].skel->bss->current_epoch = epoch;
}

/* What of a measure is moved from and to. */
struct draining {
	const struct measures *m;
	size_t number;
	struct measure_harvest *h;
};

/* One key: the sum over CPUs. */
static int take_row(const struct draining *d, const uint8_t *key,
		    const uint8_t *values)
{
	const struct measure_ready *r = &d->m->one[d->number].ready;
	struct measure_harvest *h = d->h;
	size_t n_buckets = r->plan.n_buckets;
	uint64_t not_min = 0, max = 0, turn;
	struct measure_row *row;

	if (GROW(h->rows, h->n_rows + 1, h->rows_room) ||
	    GROW(h->buckets, h->n_buckets + n_buckets, h->buckets_room))
		return -ENOMEM;
	row = &h->rows[h->n_rows++];
	*row = (struct measure_row){ .measure = (uint32_t)d->number,
				     .first = h->n_buckets };
	memcpy(&row->key, key, r->key_bytes);
	memset(h->buckets + h->n_buckets, 0, n_buckets * sizeof(uint64_t));
	for (int cpu = 0; cpu < d->m->n_cpus; cpu++) {
		const struct measure_value *v =
			(const void *)(values + (size_t)cpu * r->value_bytes);

		row->count += v->count;
		row->sum += v->sum;
		if (v->not_min > not_min)
			not_min = v->not_min;
		if (v->max > max)
			max = v->max;
		for (size_t i = 0; i < n_buckets; i++)
			h->buckets[h->n_buckets + i] += v->bucket[i];
	}
	h->n_buckets += n_buckets;
	turn = r->plan.value.is_signed ? 1ULL << 63 : 0;
	row->min = r->plan.keeps_extremes ? ~not_min ^ turn : 0;
	row->max = r->plan.keeps_extremes ? max ^ turn : 0;
	/* A key that nothing was added to, as when a program was busy. */
	if (!row->count)
		h->n_rows--;
	return 0;
}

static int take_rows(void *ctx, uint32_t n)
{
	const struct draining *d = ctx;
	const struct measures *m = d->m;
	const struct measure_ready *r = &m->one[d->number].ready;
	size_t value = (size_t)m->n_cpus * r->value_bytes;
	int rc = 0;

	for (uint32_t i = 0; i < n && !rc; i++)
		rc = take_row(d, (uint8_t *)m->keys + i * r->key_bytes,
			      (uint8_t *)m->values + i * value);
	return rc;
}

/* The value of what has no keys; then it is nothing again. */
static int drain_array(struct measures *m, struct draining *d, int fd)
{
	const struct measure_ready *r = &m->one[d->number].ready;
	uint32_t only = 0;
	int rc = bpf_map_lookup_elem(fd, &only, m->values);

	memset(m->keys, 0, r->key_bytes);
	if (!rc)
		rc = take_rows(d, 1);
	memset(m->values, 0, (size_t)m->n_cpus * r->value_bytes);
	return rc ? rc : bpf_map_update_elem(fd, &only, m->values, BPF_ANY);
}

static int drain_values(struct measures *m, size_t number, uint32_t epoch,
			struct measure_harvest *h)
{
	const struct one *one = &m->one[number];
	struct draining d = { m, number, h };
	int fd = bpf_map__fd(epoch % WEFT_EPOCHS ? one->skel->maps.values_1
						 : one->skel->maps.values_0);

	if (!one->ready.plan.n_keys)
		return drain_array(m, &d, fd);
	return map_drain(fd, m->keys, m->values, batch_of(m, one), take_rows,
			 &d);
}

static int drain_ledger(struct measures *m, size_t number, uint32_t epoch,
			struct measure_harvest *h)
{
	int fd = bpf_map__fd(m->one[number].skel->maps.measure_ledgers);
	uint32_t slot = epoch % WEFT_EPOCHS;
	int rc = bpf_map_lookup_elem(fd, &slot, m->ledgers);

	for (int cpu = 0; cpu < m->n_cpus && !rc; cpu++)
		for (int i = 0; i < MEASURE_ENTRIES; i++)
			h->ledger[number].entry[i] += m->ledgers[cpu].entry[i];
	if (rc)
		return rc;
	memset(m->ledgers, 0, (size_t)m->n_cpus * sizeof(*m->ledgers));
	return bpf_map_update_elem(fd, &slot, m->ledgers, BPF_ANY);
}

/* Events at which the kernel left out the program: while another ran on that
 * CPU, or a table was being changed. */
static uint64_t take_missed(struct one *one)
{
	struct bpf_program *program[LINKS_MAX];
	size_t n = programs_of(one, program);
	uint64_t before = one->missed;

	one->missed = 0;
	for (size_t i = 0; i < n; i++)
		one->missed += probe_misses(bpf_program__fd(program[i]));
	return one->missed - before;
}

int measures_drain(struct measures *m, uint32_t epoch,
		   struct measure_harvest *h, struct weft_err *err)
{
	for (size_t i = 0; i < measures_count(m); i++) {
		int rc = drain_values(m, i, epoch, h);

		if (!rc)
			rc = drain_ledger(m, i, epoch, h);
		if (rc)
			return weft_fail(
				err, rc, "cannot read measure '%s': %s",
				m->one[i].ready.measure.name, strerror(-rc));
		h->missed[i] = take_missed(&m->one[i]);
	}
	return 0;
}

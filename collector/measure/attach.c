/* SPDX-License-Identifier: MIT */
/* The kernel program of each measure: loaded with its plan, on the sampler's
 * maps, and attached. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "collector/measure/inside.h"
#include "collector/tracefs.h"
#include "collector/uprobe.h"
#include "gen/measure.skel.h"

size_t measure_programs(const struct one *one,
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
	case MEASURE_AT_USDT:
		program[0] = one->skel->progs.on_usdt;
		return 1;
	}
	return 0;
}

/* What has no keys has one value: an array is the quicker to count in. */
static int make_array(struct bpf_map *values)
{
	int rc = bpf_map__set_type(values, BPF_MAP_TYPE_PERCPU_ARRAY);

	return rc ? rc : bpf_map__set_key_size(values, sizeof(uint32_t));
}

static int size_maps(const struct measures *m, struct one *one)
{
	const struct measure_ready *r = &one->ready;
	struct bpf_map *values[] = { one->skel->maps.values_0,
				     one->skel->maps.values_1 };
	int rc = bpf_map__set_value_size(one->skel->maps.nothing,
					 r->value_bytes);

	for (size_t i = 0; i < ARRAY_LEN(values) && !rc; i++) {
		rc = bpf_map__set_max_entries(values[i], measure_room(m, one));
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
	n = measure_programs(one, wanted);
	for (size_t i = 0; i < n; i++)
		bpf_program__set_autoload(wanted[i], true);
	rc = share(one, probe);
	if (!rc)
		rc = size_maps(m, one);
	if (!rc)
		rc = measure_bpf__load(one->skel);
	if (!rc && !one->skel->bss)
		rc = -ENOMEM; /* as in load() of probe.c */
	if (rc)
		return weft_fail(
			err, rc,
			"cannot load the program of measure '%s': %s; `weft record -v` shows what the kernel says",
			one->ready.measure.name, strerror(-rc));
	one->skel->bss->current_epoch = MEASURE_NO_EPOCH;
	return 0;
}

static struct bpf_link *
attach_function(struct one *one, struct bpf_program *program, bool is_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = is_return);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", one->place.fd);
	return uprobe_attach(program, path,
			     one->place.offset + one->ready.measure.offset,
			     &opts);
}

static int fail_attach(const struct one *one, int code, struct weft_err *err)
{
	const struct measure *m = &one->ready.measure;
	bool is_function = m->probe != MEASURE_TRACEPOINT;

	if (is_function && uprobe_is_refused(code))
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
	size_t n = measure_programs(one, program);

	for (size_t i = 0; i < n; i++) {
		if (r->hook == MEASURE_AT_RAW)
			one->link[i] = bpf_program__attach_raw_tracepoint(
				program[i], r->measure.what);
		else if (r->hook == MEASURE_AT_TRACEPOINT)
			one->link[i] = tracefs_attach(
				program[i], r->measure.where, r->measure.what);
		else if (r->hook == MEASURE_AT_USDT)
			one->link[i] = bpf_program__attach_usdt(
				program[i], -1, r->measure.where,
				r->measure.provider, r->measure.what, NULL);
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

int measures_attach(struct measures *m, struct probe *probe,
		    struct weft_err *err)
{
	int rc = measure_buffers(m, err);

	for (size_t i = 0; i < m->n && !rc; i++)
		rc = load(m, &m->one[i], probe, err);
	for (size_t i = 0; i < m->n && !rc; i++)
		rc = attach(&m->one[i], err);
	return rc;
}

void measure_detach(struct one *one)
{
	for (int i = 0; i < LINKS_MAX; i++)
		bpf_link__destroy(one->link[i]);
	measure_bpf__destroy(one->skel);
}

void measures_start(struct measures *m, uint32_t epoch)
{
	for (size_t i = 0; i < measures_count(m); i++)
		(void)measure_take_missed(&m->one[i]);
	measures_turn(m, epoch);
}

void measures_turn(struct measures *m, uint32_t epoch)
{
	for (size_t i = 0; i < measures_count(m); i++)
		m->one[i].skel->bss->current_epoch = epoch;
}

/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/clock.h"
#include "collector/hooks.h"
#include "collector/probe_sites.h"
#include "collector/tracefs.h"
#include "collector/tracepoints.h"
#include "collector/uprobe.h"

enum {
	NS_PER_S = 1000000000,
	/* USDT probes may be in many places. */
	LINKS_MAX = WEFT_MAX_EVENTS * PROBE_SITES_MAX
};

struct hooks {
	struct probe *probe;             /* borrowed */
	const struct triggers *triggers; /* borrowed */
	int events;                      /* directory of tracepoints; or -1 */
	struct timers *timers[WEFT_MAX_EVENTS]; /* owned */
	uint32_t n_timers;
	struct bpf_link *link[LINKS_MAX]; /* owned */
	uint32_t n_links;
	/* Of each event: what the kernel counts misses of; -1: of none. */
	int program_fd[WEFT_MAX_EVENTS];
	uint64_t missed[WEFT_MAX_EVENTS]; /* as of the last look */
};

static int keep(struct hooks *h, struct bpf_link *link)
{
	int rc = -errno;

	if (!link)
		return rc ? rc : -EINVAL;
	if (h->n_links == LINKS_MAX) {
		bpf_link__destroy(link);
		return -E2BIG;
	}
	h->link[h->n_links++] = link;
	return 0;
}

static int fail_attach(const char *what, int rc, struct weft_err *err)
{
	if (rc == -EPERM || rc == -EACCES)
		return weft_fail(
			err, -EPERM,
			"cannot attach to %s: %s; it needs CAP_PERFMON (or root)",
			what, strerror(-rc));
	return weft_fail(err, rc, "cannot attach to %s: %s", what,
			 strerror(-rc));
}

static int attach_timers(struct hooks *h, const struct hooks_opts *o,
			 uint32_t event, struct weft_err *err)
{
	const struct trigger *t = &o->triggers->trigger[event];
	struct timers_opts opts = {
		.name = t->name,
		.event = event,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.period = NS_PER_S / o->hz,
		.is_timer = t->kind == TRIGGER_TIMER,
		.cpus = o->cpus,
	};
	int rc;

	if (!opts.is_timer) {
		opts.type = t->perf_type;
		opts.config = t->perf_config;
		opts.period = t->period;
	}
	opts.program = probe_program(h->probe,
				     opts.is_timer ? "on_tick" : "on_counter");
	rc = timers_open(&h->timers[h->n_timers], &opts, err);
	if (!rc)
		h->n_timers++;
	return rc;
}

static int attach_scheduler(struct hooks *h, const char *name,
			    struct weft_err *err)
{
	struct bpf_program *program = probe_program(h->probe, name);
	int rc = keep(h, bpf_program__attach(program));

	return rc ? fail_attach(bpf_program__section_name(program), rc, err)
		  : 0;
}

static int attach_tracepoint(struct hooks *h, const struct trigger *t,
			     uint32_t event, struct weft_err *err)
{
	struct bpf_program *program =
		probe_program_of_event(probe_object(h->probe), "raw", event);
	int rc;

	if (h->events < 0)
		h->events = tracepoints_open(err);
	if (h->events < 0)
		return h->events;
	rc = tracepoints_check(h->events, t->scope, t->symbol, err);
	if (rc)
		return rc;
	/* System calls share two raw tracepoints: theirs must be classic. */
	if (strcmp(t->scope, "syscalls") != 0) {
		rc = keep(h, bpf_program__attach_raw_tracepoint(program,
								t->symbol));
		h->program_fd[event] = bpf_program__fd(program);
		if (rc != -ENOENT)
			return rc ? fail_attach(t->name, rc, err) : 0;
	}
	program = probe_program_of_event(probe_object(h->probe), "tracepoint",
					 event);
	h->program_fd[event] = bpf_program__fd(program);
	rc = keep(h, tracefs_attach(program, t->scope, t->symbol));
	return rc ? fail_attach(t->name, rc, err) : 0;
}

static int find_sites(const struct trigger *t, struct probe_sites *out,
		      struct weft_err *err)
{
	int rc;

	if (t->kind == TRIGGER_USDT)
		return probe_sites_of_usdt(t->path, t->scope, t->symbol, out,
					   err);
	rc = probe_sites_of_function(t->path, t->symbol, &out->site[0].offset,
				     err);
	out->n = 1;
	out->site[0].offset += t->offset;
	return rc;
}

static int fail_uprobe(const struct trigger *t, int rc, struct weft_err *err)
{
	if (uprobe_is_refused(-rc))
		return weft_fail(
			err, -EINVAL,
			"the kernel cannot probe the instruction at '%s': it is one that it cannot replace, or not the start of one; take another function, or +OFFSET of its next instruction",
			t->name);
	if (rc == -ENOENT &&
	    access("/sys/bus/event_source/devices/uprobe/type", R_OK))
		return weft_fail(
			err, rc,
			"this kernel has no uprobes (CONFIG_UPROBE_EVENTS)");
	return fail_attach(t->name, rc, err);
}

static int attach_uprobe(struct hooks *h, const struct trigger *t,
			 uint32_t event, struct weft_err *err)
{
	struct bpf_program *program = probe_program(h->probe, "on_uprobe");
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = event,
		    .retprobe = t->kind == TRIGGER_URETPROBE);
	struct probe_sites sites = { 0 };
	int rc = find_sites(t, &sites, err);

	for (uint32_t i = 0; i < sites.n && !rc; i++) {
		opts.ref_ctr_offset = sites.site[i].semaphore;
		rc = keep(h, uprobe_attach(program, t->path,
					   sites.site[i].offset, &opts));
		if (rc)
			return fail_uprobe(t, rc, err);
	}
	return rc;
}

static int attach_kprobe(struct hooks *h, const struct trigger *t,
			 uint32_t event, struct weft_err *err)
{
	struct bpf_program *program =
		probe_program_of_event(probe_object(h->probe), "kprobe", event);
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .offset = t->offset,
		    .retprobe = t->kind == TRIGGER_KRETPROBE);
	int rc;

	if (access("/sys/bus/event_source/devices/kprobe/type", R_OK))
		return weft_fail(
			err, -EOPNOTSUPP,
			"this kernel has no kprobes (CONFIG_KPROBE_EVENTS), so it cannot have '%s'; a tracepoint may do (`weft list tracepoints`)",
			t->name);
	h->program_fd[event] = bpf_program__fd(program);
	rc = keep(h,
		  bpf_program__attach_kprobe_opts(program, t->symbol, &opts));
	if (rc == -ENOENT || rc == -EINVAL)
		return weft_fail(
			err, rc,
			"the kernel cannot probe '%s': it has no such function, or not for probes (/proc/kallsyms lists its functions)",
			t->name);
	return rc ? fail_attach(t->name, rc, err) : 0;
}

static int attach(struct hooks *h, const struct hooks_opts *o, uint32_t event,
		  struct weft_err *err)
{
	const struct trigger *t = &o->triggers->trigger[event];

	switch (t->kind) {
	case TRIGGER_TIMER:
	case TRIGGER_COUNTER:
		return attach_timers(h, o, event, err);
	case TRIGGER_TRACEPOINT:
		return attach_tracepoint(h, t, event, err);
	case TRIGGER_UPROBE:
	case TRIGGER_URETPROBE:
	case TRIGGER_USDT:
		return attach_uprobe(h, t, event, err);
	case TRIGGER_KPROBE:
	case TRIGGER_KRETPROBE:
		return attach_kprobe(h, t, event, err);
	default:
		return 0; /* the scheduler's hooks serve three events */
	}
}

static int attach_switches(struct hooks *h, struct weft_err *err)
{
	static const enum trigger_kind kinds[] = { TRIGGER_ON_CPU,
						   TRIGGER_OFF_CPU,
						   TRIGGER_RUN_QUEUE };
	uint32_t queue = triggers_find(h->triggers, TRIGGER_RUN_QUEUE);
	int rc, fd = bpf_program__fd(probe_program(h->probe, "on_switch"));

	if (!triggers_any(h->triggers, trigger_is_by_size))
		return 0;
	/* Wakes before switches: a wait is not to begin without its end. */
	rc = queue == WEFT_NO_EVENT ? 0 : attach_scheduler(h, "on_wakeup", err);
	if (!rc && queue != WEFT_NO_EVENT)
		rc = attach_scheduler(h, "on_wakeup_new", err);
	if (!rc)
		rc = attach_scheduler(h, "on_switch", err);
	/* What it misses, each of them does. */
	for (size_t i = 0; i < ARRAY_LEN(kinds) && !rc; i++) {
		uint32_t event = triggers_find(h->triggers, kinds[i]);

		if (event != WEFT_NO_EVENT)
			h->program_fd[event] = fd;
	}
	return rc ? rc : probe_open_blocks(h->probe, err);
}

int hooks_open(struct hooks **out, const struct hooks_opts *opts,
	       struct weft_err *err)
{
	struct hooks *h = calloc(1, sizeof(*h));
	int rc = 0;

	*out = NULL;
	if (!h)
		return weft_fail(err, -ENOMEM, "cannot record: out of memory");
	h->probe = opts->probe;
	h->triggers = opts->triggers;
	h->events = -1;
	for (uint32_t i = 0; i < WEFT_MAX_EVENTS; i++)
		h->program_fd[i] = -1;
	for (uint32_t i = 0; i < opts->triggers->n && !rc; i++)
		rc = attach(h, opts, i, err);
	if (!rc)
		rc = attach_switches(h, err);
	if (rc) {
		hooks_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void hooks_close(struct hooks *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->n_timers; i++)
		timers_close(h->timers[i]);
	for (uint32_t i = 0; i < h->n_links; i++)
		bpf_link__destroy(h->link[i]);
	if (h->events >= 0)
		close(h->events);
	free(h);
}

static uint64_t misses_of(const struct hooks *h, uint32_t event)
{
	int fd = h->program_fd[event];

	return fd < 0 ? 0 : probe_misses(fd);
}

int hooks_start(struct hooks *h, struct weft_err *err)
{
	int rc = 0;

	for (uint32_t i = 0; i < h->triggers->n; i++)
		h->missed[i] = misses_of(h, i);
	probe_start(h->probe, clock_boot_ns());
	for (uint32_t i = 0; i < h->n_timers && !rc; i++)
		rc = timers_enable(h->timers[i], err);
	return rc;
}

void hooks_stop(struct hooks *h)
{
	for (uint32_t i = 0; i < h->n_timers; i++)
		timers_disable(h->timers[i]);
	probe_stop(h->probe, clock_boot_ns());
}

uint32_t hooks_n_timers(const struct hooks *h)
{
	return h->n_timers;
}

struct timers *hooks_timers(struct hooks *h, uint32_t i)
{
	return h->timers[i];
}

uint64_t hooks_take_missed(struct hooks *h, uint32_t event)
{
	uint64_t now = misses_of(h, event);
	uint64_t missed = now - h->missed[event];

	h->missed[event] = now;
	return missed;
}

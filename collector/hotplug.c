/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/event_opener.h"
#include "collector/hotplug.h"

enum {
	/* One of the side-band, one for each group of perf events. */
	EVENTS_MAX = WEFT_MAX_EVENTS + 1,
	MS_NS = 1000000,
};

struct hotplug {
	struct hooks *hooks;
	struct sideband *sideband;
	struct event_opener *opener; /* owned */
	struct cpu_list cpus;
	bool all;
	/* By the place in cpus: offline; given up. */
	bool is_off[WEFT_MAX_CPUS], is_lost[WEFT_MAX_CPUS];
	uint64_t look_ns[3]; /* the last ones, the latest first, in boot time */
	bool told_of_new;
};

/* All events of a CPU anew. -ENODEV: it is not there again yet. */
static int reopen(struct hotplug *h, uint32_t cpu, struct weft_err *err)
{
	uint32_t n = hooks_n_timers(h->hooks);
	int rc = 0;

	for (uint32_t e = 0; e <= n && !rc; e++) {
		int fd = event_opener_ask(h->opener, e, cpu);

		if (fd < 0)
			rc = weft_fail(err, fd, "%s", strerror(-fd));
		else if (e < n)
			rc = timers_replace(hooks_timers(h->hooks, e), cpu, fd,
					    err);
		else
			rc = sideband_replace(h->sideband, cpu, fd, err);
	}
	return rc;
}

static bool is_in(const struct cpu_list *list, uint32_t cpu)
{
	for (uint32_t i = 0; i < list->n; i++) {
		if (list->cpu[i] == cpu)
			return true;
	}
	return false;
}

/* It was off and on again since the last look: its timer tells. */
static bool has_stopped(const struct hotplug *h, uint32_t cpu)
{
	for (uint32_t g = 0; g < hooks_n_timers(h->hooks); g++) {
		if (timers_stood_still(hooks_timers(h->hooks, g), cpu))
			return true;
	}
	return false;
}

static void set_off(struct hotplug *h, uint32_t i, bool is_off)
{
	h->is_off[i] = is_off;
	for (uint32_t g = 0; g < hooks_n_timers(h->hooks); g++)
		timers_set_off(hooks_timers(h->hooks, g), h->cpus.cpu[i],
			       is_off);
}

static void on_back(struct hotplug *h, uint32_t i, uint64_t now_ns)
{
	struct weft_err err = { 0 };
	uint32_t cpu = h->cpus.cpu[i];
	/* Where nobody has seen that it was off, its timer stood still for the
	 * whole interval that the last look ended, not for the one before. */
	uint64_t since_ns = h->look_ns[h->is_off[i] ? 0 : 2];
	int rc = reopen(h, cpu, &err);

	if (rc == -ENODEV)
		return;
	if (rc) {
		h->is_lost[i] = true;
		weft_log(
			WEFT_WARN,
			"CPU %u is back, but cannot be sampled again: %s; begin a new recording",
			cpu, err.msg);
		return;
	}
	weft_log(
		WEFT_WARN,
		"CPU %u is back, and is sampled again; what ran on it before that is not recorded, %llu ms at most",
		cpu, (unsigned long long)((now_ns - since_ns) / MS_NS));
	set_off(h, i, false);
}

static void watch_cpu(struct hotplug *h, uint32_t i, bool is_online,
		      uint64_t now_ns)
{
	if (h->is_lost[i])
		return;
	if (!is_online && !h->is_off[i]) {
		weft_log(
			WEFT_WARN,
			"CPU %u went offline: it is sampled again when it is back",
			h->cpus.cpu[i]);
		set_off(h, i, true);
	} else if (is_online &&
		   (h->is_off[i] || has_stopped(h, h->cpus.cpu[i]))) {
		on_back(h, i, now_ns);
	}
}

void hotplug_watch(struct hotplug *h)
{
	struct weft_err err = { 0 };
	struct cpu_list online;
	uint64_t now_ns = clock_boot_ns();

	if (cpu_list_online(&online, &err))
		return;
	for (uint32_t i = 0; i < h->cpus.n; i++)
		watch_cpu(h, i, is_in(&online, h->cpus.cpu[i]), now_ns);
	h->look_ns[2] = h->look_ns[1];
	h->look_ns[1] = h->look_ns[0];
	h->look_ns[0] = now_ns;
	for (uint32_t i = 0; i < online.n && h->all && !h->told_of_new; i++) {
		if (is_in(&h->cpus, online.cpu[i]))
			continue;
		weft_log(
			WEFT_WARN,
			"CPU %u came online: what runs on it is not recorded; begin a new recording once CPUs stay",
			online.cpu[i]);
		h->told_of_new = true;
	}
}

static int start_opener(struct hotplug *h, struct weft_err *err)
{
	struct perf_event_attr attr[EVENTS_MAX];
	uint32_t n = hooks_n_timers(h->hooks);

	for (uint32_t g = 0; g < n; g++)
		attr[g] = *timers_attr(hooks_timers(h->hooks, g));
	attr[n] = *sideband_attr(h->sideband);
	return event_opener_start(&h->opener, attr, n + 1, err);
}

int hotplug_open(struct hotplug **out, const struct hotplug_opts *opts,
		 struct weft_err *err)
{
	struct hotplug *h = calloc(1, sizeof(*h));
	int rc;

	*out = NULL;
	if (!h)
		return weft_fail(err, -ENOMEM, "cannot watch CPUs: no memory");
	h->hooks = opts->hooks;
	h->sideband = opts->sideband;
	h->cpus = *opts->cpus;
	h->all = opts->all;
	h->look_ns[0] = h->look_ns[1] = h->look_ns[2] = clock_boot_ns();
	rc = start_opener(h, err);
	if (rc) {
		hotplug_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void hotplug_close(struct hotplug *h)
{
	if (!h)
		return;
	event_opener_close(h->opener);
	free(h);
}

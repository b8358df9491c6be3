/* SPDX-License-Identifier: MIT */
/*
 * CPUs that go offline while it is recorded, and come back. The kernel turns a
 * CPU's perf events off for good when it goes, so they have to be opened anew
 * (collector/event_opener.h).
 */
#ifndef WEFT_HOTPLUG_H
#define WEFT_HOTPLUG_H

#include "collector/hooks.h"
#include "collector/sideband.h"

struct hotplug;

struct hotplug_opts {
	struct hooks *hooks;         /* borrowed while open */
	struct sideband *sideband;   /* the same */
	const struct cpu_list *cpus; /* that are sampled; borrowed */
	bool all;                    /* that is, all that were online */
};

/* Call once all events are open, and before rights are given up or threads are
 * made. -EAGAIN and the like: no process could be made. */
int hotplug_open(struct hotplug **out, const struct hotplug_opts *opts,
		 struct weft_err *err) MUST_CHECK;
void hotplug_close(struct hotplug *h); /* NULL is fine */

/*
 * Look which CPUs are online, and say what changed; open anew what was turned
 * off. Call it once an interval. Where the CPU of a timer is off, intervals
 * have no row of it; that mappings may have been missed there is told to the
 * side-band (lost).
 */
void hotplug_watch(struct hotplug *h);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which processes publish trace context, and where: asked of inspectors when
 * a process is first sampled, when it says that it published, and again from
 * time to time; told to the kernel program.
 */
#ifndef WEFT_DISCOVERY_H
#define WEFT_DISCOVERY_H

#include "collector/probe.h"
#include "collector/proc.h"

struct discovery;

/* shape_by: key of the attribute that counts are told apart by, borrowed;
 * NULL: none. */
int discovery_open(struct discovery **out, uv_loop_t *loop, struct probe *probe,
		   struct inspect *inspect, struct procs *procs,
		   const char *shape_by, struct weft_err *err) MUST_CHECK;
/* Memory goes when the loop has closed its handle. NULL is fine. */
void discovery_close(struct discovery *d);

/* Take what concerns us of the side-band; ignores the rest. */
void discovery_event(struct discovery *d, const struct sideband_event *event);

/* Attributes of a process have keys that are not known: look again, soon. */
void discovery_look_again(struct discovery *d, const struct weft_identity *who);

/* Looks that had to wait since the last call: inspectors were busy, a hundred
 * were begun in that second, the process was too young, or there was no room
 * to remember it. */
uint64_t discovery_take_deferred(struct discovery *d);

/* Processes whose context was given up since the last call, as nearly every
 * read of it failed: looked at again after a minute, then two, up to an hour.
 */
uint64_t discovery_take_failing(struct discovery *d);

#endif

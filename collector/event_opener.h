/* SPDX-License-Identifier: MIT */
/*
 * A process that opens perf events. That takes CAP_PERFMON, which the recorder
 * gives up once it samples: this process does nothing else and keeps it, and
 * opens what it was told when it was made, no more.
 */
#ifndef WEFT_EVENT_OPENER_H
#define WEFT_EVENT_OPENER_H

#include "store/weft.h"

struct event_opener;
struct perf_event_attr;

/* n kinds of events; attr is not needed afterwards. Call before rights are
 * given up or threads are made. */
int event_opener_start(struct event_opener **out,
		       const struct perf_event_attr *attr, uint32_t n,
		       struct weft_err *err) MUST_CHECK;
void event_opener_close(struct event_opener *o); /* NULL is fine */

/*
 * Open an event of a kind, by its index, for a CPU. Returns its descriptor,
 * owned by the caller, or a negative errno: what perf_event_open(2) says;
 * -EINVAL, there is no such kind; -ETIMEDOUT, no answer for 2 s, and it is
 * dropped when it comes; -EPIPE, the process is gone.
 */
int event_opener_ask(struct event_opener *o, uint32_t event,
		     uint32_t cpu) MUST_CHECK;

#endif

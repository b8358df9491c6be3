/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock.h"
#include "collector/discovery.h"
#include "collector/grow.h"
#include "collector/table.h"

#define MS 1000000ULL

enum {
	WATCHED_MAX = 16384,
	TICK_MS = 50,
	/* A mapping's new name is visible only after the call that sets it. */
	PRCTL_SETTLE_MS = 20,
	/* Younger processes mostly end before an answer could be used. */
	YOUNG_MS = 100,
};

/* When to look again where nothing was found; the last one repeats. */
static const uint64_t again_ms[] = { 1000, 5000, 30000, 60000 };
/* When to look whether what was found still holds. */
static const uint64_t refresh_ms = 10000;

struct watched {
	struct weft_identity who;
	uint64_t due_ns;
	uint32_t tries;
	bool asked;    /* an inspector is looking */
	bool is_found; /* the kernel program has an entry */
	bool is_dead;
	bool look_again; /* it published something while we looked */
};

struct discovery {
	struct probe *probe;     /* borrowed */
	struct inspect *inspect; /* borrowed */
	struct procs *procs;     /* borrowed */
	uv_timer_t timer;
	struct table by_who;
	struct watched **all; /* owned, as are its elements */
	size_t n, room;
	uint64_t deferred;
};

struct looking {
	struct discovery *d;
	struct watched *w;
};

static uint64_t hash_who(const struct weft_identity *who)
{
	return table_hash(who, sizeof(*who), 3);
}

static bool is_who(const void *entry, const void *wanted)
{
	const struct watched *w = entry;

	return !memcmp(&w->who, wanted, sizeof(w->who));
}

static void schedule(struct watched *w, uint64_t after_ms)
{
	w->due_ns = clock_boot_ns() + after_ms * MS;
}

static void found(struct discovery *d, struct watched *w,
		  const struct inspect_context *c)
{
	struct proc *proc;

	if (w->is_dead)
		return;
	proc = procs_get(d->procs, &w->who);
	if (probe_set_context(d->probe, &c->entry)) {
		d->deferred++; /* table full: its samples have no context */
		schedule(w, again_ms[0]);
		return;
	}
	w->is_found = true;
	schedule(w, refresh_ms);
	if (proc && c->service[0] &&
	    (!proc->service || strcmp(proc->service, c->service))) {
		free(proc->service);
		proc->service = strdup(c->service);
		proc->changed = true;
	}
}

static void not_found(struct discovery *d, struct watched *w)
{
	size_t last = ARRAY_LEN(again_ms) - 1;

	if (w->is_found)
		probe_clear_context(d->probe, w->who.pid);
	w->is_found = false;
	schedule(w, again_ms[w->tries < last ? w->tries : last]);
	w->tries++;
}

static void on_context(void *ctx, enum inspect_status status,
		       const struct inspect_context *c)
{
	struct looking *looking = ctx;
	struct discovery *d = looking->d;
	struct watched *w = looking->w;

	free(looking);
	w->asked = false;
	if (status == INSPECT_DEFERRED) {
		d->deferred++;
		schedule(w, TICK_MS);
	} else if (status == INSPECT_GONE) {
		w->is_dead = true;
	} else if (status == INSPECT_OK &&
		   c->state == INSPECT_CONTEXT_CHANGING) {
		schedule(w, TICK_MS);
	} else if (status == INSPECT_OK && c->state == INSPECT_CONTEXT_FOUND) {
		found(d, w, c);
	} else {
		not_found(d, w);
	}
	if (w->look_again) {
		w->look_again = false;
		schedule(w, PRCTL_SETTLE_MS);
	}
}

static void look(struct discovery *d, struct watched *w)
{
	struct looking *looking = malloc(sizeof(*looking));

	if (looking)
		*looking = (struct looking){ d, w };
	if (looking &&
	    !inspect_context(d->inspect, &w->who, on_context, looking)) {
		w->asked = true;
		return;
	}
	free(looking);
	d->deferred++;
}

/* Look at what is due, and forget the dead. */
static void on_tick(uv_timer_t *timer)
{
	struct discovery *d = timer->data;
	uint64_t now = clock_boot_ns();
	size_t kept = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct watched *w = d->all[i];

		if (w->is_dead && !w->asked) {
			if (w->is_found)
				probe_clear_context(d->probe, w->who.pid);
			table_remove(&d->by_who, hash_who(&w->who), w);
			free(w);
			continue;
		}
		d->all[kept++] = w;
		if (!w->asked && w->due_ns <= now)
			look(d, w);
	}
	d->n = kept;
}

int discovery_open(struct discovery **out, uv_loop_t *loop, struct probe *probe,
		   struct inspect *inspect, struct procs *procs,
		   struct weft_err *err)
{
	struct discovery *d = calloc(1, sizeof(*d));

	*out = NULL;
	if (!d)
		return weft_fail(
			err, -ENOMEM,
			"cannot look for trace context: out of memory");
	d->probe = probe;
	d->inspect = inspect;
	d->procs = procs;
	uv_timer_init(loop, &d->timer);
	d->timer.data = d;
	uv_timer_start(&d->timer, on_tick, TICK_MS, TICK_MS);
	*out = d;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct discovery *d = handle->data;

	for (size_t i = 0; i < d->n; i++)
		free(d->all[i]);
	table_release(&d->by_who);
	free(d->all);
	free(d);
}

void discovery_close(struct discovery *d)
{
	if (d)
		uv_close((uv_handle_t *)&d->timer, on_closed);
}

static struct watched *watch(struct discovery *d,
			     const struct weft_identity *who)
{
	struct watched *w;

	if (d->n >= WATCHED_MAX || GROW(d->all, d->n + 1, d->room))
		return NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->who = *who;
	if (table_add(&d->by_who, hash_who(who), w)) {
		free(w);
		return NULL;
	}
	d->all[d->n++] = w;
	return w;
}

static void on_probe(struct discovery *d, const struct weft_notice *n)
{
	struct watched *w = table_find(&d->by_who, hash_who(&n->process),
				       is_who, &n->process);
	struct proc *proc = procs_get(d->procs, &n->process);

	if (w)
		return;
	w = watch(d, &n->process);
	if (!w) {
		d->deferred++;
		return;
	}
	w->due_ns = n->boot_ns;
	if (proc && proc->born_ns &&
	    n->boot_ns < proc->born_ns + YOUNG_MS * MS) {
		w->due_ns = proc->born_ns + YOUNG_MS * MS;
		d->deferred++;
		return;
	}
	look(d, w);
}

static void on_prctl(struct discovery *d, uint32_t pid)
{
	/* Rare enough that a walk over all does. */
	for (size_t i = 0; i < d->n; i++) {
		struct watched *w = d->all[i];

		if (w->who.pid != pid || w->is_dead)
			continue;
		if (w->asked)
			w->look_again = true;
		else
			schedule(w, PRCTL_SETTLE_MS);
	}
}

static void forget(struct discovery *d, const struct weft_identity *who)
{
	struct watched *w = table_find(&d->by_who, hash_who(who), is_who, who);

	if (w)
		w->is_dead = true;
}

void discovery_event(struct discovery *d, const struct sideband_event *e)
{
	struct weft_identity before;

	if (e->kind == SIDEBAND_PRCTL)
		on_prctl(d, e->pid);
	if (e->kind != SIDEBAND_NOTICE)
		return;
	if (e->notice.kind == WEFT_NOTICE_PROBE)
		on_probe(d, &e->notice);
	if (e->notice.kind == WEFT_NOTICE_EXIT)
		forget(d, &e->notice.process);
	if (e->notice.kind == WEFT_NOTICE_EXEC) {
		before = e->notice.process;
		before.exec_seq--;
		forget(d, &before);
	}
}

uint64_t discovery_take_deferred(struct discovery *d)
{
	uint64_t deferred = d->deferred;

	d->deferred = 0;
	return deferred;
}

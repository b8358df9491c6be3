/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/attributes.h"
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
	/* Looks that are begun per second, whoever asks; and how many ticks'
	 * worth may be saved up. */
	LOOKS_PER_SECOND = 100,
	LOOKS_SAVED = LOOKS_PER_SECOND,
	ANNOUNCED_MAX = 256,
	/* An entry of which more than 90 % of so many reads failed is of no
	 * use, and failing reads are dear. */
	JUDGED_READS = 1000,
	FAILED_PERCENT = 90,
	JUDGE_MS = 1000,
};

/* When to look again where nothing was found; the last one repeats. */
static const uint64_t again_ms[] = { 300, 1000, 5000, 30000, 60000 };
/* When to look whether what was found still holds. */
static const uint64_t refresh_ms = 10000;
/* How long an entry that failed stays away: doubled each time. */
static const uint64_t failed_ms = 60000, failed_max_ms = 3600000;

struct watched {
	struct weft_identity who;
	uint64_t due_ns;
	uint32_t tries;
	bool asked;    /* an inspector is looking */
	bool is_found; /* the kernel program has an entry */
	bool is_dead;
	bool look_again; /* it published something while we looked */
	bool is_put_off; /* counted as deferred already */
	bool is_barred;  /* its entry failed: not looked at before due_ns */
	uint64_t barred_ms;
	uint64_t published_ns; /* of what was taken over */
	uint32_t shape_made;   /* by the entry that it had before */
};

struct discovery {
	struct probe *probe;     /* borrowed */
	struct inspect *inspect; /* borrowed */
	struct procs *procs;     /* borrowed */
	const char *shape_by;    /* borrowed; NULL: none */
	uv_timer_t timer;
	struct table by_who;
	struct watched **all; /* owned, as are its elements */
	size_t n, room;
	uint64_t deferred, failing;
	uint32_t looks; /* that may be begun now */
	uint64_t judged_ns;
	struct weft_identity announced[ANNOUNCED_MAX]; /* the newest */
	size_t next_announced;
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

static struct watched *find(struct discovery *d,
			    const struct weft_identity *who)
{
	return table_find(&d->by_who, hash_who(who), is_who, who);
}

static void schedule(struct watched *w, uint64_t after_ms)
{
	w->due_ns = clock_boot_ns() + after_ms * MS;
}

/* The entry of its pid, if that is its own, and not of another program run. */
static bool read_entry(struct discovery *d, const struct watched *w,
		       struct weft_context_entry *out)
{
	return !probe_read_context(d->probe, w->who.pid, out) &&
	       !memcmp(&out->process, &w->who, sizeof(w->who));
}

/* What was counted of its reads goes on; and of its values, also where it had
 * no entry for a while. */
static int set_entry(struct discovery *d, const struct watched *w,
		     const struct weft_context_entry *entry,
		     const struct attributes *attributes)
{
	struct weft_context_entry before, now = *entry;

	if (d->shape_by)
		now.shape_number =
			(uint32_t)(attributes_number(attributes, d->shape_by) +
				   1);
	now.shape_made = w->shape_made;
	if (read_entry(d, w, &before)) {
		now.reads = before.reads;
		now.failed = before.failed;
		now.shape_made = before.shape_made;
	}
	return probe_set_context(d->probe, &now);
}

/* Whether it has an entry of its own. How many values that made is kept in
 * mind: else a process could make as many again each time that it publishes
 * anew. */
static bool has_entry(struct discovery *d, struct watched *w)
{
	struct weft_context_entry e;

	if (!read_entry(d, w, &e))
		return false;
	w->shape_made = e.shape_made;
	return true;
}

static void clear_entry(struct discovery *d, struct watched *w)
{
	w->is_found = false;
	if (has_entry(d, w))
		probe_clear_context(d->probe, w->who.pid);
}

static void found(struct discovery *d, struct watched *w,
		  const struct inspect_context *c)
{
	struct proc *proc;

	if (w->is_dead)
		return;
	proc = procs_get(d->procs, &w->who);
	if (proc && proc->dead_ns)
		return; /* another program runs there by now */
	if (proc)
		proc->context_ns = clock_boot_ns();
	if (proc && w->published_ns != c->published_ns &&
	    !attributes_update(&proc->attributes, c)) {
		w->published_ns = c->published_ns;
		proc->changed = true;
	}
	if (set_entry(d, w, &c->entry, proc ? proc->attributes : NULL)) {
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

/* It publishes, but not so that it could be read: its samples say so. */
static bool is_unreadable(enum inspect_context_state state)
{
	return state == INSPECT_CONTEXT_UNKNOWN_SCHEMA ||
	       state == INSPECT_CONTEXT_NO_SYMBOL ||
	       state == INSPECT_CONTEXT_UNRESOLVED ||
	       state == INSPECT_CONTEXT_UNSUPPORTED;
}

static void not_found(struct discovery *d, struct watched *w,
		      enum inspect_context_state state)
{
	size_t last = ARRAY_LEN(again_ms) - 1;
	struct weft_context_entry nothing = {
		.process = w->who,
		.kind = WEFT_CONTEXT_NONE,
		.status = is_unreadable(state) ? WEFT_CTX_UNSUPPORTED
					       : WEFT_CTX_NO_ENTRY,
	};
	bool was_found = w->is_found;

	if (was_found)
		(void)has_entry(d, w);
	nothing.shape_made = w->shape_made;
	/* That it has nothing has to be known before OBI is asked. Without room
	 * for it they read as of a process not known. */
	w->is_found = !w->is_dead &&
		      (is_unreadable(state) || probe_reads_obi(d->probe)) &&
		      !probe_set_context(d->probe, &nothing);
	if (was_found && !w->is_found)
		clear_entry(d, w);
	schedule(w, again_ms[w->tries < last ? w->tries : last]);
	w->tries++;
}

/* Whether what the kernel program could read of an entry is worth its cost. */
static void judge(struct discovery *d, struct watched *w)
{
	struct weft_context_entry e;

	if (!read_entry(d, w, &e) || e.reads < JUDGED_READS)
		return;
	if ((uint64_t)e.failed * 100 <= (uint64_t)e.reads * FAILED_PERCENT) {
		w->barred_ms = 0;
		e.reads = e.failed = 0;
		(void)!probe_set_context(d->probe, &e);
		return;
	}
	clear_entry(d, w);
	w->is_barred = true;
	w->barred_ms = w->barred_ms ? 2 * w->barred_ms : failed_ms;
	if (w->barred_ms > failed_max_ms)
		w->barred_ms = failed_max_ms;
	schedule(w, w->barred_ms);
	d->failing++;
}

static void on_context(void *ctx, enum inspect_status status,
		       const struct inspect_context *c)
{
	struct looking *looking = ctx;
	struct discovery *d = looking->d;
	struct watched *w = looking->w;

	free(looking);
	w->asked = false;
	if (w->is_barred) {
		/* Judged while we looked: its time stands. */
		w->look_again = false;
		return;
	}
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
		not_found(d, w,
			  status == INSPECT_OK ? c->state
					       : INSPECT_CONTEXT_NO_MAPPING);
	}
	if (w->look_again) {
		w->look_again = false;
		schedule(w, PRCTL_SETTLE_MS);
	}
}

static void put_off(struct discovery *d, struct watched *w)
{
	d->deferred += !w->is_put_off;
	w->is_put_off = true;
}

static void look(struct discovery *d, struct watched *w)
{
	struct looking *looking;

	if (!d->looks) {
		put_off(d, w); /* it stays due */
		return;
	}
	d->looks--;
	w->is_put_off = false;
	w->is_barred = false;
	looking = malloc(sizeof(*looking));
	if (looking)
		*looking = (struct looking){ d, w };
	if (looking &&
	    !inspect_context(d->inspect, &w->who, on_context, looking)) {
		w->asked = true;
		return;
	}
	free(looking);
	put_off(d, w);
}

/* Look at what is due, judge what is found, and forget the dead. */
static void on_tick(uv_timer_t *timer)
{
	struct discovery *d = timer->data;
	uint64_t now = clock_boot_ns();
	bool is_judging = now - d->judged_ns >= JUDGE_MS * MS;
	size_t kept = 0;

	d->looks += LOOKS_PER_SECOND * TICK_MS / 1000;
	if (d->looks > LOOKS_SAVED)
		d->looks = LOOKS_SAVED;
	if (is_judging)
		d->judged_ns = now;
	for (size_t i = 0; i < d->n; i++) {
		struct watched *w = d->all[i];

		if (w->is_dead && !w->asked) {
			if (w->is_found)
				clear_entry(d, w);
			table_remove(&d->by_who, hash_who(&w->who), w);
			free(w);
			continue;
		}
		d->all[kept++] = w;
		if (is_judging && w->is_found)
			judge(d, w);
		if (!w->asked && w->due_ns <= now)
			look(d, w);
	}
	d->n = kept;
}

int discovery_open(struct discovery **out, uv_loop_t *loop, struct probe *probe,
		   struct inspect *inspect, struct procs *procs,
		   const char *shape_by, struct weft_err *err)
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
	d->shape_by = shape_by;
	d->looks = LOOKS_SAVED;
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

static bool has_announced(const struct discovery *d,
			  const struct weft_identity *who)
{
	for (size_t i = 0; i < ANNOUNCED_MAX; i++) {
		if (!memcmp(&d->announced[i], who, sizeof(*who)))
			return true;
	}
	return false;
}

static void on_probe(struct discovery *d, const struct weft_notice *n)
{
	struct watched *w = find(d, &n->process);
	struct proc *proc = procs_get(d->procs, &n->process);

	if (w)
		return;
	w = watch(d, &n->process);
	if (!w) {
		/* Its next sample is to ask again. */
		probe_ask_again(d->probe, &n->process);
		d->deferred++;
		return;
	}
	w->due_ns = n->boot_ns;
	if (proc && proc->born_ns &&
	    n->boot_ns < proc->born_ns + YOUNG_MS * MS &&
	    !has_announced(d, &n->process)) {
		w->due_ns = proc->born_ns + YOUNG_MS * MS;
		put_off(d, w);
		return;
	}
	look(d, w);
}

static void on_published(struct discovery *d, const struct weft_notice *n)
{
	struct watched *w = find(d, &n->process);

	d->announced[d->next_announced] = n->process;
	d->next_announced = (d->next_announced + 1) % ANNOUNCED_MAX;
	if (!w || w->is_dead || w->is_barred)
		return;
	if (w->asked)
		w->look_again = true;
	else
		schedule(w, PRCTL_SETTLE_MS);
}

static void forget(struct discovery *d, const struct weft_identity *who)
{
	struct watched *w = find(d, who);

	if (w)
		w->is_dead = true;
}

void discovery_event(struct discovery *d, const struct sideband_event *e)
{
	struct weft_identity before;

	if (e->kind != SIDEBAND_NOTICE)
		return;
	if (e->notice.kind == WEFT_NOTICE_PROBE)
		on_probe(d, &e->notice);
	if (e->notice.kind == WEFT_NOTICE_PUBLISH)
		on_published(d, &e->notice);
	if (e->notice.kind == WEFT_NOTICE_EXIT)
		forget(d, &e->notice.process);
	if (e->notice.kind == WEFT_NOTICE_EXEC) {
		before = e->notice.process;
		before.exec_seq--;
		forget(d, &before);
	}
}

void discovery_look_again(struct discovery *d, const struct weft_identity *who)
{
	struct watched *w = find(d, who);

	if (w && w->is_found && !w->asked && !w->is_dead)
		w->due_ns = 0;
}

uint64_t discovery_take_deferred(struct discovery *d)
{
	uint64_t deferred = d->deferred;

	d->deferred = 0;
	return deferred;
}

uint64_t discovery_take_failing(struct discovery *d)
{
	uint64_t failing = d->failing;

	d->failing = 0;
	return failing;
}

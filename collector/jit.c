/* SPDX-License-Identifier: MIT */
/*
 * The places of an interval are sorted and asked for in groups of one process.
 * A group lives until its answer comes, though the interval may be stored by
 * then: an ask is freed by whoever is last.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/grow.h"
#include "collector/jit.h"
#include "collector/table.h"

static const uint64_t wait_ns = (uint64_t)JIT_WAIT_MS * 1000000;

/* What is remembered of a place. */
struct known {
	struct jit_place place;
	uint32_t version;
};

/* At most JIT_KNOWN_MAX of them. Zero is an empty one. */
struct generation {
	struct known *known; /* owned */
	size_t n, room;
	struct table index; /* of number + 1 */
};

struct jit {
	struct inspect *inspect; /* borrowed */
	void (*on_answer)(void *ctx);
	void *ctx;
	struct jit_ask *first; /* owned; those that were not freed yet */
	size_t under_way;      /* requests */
	/* When now is full, it takes the place of before: what is in use is
	 * told again and stays, what has ended goes. */
	struct generation now, before;
};

struct answer {
	struct jit_place place;
	uint32_t version;
	bool is_read;
	size_t name, linkage_name; /* in text; 0: none */
};

/* What a request carries; owned by its ask. */
struct group {
	struct jit_ask *ask;
	size_t first, n; /* answers */
};

struct jit_ask {
	struct jit *jit;
	struct jit_ask *next, **link; /* of jit->first */
	struct answer *answers;       /* owned; sorted by place */
	size_t n;
	struct group *groups; /* owned */
	size_t n_groups;
	size_t waiting; /* groups whose answers are to come */
	bool is_released;
	uint64_t asked_ns; /* uv_hrtime() */
	char *text;        /* owned */
	size_t n_text, text_room;
};

int jit_open(struct jit **out, struct inspect *inspect,
	     void (*on_answer)(void *ctx), void *ctx, struct weft_err *err)
{
	struct jit *jit = calloc(1, sizeof(*jit));

	*out = NULL;
	if (!jit)
		return weft_fail(err, -ENOMEM,
				 "cannot follow JIT code: out of memory");
	jit->inspect = inspect;
	jit->on_answer = on_answer;
	jit->ctx = ctx;
	*out = jit;
	return 0;
}

static void ask_free(struct jit_ask *ask)
{
	*ask->link = ask->next;
	if (ask->next)
		ask->next->link = ask->link;
	free(ask->answers);
	free(ask->groups);
	free(ask->text);
	free(ask);
}

static void generation_release(struct generation *g)
{
	free(g->known);
	table_release(&g->index);
	*g = (struct generation){ 0 };
}

void jit_close(struct jit *jit)
{
	if (!jit)
		return;
	while (jit->first)
		ask_free(jit->first);
	generation_release(&jit->now);
	generation_release(&jit->before);
	free(jit);
}

void jit_release(struct jit_ask *ask)
{
	if (!ask)
		return;
	ask->is_released = true;
	if (!ask->waiting)
		ask_free(ask);
}

static int by_place(const void *a, const void *b)
{
	const struct jit_place *x = a, *y = b;

	if (x->binary != y->binary)
		return x->binary < y->binary ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

/* Copy a string; *out is 0 where there is none. */
static int add_text(struct jit_ask *ask, const char *text, size_t *out)
{
	size_t size = text ? strlen(text) + 1 : 0;

	*out = 0;
	if (!size)
		return 0;
	if (GROW(ask->text, ask->n_text + size + 1, ask->text_room))
		return -ENOMEM;
	if (!ask->n_text)
		ask->n_text = 1;
	memcpy(ask->text + ask->n_text, text, size);
	*out = ask->n_text;
	ask->n_text += size;
	return 0;
}

static void take(struct group *g, const struct inspect_name *names, size_t n)
{
	for (size_t i = 0; i < n && i < g->n; i++) {
		struct answer *a = &g->ask->answers[g->first + i];

		if (names[i].name &&
		    (add_text(g->ask, names[i].name, &a->name) ||
		     add_text(g->ask, names[i].linkage_name, &a->linkage_name)))
			return; /* out of memory: as told last */
		a->version = names[i].name ? names[i].version : 0;
		a->is_read = true;
	}
}

static bool is_late(const struct jit_ask *ask)
{
	return uv_hrtime() - ask->asked_ns > wait_ns;
}

static void on_names(void *ctx, enum inspect_status status,
		     const struct inspect_name *names, size_t n)
{
	struct group *g = ctx;
	struct jit_ask *ask = g->ask;
	struct jit *jit = ask->jit;

	jit->under_way--;
	ask->waiting--;
	/* What comes late may be of code that came later, too. */
	if (status == INSPECT_OK && !ask->is_released && !is_late(ask))
		take(g, names, n);
	if (ask->is_released && !ask->waiting)
		ask_free(ask);
	jit->on_answer(jit->ctx);
}

static void request(struct group *g)
{
	struct jit_ask *ask = g->ask;
	const struct binary *b = ask->answers[g->first].place.binary;
	struct weft_identity who = {
		.pid = b->file.pid,
		.start_ns = b->file.start_ns,
		.exec_seq = b->exec_seq,
	};
	uint64_t addresses[INSPECT_NAMES_MAX];

	if (ask->jit->under_way >= JIT_REQUESTS_MAX)
		return; /* as told last */
	for (size_t i = 0; i < g->n; i++)
		addresses[i] = ask->answers[g->first + i].place.address;
	if (inspect_perf_map(ask->jit->inspect, &who, 0, addresses, g->n,
			     on_names, g))
		return; /* out of memory: as told last */
	ask->jit->under_way++;
	ask->waiting++;
}

/* Answers of one process: as many groups as it takes, up to its limit. */
static void make_groups(struct jit_ask *ask)
{
	size_t of_process = 0;

	for (size_t i = 0; i < ask->n;) {
		const struct binary *b = ask->answers[i].place.binary;
		struct group *g = &ask->groups[ask->n_groups];

		if (!i || ask->answers[i - 1].place.binary != b)
			of_process = 0;
		*g = (struct group){ .ask = ask, .first = i };
		while (i < ask->n && g->n < INSPECT_NAMES_MAX &&
		       ask->answers[i].place.binary == b) {
			g->n++;
			i++;
		}
		of_process += g->n;
		if (of_process <= JIT_ADDRESSES_MAX)
			ask->n_groups++;
	}
}

struct jit_ask *jit_ask(struct jit *jit, struct jit_place *places, size_t n)
{
	struct jit_ask *ask = calloc(1, sizeof(*ask));

	if (!ask)
		return NULL;
	ask->jit = jit;
	ask->next = jit->first;
	ask->link = &jit->first;
	if (ask->next)
		ask->next->link = &ask->next;
	jit->first = ask;
	ask->asked_ns = uv_hrtime();
	ask->answers = calloc(n + 1, sizeof(*ask->answers));
	ask->groups = calloc(n + 1, sizeof(*ask->groups));
	if (!ask->answers || !ask->groups) {
		ask_free(ask);
		return NULL;
	}
	if (n)
		qsort(places, n, sizeof(*places), by_place);
	for (size_t i = 0; i < n; i++)
		if (!i || by_place(&places[i - 1], &places[i]))
			ask->answers[ask->n++].place = places[i];
	make_groups(ask);
	for (size_t i = 0; i < ask->n_groups; i++)
		request(&ask->groups[i]);
	return ask;
}

bool jit_is_answered(const struct jit_ask *ask)
{
	return !ask->waiting || is_late(ask);
}

struct wanted {
	const struct generation *generation;
	const struct jit_place *place;
};

static bool is_known(const void *entry, const void *wanted)
{
	const struct wanted *w = wanted;
	const struct known *k = &w->generation->known[(uintptr_t)entry - 1];

	return !by_place(&k->place, w->place);
}

static uint64_t hash_place(const struct jit_place *place)
{
	return table_hash(&place->address, sizeof(place->address),
			  place->binary->number);
}

static struct known *recall(const struct generation *g,
			    const struct jit_place *place)
{
	struct wanted wanted = { g, place };
	void *entry =
		table_find(&g->index, hash_place(place), is_known, &wanted);

	return entry ? &g->known[(uintptr_t)entry - 1] : NULL;
}

/* What finds no memory is not remembered. */
static void remember(struct jit *jit, const struct jit_place *place,
		     uint32_t version)
{
	struct generation *g = &jit->now;
	struct known *known = recall(g, place);

	if (known) {
		known->version = version;
		return;
	}
	if (g->n == JIT_KNOWN_MAX) {
		generation_release(&jit->before);
		jit->before = *g;
		*g = (struct generation){ 0 };
	}
	if (GROW(g->known, g->n + 1, g->room) ||
	    table_add(&g->index, hash_place(place),
		      (void *)(uintptr_t)(g->n + 1)))
		return;
	g->known[g->n++] = (struct known){ *place, version };
}

void jit_find(struct jit *jit, const struct jit_ask *ask,
	      const struct jit_place *place, struct jit_code *out)
{
	const struct answer *a = bsearch(place, ask->answers, ask->n,
					 sizeof(*ask->answers), by_place);
	const struct known *known;

	*out = (struct jit_code){ .is_read = a && a->is_read };
	if (out->is_read && a->version) {
		out->version = a->version;
		out->name = ask->text + a->name;
		if (a->linkage_name)
			out->linkage_name = ask->text + a->linkage_name;
		remember(jit, place, a->version);
		return;
	}
	known = recall(&jit->now, place);
	if (!known)
		known = recall(&jit->before, place);
	if (known)
		out->version = known->version;
}

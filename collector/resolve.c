/* SPDX-License-Identifier: MIT */
/*
 * Workload: at the default rate some thousand (process, stack) pairs of some
 * ten frames per CPU and second; each frame costs a binary search.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/ledger.h"
#include "collector/resolve.h"
#include "collector/table.h"

/* Where a (process, stack key) pair went, for the samples to find. */
struct resolved {
	struct weft_identity who;
	struct weft_stack_key key;
	uint32_t process, stack; /* indexes into the batch */
	bool has_room;           /* false: the batch had none */
};

struct work {
	struct resolver *r;
	const struct harvest *h;
	struct batch *b;
	struct table done;         /* of struct resolved */
	struct resolved *resolved; /* owned */
	size_t n_resolved;
};

/* A stack being resolved. */
struct stack_work {
	uint32_t frames[WEFT_MAX_FRAMES];
	uint32_t n;
	bool ambiguous;
};

void harvest_release(struct harvest *h)
{
	shape_release(&h->shape);
	free(h->samples);
	*h = (struct harvest){ 0 };
}

void resolve_want_maps(struct resolver *r, const struct harvest *h)
{
	for (size_t i = 0; i < h->shape.n_counts; i++) {
		const struct weft_count_key *key = &h->shape.counts[i].key;
		const struct shape_stack *s =
			shape_find(&h->shape, &key->stack);
		struct proc *proc = procs_get(r->procs, &key->process);

		if (!proc)
			continue;
		proc->used_ns = h->end_ns;
		if (s && s->n_user)
			(void)procs_want_maps(r->procs, proc);
		procs_want_details(r->procs, proc, h->end_ns);
	}
}

/* The address whose mapping and function a user frame is looked up by: of a
 * return address the byte before, which is the call's. */
static uint64_t lookup_address(const struct shape_stack *s,
			       const uint64_t *user, size_t i)
{
	return i == 0 && s->user_leaf_exact ? user[0] : user[i] - 1;
}

static uint64_t file_offset(const struct mapping *m, uint64_t addr)
{
	return addr - m->start + m->file_offset;
}

static int add_kernel_frames(struct work *w, const struct shape_stack *s,
			     struct stack_work *out)
{
	const uint64_t *address = w->h->shape.addresses + s->first;
	int rc = 0;

	for (size_t i = 0; i < s->n_kernel && !rc; i++) {
		struct kernel_place place;

		kernel_find(w->r->kernel, address[i] - (i > 0), w->h->start_ns,
			    w->h->end_ns, &place);
		rc = batch_frame(w->b, place.binary, place.offset, true,
				 place.name, &out->frames[out->n]);
		if (!rc)
			out->n++;
	}
	return rc;
}

/* A frame whose place is not known: the address itself, within its process. */
static int add_unknown(struct work *w, struct proc *proc, uint64_t addr,
		       enum store_binary_kind kind, struct stack_work *out)
{
	struct binary *b = binaries_process(w->r->binaries, kind, &proc->who);
	int rc = batch_frame(w->b, b, addr, false, NULL, &out->frames[out->n]);

	if (!rc)
		out->n++;
	return rc;
}

/* That code was mapped there, the kernel program has seen itself; what code,
 * only the side-band tells. */
static int add_user_frame(struct work *w, struct proc *proc, uint64_t addr,
			  struct stack_work *out)
{
	const struct mapping *m = NULL;
	enum maps_answer answer =
		procs_find(proc, addr, w->h->start_ns, w->h->end_ns, &m);
	int rc;

	if (answer == MAPS_AMBIGUOUS)
		out->ambiguous = true;
	if (answer != MAPS_FOUND)
		return add_unknown(w, proc, addr, STORE_UNKNOWN, out);
	if (!m->binary)
		return add_unknown(w, proc, addr, STORE_JIT, out);
	if (m->binary->kind == STORE_UNKNOWN) /* no room to tell files apart */
		return add_unknown(w, proc, addr, STORE_UNKNOWN, out);
	rc = batch_frame(w->b, m->binary, file_offset(m, addr), false, NULL,
			 &out->frames[out->n]);
	if (!rc)
		out->n++;
	return rc;
}

static enum store_stack_status status_of(const struct shape_stack *s)
{
	switch (s->user_end) {
	case WEFT_END_NO_USER:
		return s->kernel_truncated ? STORE_TRUNCATED : STORE_NO_USER;
	case WEFT_END_MARKED:
	case WEFT_END_ROOT:
		return s->kernel_truncated ? STORE_TRUNCATED : STORE_COMPLETE;
	case WEFT_END_DEPTH:
		return STORE_TRUNCATED;
	default:
		return STORE_BROKEN;
	}
}

static int resolve_stack(struct work *w, const struct shape_stack *s,
			 struct proc *proc, uint32_t *out, bool *ambiguous)
{
	struct stack_work work = { .n = 0 };
	const uint64_t *user = w->h->shape.addresses + s->first + s->n_kernel;
	int rc = add_kernel_frames(w, s, &work);

	for (size_t i = 0; i < s->n_user && !rc; i++)
		rc = add_user_frame(w, proc, lookup_address(s, user, i), &work);
	*ambiguous = work.ambiguous;
	if (rc)
		return rc;
	return batch_stack(w->b, status_of(s), s->user_end, work.frames, work.n,
			   out);
}

static bool is_pair(const void *entry, const void *wanted)
{
	const struct resolved *a = entry, *b = wanted;

	return !memcmp(&a->who, &b->who, sizeof(a->who)) &&
	       !memcmp(&a->key, &b->key, sizeof(a->key));
}

static uint64_t pair_hash(const struct weft_identity *who,
			  const struct weft_stack_key *key)
{
	return table_hash(key, sizeof(*key), who->start_ns ^ who->pid);
}

/* Account for what a stack lacks, for the samples on it. */
static int tell_ledger(struct work *w, const struct shape_count *c,
		       const struct shape_stack *s, bool ambiguous)
{
	enum store_stack_status status = status_of(s);
	const struct {
		bool applies;
		enum ledger_entry entry;
	} lacks[] = {
		{ status == STORE_TRUNCATED, LEDGER_TRUNCATED },
		{ status == STORE_BROKEN, LEDGER_BROKEN },
		{ s->user_end == WEFT_END_PENDING, LEDGER_TABLE_PENDING },
		{ ambiguous, LEDGER_AMBIGUOUS_MAP },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(lacks) && !rc; i++)
		if (lacks[i].applies)
			rc = batch_ledger(w->b, c->key.event, lacks[i].entry,
					  c->count, c->value);
	return rc;
}

/* Resolve one count into *at. Returns 0 or why it found no room. */
static int place_count(struct work *w, const struct shape_count *c,
		       struct resolved *at)
{
	const struct shape_stack *s = shape_find(&w->h->shape, &c->key.stack);
	struct proc *proc = procs_get(w->r->procs, &c->key.process);
	bool ambiguous = false;
	int rc;

	if (!proc)
		return -E2BIG;
	rc = batch_process(w->b, proc, &at->process);
	if (rc)
		return rc;
	rc = s ? resolve_stack(w, s, proc, &at->stack, &ambiguous)
	       : batch_stack(w->b, STORE_LOST, WEFT_END_NO_USER, NULL, 0,
			     &at->stack);
	if (rc)
		return rc;
	rc = batch_count(w->b, c->key.event, at->process, at->stack, c->count,
			 c->value);
	return rc || !s ? rc : tell_ledger(w, c, s, ambiguous);
}

static int resolve_counts(struct work *w)
{
	for (size_t i = 0; i < w->h->shape.n_counts; i++) {
		const struct shape_count *c = &w->h->shape.counts[i];
		struct resolved *at = &w->resolved[w->n_resolved++];
		int rc;

		*at = (struct resolved){
			.who = c->key.process,
			.key = c->key.stack,
		};
		at->has_room = !place_count(w, c, at);
		rc = at->has_room ? table_add(&w->done,
					      pair_hash(&at->who, &at->key), at)
				  : batch_ledger(w->b, c->key.event,
						 LEDGER_LOST_COUNTS_DISCARDED,
						 c->count, c->value);
		if (rc)
			return rc;
	}
	return 0;
}

static int place_sample(struct work *w, const struct weft_sample *s)
{
	struct resolved wanted = { .who = s->process, .key = s->stack };
	const struct resolved *at = table_find(
		&w->done, pair_hash(&s->process, &s->stack), is_pair, &wanted);
	struct store_sample row = {
		.time_ns = s->boot_ns,
		.event = s->event,
		.cpu = s->cpu,
		.value = s->value,
		.weight = (double)s->weight_q32 / (double)(1ULL << 32),
		.has_trace = s->context_status == WEFT_CTX_OK,
		.trace_flags = s->trace_flags,
		.context_source = s->context_source,
		.context_status = s->context_status,
	};
	char comm[WEFT_COMM_LEN + 1] = { 0 };
	int rc;

	if (!at)
		return -E2BIG; /* its count found no room either */
	memcpy(comm, s->thread_comm, WEFT_COMM_LEN);
	rc = batch_thread(w->b, at->process, s->tid, s->thread_start_ns, comm,
			  &row.thread);
	if (rc)
		return rc;
	row.stack = at->stack;
	memcpy(row.trace_id, s->trace_id, sizeof(row.trace_id));
	memcpy(row.span_id, s->span_id, sizeof(row.span_id));
	return batch_sample(w->b, &row);
}

static int resolve_samples(struct work *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->h->n_samples && !rc; i++) {
		const struct weft_sample *s = &w->h->samples[i];

		if (place_sample(w, s))
			rc = batch_ledger(w->b, s->event, LEDGER_LOST_DISCARDED,
					  1, s->value);
	}
	if (!rc && w->h->lost_samples)
		rc = batch_ledger(w->b, 0, LEDGER_LOST_DISCARDED,
				  w->h->lost_samples, w->h->lost_samples_value);
	return rc;
}

int resolve(struct resolver *r, const struct harvest *h, struct batch *b)
{
	struct work w = { .r = r, .h = h, .b = b };
	int rc = -ENOMEM;

	w.resolved = calloc(h->shape.n_counts + 1, sizeof(*w.resolved));
	if (w.resolved)
		rc = resolve_counts(&w);
	if (!rc)
		rc = resolve_samples(&w);
	table_release(&w.done);
	free(w.resolved);
	return rc;
}

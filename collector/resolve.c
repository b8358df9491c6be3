/* SPDX-License-Identifier: MIT */
/*
 * Workload: at the default rate some thousand (process, stack) pairs of some
 * ten frames per CPU and second; each frame costs a binary search.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/attributes.h"
#include "collector/grow.h"
#include "collector/ledger.h"
#include "collector/measure/rows.h"
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
	const struct jit_ask *jit;
	struct batch *b;
	struct table done;         /* of struct resolved */
	struct resolved *resolved; /* owned */
	size_t n_resolved;
	size_t next_attributes; /* of the harvest's */
};

/* A stack being resolved. */
struct stack_work {
	uint32_t frames[WEFT_MAX_FRAMES];
	uint32_t n;
	bool ambiguous;
	bool jit_not_read;
};

struct places {
	struct jit_place *place; /* owned */
	size_t n, room;
};

size_t harvest_bytes(const struct harvest *h)
{
	const struct shape *s = &h->shape;

	return s->values_room * sizeof(*s->values) +
	       s->counts_room * sizeof(*s->counts) +
	       s->stacks_room * sizeof(*s->stacks) +
	       s->addresses_room * sizeof(*s->addresses) +
	       h->samples_room * sizeof(*h->samples) +
	       h->attributes_room * sizeof(*h->attributes) + h->bytes_room;
}

void harvest_release(struct harvest *h)
{
	shape_release(&h->shape);
	free(h->samples);
	free(h->attributes);
	free(h->bytes);
	*h = (struct harvest){ 0 };
}

static void want_maps(struct resolver *r, const struct harvest *h,
		      const struct weft_identity *who,
		      const struct weft_stack_key *key)
{
	const struct shape_stack *s = shape_find(&h->shape, key);
	struct proc *proc = procs_get(r->procs, who);

	if (!proc)
		return;
	proc->used_ns = h->end_ns;
	if (s && s->n_user)
		(void)procs_want_maps(r->procs, proc);
	procs_want_details(r->procs, proc, h->end_ns);
}

/* The stacks that measures name: those of examples, then those in keys. False:
 * the one at i has none. */
static bool measured_stack(const struct resolver *r,
			   const struct measure_harvest *measured, size_t i,
			   struct weft_identity *who,
			   struct weft_stack_key *stack)
{
	const struct measure_row *row;

	if (i < measured->n_examples) {
		*who = measured->examples[i].sample.process;
		*stack = measured->examples[i].sample.stack;
		return true;
	}
	row = &measured->rows[i - measured->n_examples];
	return measure_key_stack(measures_get(r->measures, row->measure),
				 &row->key, who, stack);
}

void resolve_want_maps(struct resolver *r, const struct harvest *h,
		       const struct measure_harvest *measured)
{
	struct weft_stack_key stack;
	struct weft_identity who;

	for (size_t i = 0; i < h->shape.n_counts; i++) {
		const struct weft_count_key *key = &h->shape.counts[i].key;

		want_maps(r, h, &key->process, &key->stack);
	}
	for (size_t i = 0; i < measured->n_examples + measured->n_rows; i++)
		if (measured_stack(r, measured, i, &who, &stack))
			want_maps(r, h, &who, &stack);
}

/* The address whose mapping and function a user frame is looked up by: of a
 * return address the byte before, which is the call's. */
static uint64_t lookup_address(const struct shape_stack *s,
			       const uint64_t *user, size_t i)
{
	return i == 0 && s->user_leaf_exact ? user[0] : user[i] - 1;
}

/* Where nothing else is mapped: false if there is no room to tell it from
 * other unknown code. */
static bool to_jit(struct resolver *r, const struct proc *proc, uint64_t addr,
		   struct jit_place *out)
{
	*out = (struct jit_place){
		.binary = binaries_process(r->binaries, STORE_JIT, &proc->who),
		.address = addr,
	};
	return out->binary->kind == STORE_JIT;
}

/* Append those of a stack's places that are JIT code. */
static int want_jit(struct resolver *r, const struct harvest *h,
		    const struct weft_identity *who,
		    const struct weft_stack_key *key, struct places *out)
{
	const struct shape_stack *s = shape_find(&h->shape, key);
	const struct proc *proc = procs_get(r->procs, who);
	const uint64_t *user;

	if (!proc || !s)
		return 0;
	user = h->shape.addresses + s->first + s->n_kernel;
	for (size_t i = 0; i < s->n_user; i++) {
		uint64_t addr = lookup_address(s, user, i);
		const struct mapping *m = NULL;

		if (procs_find(proc, addr, h->start_ns, h->end_ns, &m) !=
			    MAPS_FOUND ||
		    m->binary)
			continue;
		if (GROW(out->place, out->n + 1, out->room))
			return -ENOMEM;
		out->n += to_jit(r, proc, addr, &out->place[out->n]);
	}
	return 0;
}

struct jit_ask *resolve_want_jit(struct resolver *r, const struct harvest *h,
				 const struct measure_harvest *measured)
{
	struct places places = { 0 };
	struct jit_ask *ask = NULL;
	struct weft_stack_key stack;
	struct weft_identity who;
	int rc = 0;

	for (size_t i = 0; i < h->shape.n_counts && !rc; i++) {
		const struct weft_count_key *key = &h->shape.counts[i].key;

		rc = want_jit(r, h, &key->process, &key->stack, &places);
	}
	for (size_t i = 0; i < measured->n_examples + measured->n_rows && !rc;
	     i++)
		if (measured_stack(r, measured, i, &who, &stack))
			rc = want_jit(r, h, &who, &stack, &places);
	if (!rc)
		ask = jit_ask(r->jit, places.place, places.n);
	free(places.place);
	return ask;
}

static uint64_t file_offset(const struct mapping *m, uint64_t addr)
{
	return addr - m->start + m->file_offset;
}

static int add_frame(struct work *w, const struct batch_code *code,
		     struct stack_work *out)
{
	int rc = batch_frame(w->b, code, &out->frames[out->n]);

	if (!rc)
		out->n++;
	return rc;
}

/* Code of tracing itself. It is on top of the stack where a hook took it, and
 * no part of what was going on. */
static bool is_tracing(const char *name)
{
	static const char *const begins[] = {
		"bpf_prog_",    "bpf_trace_run",   "__bpf_trace_",
		"__traceiter_", "bpf_trampoline_", "trace_call_bpf",
		"perf_trace_",  "perf_call_bpf_",  "perf_syscall_",
		"kprobe_",      "__kprobe_",       "kretprobe_",
		"ftrace_",      "bpf_get_stack",
	};

	for (size_t i = 0; name && i < ARRAY_LEN(begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static int add_kernel_frames(struct work *w, const struct shape_stack *s,
			     bool is_hook, struct stack_work *out)
{
	const uint64_t *address = w->h->shape.addresses + s->first;
	int rc = 0;

	for (size_t i = 0; i < s->n_kernel && !rc; i++) {
		struct kernel_place place;
		struct batch_code code = { .in_kernel = true,
					   .source = "kallsyms" };

		kernel_find(w->r->kernel, address[i] - (i > 0), w->h->start_ns,
			    w->h->end_ns, &place);
		code.binary = place.binary;
		code.address = place.offset;
		code.name = place.name;
		if (is_hook && !out->n && is_tracing(place.name))
			continue;
		rc = add_frame(w, &code, out);
	}
	return rc;
}

/* A frame whose place is not known: the address itself, within its process. */
static int add_unknown(struct work *w, struct proc *proc, uint64_t addr,
		       struct stack_work *out)
{
	struct batch_code code = {
		.binary = binaries_process(w->r->binaries, STORE_UNKNOWN,
					   &proc->who),
		.address = addr,
	};

	return add_frame(w, &code, out);
}

/* JIT code: what its process's perf map says of the interval. */
static int add_jit(struct work *w, const struct jit_place *place,
		   struct stack_work *out)
{
	struct jit_code jit;
	struct batch_code code = {
		.binary = place->binary,
		.address = place->address,
		.source = "perf-map",
	};

	jit_find(w->r->jit, w->jit, place, &jit);
	code.version = jit.version;
	code.name = jit.name;
	code.linkage_name = jit.linkage_name;
	out->jit_not_read |= !jit.is_read;
	return add_frame(w, &code, out);
}

/* That code was mapped there, the kernel program has seen itself; what code,
 * only the side-band tells. */
static int add_user_frame(struct work *w, struct proc *proc, uint64_t addr,
			  struct stack_work *out)
{
	const struct mapping *m = NULL;
	enum maps_answer answer =
		procs_find(proc, addr, w->h->start_ns, w->h->end_ns, &m);
	struct batch_code code = { 0 };
	struct jit_place jit;

	if (answer == MAPS_AMBIGUOUS)
		out->ambiguous = true;
	if (answer == MAPS_FOUND && !m->binary &&
	    to_jit(w->r, proc, addr, &jit))
		return add_jit(w, &jit, out);
	/* Or there was no room to tell it apart. */
	if (answer != MAPS_FOUND || !m->binary ||
	    m->binary->kind == STORE_UNKNOWN)
		return add_unknown(w, proc, addr, out);
	code.binary = m->binary;
	code.address = file_offset(m, addr);
	return add_frame(w, &code, out);
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
			 bool is_hook, struct proc *proc,
			 struct stack_work *work, uint32_t *out)
{
	const uint64_t *user = w->h->shape.addresses + s->first + s->n_kernel;
	int rc = add_kernel_frames(w, s, is_hook, work);

	for (size_t i = 0; i < s->n_user && !rc; i++)
		rc = add_user_frame(w, proc, lookup_address(s, user, i), work);
	if (rc)
		return rc;
	return batch_stack(w->b, status_of(s), s->user_end, work->frames,
			   work->n, out);
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
		       const struct shape_stack *s,
		       const struct stack_work *work)
{
	enum store_stack_status status = status_of(s);
	const struct {
		bool applies;
		enum ledger_entry entry;
	} lacks[] = {
		{ status == STORE_TRUNCATED, LEDGER_TRUNCATED },
		{ status == STORE_BROKEN, LEDGER_BROKEN },
		{ s->user_end == WEFT_END_PENDING, LEDGER_TABLE_PENDING },
		{ work->ambiguous, LEDGER_AMBIGUOUS_MAP },
		{ work->jit_not_read, LEDGER_JIT_NOT_READ },
	};
	int rc = 0;

	for (size_t i = 0; i < ARRAY_LEN(lacks) && !rc; i++)
		if (lacks[i].applies)
			rc = batch_ledger(w->b, c->key.event, lacks[i].entry,
					  c->count, c->value);
	return rc;
}

/* A stack that the kernel has nothing of: nobody walked it, or it found no
 * room. */
static int resolve_absent(struct work *w, const struct weft_stack_key *key,
			  uint32_t *out)
{
	bool was_taken = key->word[0] || key->word[1] != WEFT_KEY_NOT_TAKEN;

	return batch_stack(w->b, was_taken ? STORE_LOST : STORE_NOT_TAKEN,
			   WEFT_END_NO_USER, NULL, 0, out);
}

/* The attribute of a count, as batch_count() takes it. */
static int place_attribute(struct work *w, uint32_t number, uint32_t *out)
{
	const struct weft_shape_value *value =
		shape_find_value(&w->h->shape, number);
	char text[4 * WEFT_SHAPE_VALUE_BYTES + 1];
	int rc;

	*out = 0;
	text[0] = '\0';
	if (!number || !w->r->shape_by)
		return 0;
	/* One that is not there was refused. */
	if (value && value->size <= WEFT_SHAPE_VALUE_BYTES)
		weft_sanitize(text, sizeof(text), (const char *)value->bytes,
			      value->size);
	rc = batch_attribute(w->b, w->r->shape_by, value ? text : NULL, out);
	if (!rc)
		*out += 1;
	return rc;
}

/* Resolve the process and the stack that *at names, which is s (NULL: it is
 * not there); work gets what the stack lacks. Returns 0 or why there is no
 * room. */
static int place(struct work *w, const struct shape_stack *s, bool is_hook,
		 struct resolved *at, struct stack_work *work)
{
	struct proc *proc = procs_get(w->r->procs, &at->who);
	int rc;

	if (!proc)
		return -E2BIG;
	rc = batch_process(w->b, proc, &at->process);
	if (rc)
		return rc;
	rc = s ? resolve_stack(w, s, is_hook, proc, work, &at->stack)
	       : resolve_absent(w, &at->key, &at->stack);
	if (!rc)
		attributes_of_process(proc->attributes, w->b, at->process);
	return rc;
}

/* Resolve one count into *at. Returns 0 or why it found no room. */
static int place_count(struct work *w, const struct shape_count *c,
		       struct resolved *at)
{
	const struct shape_stack *s = shape_find(&w->h->shape, &c->key.stack);
	struct stack_work work = { .n = 0 };
	uint32_t attribute;
	int rc = place(w, s, w->r->is_hook[c->key.event], at, &work);

	if (rc)
		return rc;
	rc = place_attribute(w, c->key.attribute, &attribute);
	if (rc)
		return rc;
	rc = batch_count(w->b, c->key.event, at->process, at->stack, attribute,
			 c->count, c->value);
	return rc || !s ? rc : tell_ledger(w, c, s, &work);
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
		.has_span = s->context_status == WEFT_CTX_HALF &&
			    s->context_source != WEFT_SOURCE_NONE,
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

/* Of sample i, which was placed just now or not at all. */
static int add_attributes(struct work *w, size_t i, bool is_placed)
{
	const struct weft_sample *s = &w->h->samples[i];
	const struct sample_attributes *a;
	struct attributes_lost lost = { 0 };
	struct proc *proc;
	int rc;

	if (w->next_attributes >= w->h->n_attributes)
		return 0;
	a = &w->h->attributes[w->next_attributes];
	if (a->sample != i)
		return 0;
	w->next_attributes++;
	if (!is_placed)
		return 0;
	proc = procs_get(w->r->procs, &s->process);
	attributes_of_sample(proc ? proc->attributes : NULL, w->b,
			     w->h->bytes + a->first, a->size, s->boot_ns,
			     &lost);
	if (lost.unknown && w->r->discovery)
		discovery_look_again(w->r->discovery, &s->process);
	rc = batch_ledger(w->b, s->event, LEDGER_ATTRIBUTES_REFUSED,
			  lost.refused, 0);
	if (!rc)
		rc = batch_ledger(w->b, s->event, LEDGER_ATTRIBUTES_UNKNOWN,
				  lost.unknown, 0);
	return rc ? rc
		  : batch_ledger(w->b, s->event, LEDGER_ATTRIBUTES_TRUNCATED,
				 a->is_truncated, 0);
}

static int resolve_samples(struct work *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->h->n_samples && !rc; i++) {
		const struct weft_sample *s = &w->h->samples[i];
		bool is_placed = !place_sample(w, s);

		if (!is_placed)
			rc = batch_ledger(w->b, s->event, LEDGER_LOST_DISCARDED,
					  1, s->value);
		if (!rc)
			rc = add_attributes(w, i, is_placed);
	}
	for (uint32_t e = 0; e < WEFT_MAX_EVENTS && !rc; e++) {
		const struct weft_count *lost = &w->h->lost[e];

		if (lost->count)
			rc = batch_ledger(w->b, e, LEDGER_LOST_DISCARDED,
					  lost->count, lost->value);
	}
	return rc ? rc
		  : batch_ledger(w->b, 0, LEDGER_ATTRIBUTES_REFUSED,
				 w->h->lost_attributes, 0);
}

/* What measures name: by a hook's stack, which counts may not have. */
static int find_measured(void *ctx, const struct weft_identity *who,
			 const struct weft_stack_key *key, uint32_t *process,
			 uint32_t *stack)
{
	struct work *w = ctx;
	struct stack_work work = { .n = 0 };
	struct resolved at = { .who = *who, .key = *key };
	int rc = place(w, shape_find(&w->h->shape, key), true, &at, &work);

	*process = at.process;
	*stack = at.stack;
	return rc;
}

int resolve(struct resolver *r, const struct harvest *h,
	    const struct measure_harvest *measured, const struct jit_ask *jit,
	    struct batch *b)
{
	struct work w = { .r = r, .h = h, .jit = jit, .b = b };
	int rc = -ENOMEM;

	w.resolved = calloc(h->shape.n_counts + 1, sizeof(*w.resolved));
	if (w.resolved)
		rc = resolve_counts(&w);
	if (!rc)
		rc = resolve_samples(&w);
	if (!rc && r->measures)
		rc = measure_rows(r->measures, measured, &h->shape,
				  find_measured, &w, b);
	table_release(&w.done);
	free(w.resolved);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* A batch refers to itself by index: here each index is held to its array. */
#include <errno.h>

#include "store/inside.h"

static int refuse(const char *what, size_t i, struct weft_err *err)
{
	return weft_fail(err, -EINVAL, "bad batch: %s %zu leads out of it",
			 what, i);
}

int batch_check_text(const char *text, size_t text_size, struct weft_err *err)
{
	/* All offsets below text_size then lead to a terminated string. */
	if (text_size && (text[0] || text[text_size - 1]))
		return weft_fail(err, -EINVAL,
				 "bad batch: its text is not terminated");
	return 0;
}

static bool has(const struct store_batch *b, store_text offset)
{
	return !offset || offset < b->text_size;
}

static int check_who(const struct store_batch *b, struct weft_err *err)
{
	const struct store_process *p;
	const struct store_thread *t;
	size_t i;

	for (i = 0; i < b->n_processes; i++) {
		p = &b->processes[i];
		if (!has(b, p->comm) || !has(b, p->exe) || !has(b, p->cgroup) ||
		    !has(b, p->service))
			return refuse("process", i, err);
	}
	for (i = 0; i < b->n_threads; i++) {
		t = &b->threads[i];
		if (t->process >= b->n_processes || !has(b, t->comm))
			return refuse("thread", i, err);
	}
	return 0;
}

static int check_where(const struct store *st, const struct store_batch *b,
		       struct weft_err *err)
{
	const struct store_binary *binary;
	const struct store_stack *s;
	size_t i;

	for (i = 0; i < b->n_binaries; i++) {
		binary = &b->binaries[i];
		if ((unsigned)binary->kind >= STORE_BINARY_KINDS ||
		    !has(b, binary->path) || !has(b, binary->build_id) ||
		    !has(b, binary->identity))
			return refuse("binary", i, err);
	}
	for (i = 0; i < b->n_frames; i++) {
		if (b->frames[i].binary >= b->n_binaries)
			return refuse("frame", i, err);
	}
	for (i = 0; i < b->n_stack_frames; i++) {
		if (b->stack_frames[i] >= b->n_frames)
			return refuse("stack frame", i, err);
	}
	for (i = 0; i < b->n_stacks; i++) {
		s = &b->stacks[i];
		if ((unsigned)s->status >= STORE_STACK_STATUSES ||
		    (s->status < STORE_LOST && s->end >= st->n_walk_ends) ||
		    s->first > b->n_stack_frames ||
		    s->depth > b->n_stack_frames - s->first)
			return refuse("stack", i, err);
	}
	return 0;
}

static int check_what(const struct store *st, const struct store_batch *b,
		      struct weft_err *err)
{
	size_t i;

	for (i = 0; i < b->n_cpus; i++) {
		if (b->cpus[i].event >= st->n_events)
			return refuse("CPU", i, err);
	}
	for (i = 0; i < b->n_counts; i++) {
		if (b->counts[i].event >= st->n_events ||
		    b->counts[i].process >= b->n_processes ||
		    b->counts[i].stack >= b->n_stacks ||
		    b->counts[i].attribute > b->n_attributes)
			return refuse("count", i, err);
	}
	for (i = 0; i < b->n_samples; i++) {
		if (b->samples[i].event >= st->n_events ||
		    b->samples[i].thread >= b->n_threads ||
		    b->samples[i].stack >= b->n_stacks)
			return refuse("sample", i, err);
	}
	for (i = 0; i < b->n_ledger; i++) {
		if (b->ledger[i].event >= st->n_events ||
		    b->ledger[i].entry >= st->n_ledger_entries)
			return refuse("ledger entry", i, err);
	}
	return 0;
}

static int check_has(const struct store_batch *b,
		     const struct store_has *has_it, size_t n, size_t n_who,
		     struct weft_err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (has_it[i].who >= n_who ||
		    has_it[i].attribute >= b->n_attributes ||
		    !b->attributes[has_it[i].attribute].value)
			return refuse("attribute", i, err);
	}
	return 0;
}

static bool has_key(const struct store_batch *b,
		    const struct store_metric_key key[STORE_METRIC_KEYS])
{
	for (int i = 0; i < STORE_METRIC_KEYS; i++)
		if ((key[i].kind == STORE_KEY_TEXT && !has(b, key[i].text)) ||
		    (key[i].kind == STORE_KEY_STACK &&
		     (uint64_t)key[i].number >= b->n_stacks))
			return false;
	return true;
}

static int check_metrics(const struct store *st, const struct store_batch *b,
			 struct weft_err *err)
{
	const struct store_metric_value *v;
	const struct store_metric_exemplar *e;
	size_t i;

	for (i = 0; i < b->n_metric_values; i++) {
		v = &b->metric_values[i];
		if (v->metric >= st->n_metrics ||
		    v->first > b->n_metric_buckets ||
		    v->n_buckets > b->n_metric_buckets - v->first)
			return refuse("metric value", i, err);
		if (!has_key(b, v->key))
			return refuse("metric value", i, err);
	}
	for (i = 0; i < b->n_metric_exemplars; i++) {
		e = &b->metric_exemplars[i];
		if (e->metric >= st->n_metrics || !has_key(b, e->key) ||
		    e->thread >= b->n_threads || e->stack >= b->n_stacks)
			return refuse("metric exemplar", i, err);
	}
	return 0;
}

static int check_attributes(const struct store_batch *b, struct weft_err *err)
{
	size_t i;
	int rc;

	for (i = 0; i < b->n_attributes; i++) {
		if (!b->attributes[i].key || !has(b, b->attributes[i].key) ||
		    !has(b, b->attributes[i].value))
			return refuse("attribute", i, err);
	}
	rc = check_has(b, b->sample_attributes, b->n_sample_attributes,
		       b->n_samples, err);
	return rc ? rc
		  : check_has(b, b->process_attributes, b->n_process_attributes,
			      b->n_processes, err);
}

int batch_check(const struct store *st, const struct store_batch *batch,
		struct weft_err *err)
{
	int rc;

	rc = batch_check_text(batch->text, batch->text_size, err);
	if (!rc)
		rc = check_who(batch, err);
	if (!rc)
		rc = check_where(st, batch, err);
	if (!rc)
		rc = check_what(st, batch, err);
	if (!rc)
		rc = check_attributes(batch, err);
	if (!rc)
		rc = check_metrics(st, batch, err);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * IDs that a thread hands to a function or a USDT probe that the user named:
 * for programs that keep them nowhere that we know. What a thread said last
 * holds until it says something else or ends; a null pointer, or an ID that
 * is all zero, says that it works for nobody.
 */
#ifndef WEFT_CONTEXT_PROBE_BPF_H
#define WEFT_CONTEXT_PROBE_BPF_H

#include "kern.h"

#include <bpf/usdt.bpf.h>

#include "target.bpf.h"
#include "trace_id.h"
#include "wire.h"

/* What a thread said last. */
struct probe_context {
	__u64 thread_start_ns; /* with exec_seq: whose it is */
	__u32 exec_seq;
	__u8 status; /* enum weft_context_status */
	__u8 pad[3];
	__u8 trace_id[ID_TRACE_BYTES];
	__u8 span_id[ID_SPAN_BYTES];
};

/* By pid and tid. Not an LRU map: that one gives an element to another thread
 * while we may be reading it. Ends of threads make room. Size set before load,
 * from 1 where there is no probe. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct probe_context);
} probe_contexts SEC(".maps");

/* Processes whose threads ran into the probe: what else they have does not
 * count. Full: the longest unused is forgotten. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct weft_identity);
	__type(value, __u8);
} probe_processes SEC(".maps");

/* Contexts that found no room. */
volatile __u64 probe_contexts_refused;

struct probe_arguments {
	__u64 trace, low, span;
};

/* An ID of n bytes (16: trace, 8: span) from an argument. */
static __always_inline __u8 probe_id(__u8 form, __u64 argument, int n,
				     __u8 *out)
{
	__u8 text[ID_TEXT_BYTES] = { 0 };

	switch (form) {
	case WEFT_FORM_BYTES:
		return bpf_probe_read_user(out, n, (const void *)argument)
			       ? WEFT_CTX_E_RECORD
			       : WEFT_CTX_OK;
	case WEFT_FORM_HEX:
		if (bpf_probe_read_user(text, 2 * n, (const void *)argument))
			return WEFT_CTX_E_RECORD;
		return id_from_hex(text, n, out) ? WEFT_CTX_OK
						 : WEFT_CTX_MALFORMED;
	default:
		id_from_number(argument, out);
		return WEFT_CTX_OK;
	}
}

static __always_inline __u8 probe_ids(const struct probe_arguments *a,
				      struct probe_context *c)
{
	const volatile struct weft_trace_probe *p = &config.trace_probe;
	__u8 status;

	if (p->trace_form == WEFT_FORM_NUMBER) {
		id_from_number(a->trace, c->trace_id);
		id_from_number(a->low, c->trace_id + 8);
		status = WEFT_CTX_OK;
	} else if (!a->trace) {
		return WEFT_CTX_NULL;
	} else {
		status = probe_id(p->trace_form, a->trace, ID_TRACE_BYTES,
				  c->trace_id);
	}
	if (status != WEFT_CTX_OK)
		return status;
	if (all_zero(c->trace_id, 2))
		return WEFT_CTX_NULL;
	if (p->span_form == WEFT_FORM_NONE ||
	    (p->span_form != WEFT_FORM_NUMBER && !a->span))
		return WEFT_CTX_OK;
	return probe_id(p->span_form, a->span, ID_SPAN_BYTES, c->span_id);
}

/* The probe was hit by the current thread. */
static __always_inline void probe_hit(const struct probe_arguments *a)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct weft_identity process = identity_of(task);
	__u64 thread = bpf_get_current_pid_tgid();
	struct probe_context c = { .thread_start_ns = task->start_boottime,
				   .exec_seq = process.exec_seq };
	__u8 one = 1;

	if (!is_target(task))
		return;
	if (!bpf_map_lookup_elem(&probe_processes, &process))
		bpf_map_update_elem(&probe_processes, &process, &one, BPF_ANY);
	c.status = probe_ids(a, &c);
	if (c.status == WEFT_CTX_NULL) {
		bpf_map_delete_elem(&probe_contexts, &thread);
		return;
	}
	if (bpf_map_update_elem(&probe_contexts, &thread, &c, BPF_ANY)) {
		/* What it said before is over all the same. */
		bpf_map_delete_elem(&probe_contexts, &thread);
		__sync_fetch_and_add(&probe_contexts_refused, 1);
	}
}

static __always_inline void probe_thread_ends(void)
{
	__u64 thread = bpf_get_current_pid_tgid();

	if (config.trace_probe.trace_form != WEFT_FORM_NONE)
		bpf_map_delete_elem(&probe_contexts, &thread);
}

/* Returns false where the process has not met the probe. */
static __always_inline bool read_probe(struct task_struct *task,
				       struct weft_sample *s, __u8 *status)
{
	__u64 thread = (__u64)s->process.pid << 32 | s->tid;
	const struct probe_context *c;

	if (config.trace_probe.trace_form == WEFT_FORM_NONE ||
	    !bpf_map_lookup_elem(&probe_processes, &s->process))
		return false;
	c = bpf_map_lookup_elem(&probe_contexts, &thread);
	*status = WEFT_CTX_NULL;
	if (!c || c->thread_start_ns != s->thread_start_ns ||
	    c->exec_seq != s->process.exec_seq)
		return true;
	*status = c->status;
	if (c->status != WEFT_CTX_OK)
		return true;
	__builtin_memcpy(s->trace_id, c->trace_id, sizeof(s->trace_id));
	__builtin_memcpy(s->span_id, c->span_id, sizeof(s->span_id));
	s->context_source = WEFT_SOURCE_PROBE;
	return true;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * IDs that OpenTelemetry's eBPF instrumentation (OBI) keeps for the thread
 * that works on a request, in a map that it pins for others to read: LRU, by
 * pid and tid, the trace ID and then the span ID (its bpf/shared/obi_ctx.h).
 * It says nothing of whose a number was before, so what ended threads and
 * replaced programs left is removed here.
 */
#ifndef WEFT_CONTEXT_OBI_BPF_H
#define WEFT_CONTEXT_OBI_BPF_H

#include "kern.h"
#include "shared.bpf.h"
#include "trace_id.h"
#include "wire.h"

/* Replaced by the pinned one before load; else of one element, not used. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct weft_obi_ids);
} obi_contexts SEC(".maps");

/* What the current thread has. An LRU map may give an element to another
 * thread while it is being read: what was read counts only if the element was
 * still this thread's afterwards. */
static __always_inline bool read_obi(struct weft_sample *s)
{
	__u64 thread = (__u64)s->process.pid << 32 | s->tid;
	const struct weft_obi_ids *ids;
	struct weft_obi_ids copy;

	ids = bpf_map_lookup_elem(&obi_contexts, &thread);
	if (!ids)
		return false;
	copy = *(const volatile struct weft_obi_ids *)ids;
	if (bpf_map_lookup_elem(&obi_contexts, &thread) != ids ||
	    all_zero(copy.trace_id, 2))
		return false;
	__builtin_memcpy(s->trace_id, copy.trace_id, sizeof(s->trace_id));
	__builtin_memcpy(s->span_id, copy.span_id, sizeof(s->span_id));
	s->trace_flags = 0;
	s->context_source = WEFT_SOURCE_OBI;
	if (!shared.obi_was_read)
		shared.obi_was_read = 1;
	return true;
}

/* The thread ends, or becomes another program. */
static __always_inline void forget_obi(const struct task_struct *task)
{
	__u64 thread = (__u64)task->tgid << 32 | (__u32)task->pid;

	if (config.obi != WEFT_OBI_OFF)
		bpf_map_delete_elem(&obi_contexts, &thread);
}

#endif

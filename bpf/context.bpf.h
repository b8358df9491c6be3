/* SPDX-License-Identifier: MIT */
/*
 * The trace context of the sampled thread, read from its own memory in the
 * same program run: it cannot be another request's. What the process has, by
 * whose layout, and where, the collector found out once per process; an entry
 * of another process, or from before an exec, is not used.
 */
#ifndef WEFT_CONTEXT_BPF_H
#define WEFT_CONTEXT_BPF_H

#include "context_elastic.bpf.h"
#include "context_labels.bpf.h"
#include "context_obi.bpf.h"
#include "context_probe.bpf.h"
#include "wire.h"

/* pid -> where its threads keep their record. Full: no context, and the
 * collector counts what it could not add. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct weft_context_entry);
} context_entries SEC(".maps");

/* OTEP 4947, "thread record": packed; IDs in W3C byte order. */
struct otel_record {
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 valid; /* exactly 1: usable */
	__u8 trace_flags;
	__u16 attrs_size;
};

enum {
	DTV_MAX_MODULE = 4096
};

/* Address of the variable in a dynamic thread vector; 0 with status set where
 * there is none. Layouts: glibc has {length at -16, generation at 0}, entries
 * of 16 bytes; musl {length at 0}, entries of 8. */
static __always_inline __u64 dtv_slot(const struct weft_context_entry *e,
				      const struct weft_context_slot *slot,
				      __u64 tp, __u8 *status)
{
	__u64 dtv, head[3], block;
	__u64 length;

	*status = WEFT_CTX_E_DTV;
	if (!slot->module || slot->module > DTV_MAX_MODULE)
		return 0;
	if (bpf_probe_read_user(&dtv, sizeof(dtv),
				(const void *)(tp + e->dtv_offset)))
		return 0;
	if (bpf_probe_read_user(head, sizeof(head), (const void *)(dtv - 16)))
		return 0;
	length = e->is_glibc ? head[0] : head[2];
	if (length < slot->module || (e->is_glibc && head[2] < slot->min_gen)) {
		*status = WEFT_CTX_UNTOUCHED;
		return 0;
	}
	if (bpf_probe_read_user(
		    &block, sizeof(block),
		    (const void *)(dtv + (__u64)slot->module * e->dtv_stride)))
		return 0;
	if (!block || block == ~0ULL) {
		*status = WEFT_CTX_UNTOUCHED;
		return 0;
	}
	return block + slot->offset;
}

/* Where a thread's own slot is. As dtv_slot(). */
static __always_inline __u64 slot_address(const struct weft_context_entry *e,
					  const struct weft_context_slot *slot,
					  __u64 tp, __u8 *status)
{
	return slot->module ? dtv_slot(e, slot, tp, status) : tp + slot->offset;
}

/* What the record has of attributes, as far as there is room. */
static __always_inline void read_attributes(__u64 record, __u32 size,
					    struct weft_sample_attributes *a)
{
	__u32 n = size;

	if (n > WEFT_ATTRIBUTE_BYTES)
		n = WEFT_ATTRIBUTE_BYTES;
	a->size = size;
	if (n && bpf_probe_read_user(
			 a->bytes, n,
			 (const void *)(record + sizeof(struct otel_record))))
		a->size = 0;
}

/* Read the record behind one slot into the sample. */
static __always_inline __u8 read_record(__u64 slot_address,
					struct weft_sample *s)
{
	struct otel_record r;
	__u64 record;

	if (bpf_probe_read_user(&record, sizeof(record),
				(const void *)slot_address))
		return WEFT_CTX_E_SLOT;
	if (!record)
		return WEFT_CTX_NULL;
	if (record & 1 ||
	    bpf_probe_read_user(&r, sizeof(r), (const void *)record))
		return WEFT_CTX_E_RECORD;
	if (r.valid != 1)
		return WEFT_CTX_UPDATING;
	/* They hold also where no trace is active. */
	if (config.attributes)
		read_attributes(record, r.attrs_size,
				(struct weft_sample_attributes *)s);
	if (all_zero(r.trace_id, 2) != all_zero(r.span_id, 1))
		return WEFT_CTX_HALF;
	if (all_zero(r.trace_id, 2))
		return WEFT_CTX_ZERO;
	__builtin_memcpy(s->trace_id, r.trace_id, sizeof(s->trace_id));
	__builtin_memcpy(s->span_id, r.span_id, sizeof(s->span_id));
	s->trace_flags = r.trace_flags;
	s->context_source = WEFT_SOURCE_OTEL;
	return WEFT_CTX_OK;
}

/* Read what one slot leads to. */
static __always_inline __u8 read_slot(const struct weft_context_entry *e,
				      __u64 address, struct weft_sample *s)
{
	switch (e->source) {
	case WEFT_SOURCE_GO:
		return read_go(e, address, s);
	case WEFT_SOURCE_ELASTIC:
		return read_elastic(address, s);
	case WEFT_SOURCE_LABELS:
		return read_custom_labels(address, s);
	default:
		return read_record(address, s);
	}
}

static __always_inline bool is_entry_of(const struct weft_context_entry *e,
					const struct weft_identity *who)
{
	return e->process.start_ns == who->start_ns &&
	       e->process.pid == who->pid &&
	       e->process.exec_seq == who->exec_seq;
}

static __always_inline void forget_context(struct weft_sample *s)
{
	__builtin_memset(s->trace_id, 0, sizeof(s->trace_id));
	__builtin_memset(s->span_id, 0, sizeof(s->span_id));
	s->trace_flags = 0;
	s->context_source = WEFT_SOURCE_NONE;
	if (config.attributes)
		((struct weft_sample_attributes *)s)->size = 0;
}

/* What the process itself has: the first of its sources, and of that the
 * first slot with a usable record. *is_without: it is known to have none. */
static __always_inline __u8 read_own(struct task_struct *task,
				     struct weft_sample *s, bool *is_without)
{
	struct weft_context_entry *e;
	__u8 status = WEFT_CTX_NO_ENTRY;
	__u32 pid = s->process.pid;
	__u64 tp;

	*is_without = false;
	if (read_probe(task, s, &status))
		return status;
	e = bpf_map_lookup_elem(&context_entries, &pid);
	if (!e)
		return WEFT_CTX_NO_ENTRY;
	if (!is_entry_of(e, &s->process))
		return WEFT_CTX_STALE_ENTRY;
	*is_without = e->kind == WEFT_CONTEXT_NONE;
	if (*is_without)
		return e->status;
	*is_without = e->source == WEFT_SOURCE_GO && !config.labels.trace[0][0];
	if (*is_without)
		return WEFT_CTX_NO_ENTRY; /* not asked for */
	tp = task->thread.fsbase;
	if (!tp)
		return WEFT_CTX_E_TP;
	for (int i = 0; i < WEFT_MAX_CONTEXT_SLOTS && i < e->n_slots; i++) {
		__u64 address = slot_address(e, &e->slot[i], tp, &status);

		if (!address)
			continue;
		status = read_slot(e, address, s);
		if (status == WEFT_CTX_OK)
			break;
	}
	/* The map gives an element that was replaced to another process while
	 * we may be going by it. */
	if (!is_entry_of(e, &s->process)) {
		forget_context(s);
		return WEFT_CTX_STALE_ENTRY;
	}
	/* Roughly right is enough: CPUs may lose each other's counts. */
	e->reads++;
	e->failed += status == WEFT_CTX_E_DTV || status == WEFT_CTX_E_SLOT ||
		     status == WEFT_CTX_E_RECORD;
	return status;
}

/* Whether OBI is asked after what the process has gave no ID. What could not
 * be read is no reason to ask another. */
static __always_inline bool may_ask_obi(__u8 status, bool is_without)
{
	if (config.obi != WEFT_OBI_ALWAYS)
		return config.obi == WEFT_OBI_AUTO && is_without;
	return is_without || status == WEFT_CTX_NULL ||
	       status == WEFT_CTX_ZERO || status == WEFT_CTX_UNTOUCHED ||
	       status == WEFT_CTX_NO_ENTRY;
}

/* Fill the sample's context. */
static __always_inline __u8 read_context(struct task_struct *task,
					 struct weft_sample *s)
{
	bool is_without;
	__u8 status;

	if (kern_is_worker(task))
		return WEFT_CTX_SKIPPED_WORKER;
	status = read_own(task, s, &is_without);
	if (status != WEFT_CTX_OK && may_ask_obi(status, is_without) &&
	    read_obi(s))
		return WEFT_CTX_OK;
	return status;
}

#endif

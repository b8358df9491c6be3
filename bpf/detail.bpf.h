/* SPDX-License-Identifier: MIT */
/*
 * Detail: a random subset of the counted samples goes through a ring buffer,
 * one record each, with the trace context of its thread.
 */
#ifndef WEFT_DETAIL_BPF_H
#define WEFT_DETAIL_BPF_H

#include "context.bpf.h"
#include "notice.bpf.h"
#include "wire.h"

/* Size set before load, from --ring-size. Full: lost_ring_full. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} samples SEC(".maps");

/* Waking the collector per record costs more than the record. */
static __always_inline __u64 wake_flag(void)
{
	__u64 fill = bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA);

	return fill >= config.ring_wake_bytes ? BPF_RB_FORCE_WAKEUP
					      : BPF_RB_NO_WAKEUP;
}

/* Whether a counted sample is chosen for detail, and what it then stands for.
 * Values in ns are chosen by size: the long are certain, and each of the short
 * stands for tau (Horvitz, Thompson 1952). */
static __always_inline bool choose(__u32 event, __u64 value, __u64 *weight_q32)
{
	const volatile struct weft_event_config *e =
		&config.event[event % WEFT_MAX_EVENTS];
	__u64 tau_ns = e->tau_ns;

	if (!config.detail)
		return false;
	*weight_q32 = e->weight_q32;
	if (!tau_ns)
		return bpf_get_prandom_u32() <= config.detail_chance;
	*weight_q32 = 1ULL << 32;
	if (value >= tau_ns)
		return true;
	if (!value || bpf_get_prandom_u32() * tau_ns >= value << 32)
		return false;
	*weight_q32 = (tau_ns << 32) / value;
	return true;
}

/* Room for a record that was chosen; NULL: the ledger says why not. */
static __always_inline struct weft_sample *sample_begin(struct page page,
							__u64 value)
{
	/* A constant to the verifier. */
	const __u64 size = config.attributes
				   ? sizeof(struct weft_sample_attributes)
				   : sizeof(struct weft_sample);
	struct weft_sample *s;

	note(page, WEFT_SELECTED, value);
	s = bpf_ringbuf_reserve(&samples, size, 0);
	if (s)
		return s;
	/* The kernel does not say why. A ring with room refused because
	 * another context on this CPU holds its lock. */
	note(page,
	     bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) + 2 * size <
			     bpf_ringbuf_query(&samples, BPF_RB_RING_SIZE)
		     ? WEFT_LOST_RING_BUSY
		     : WEFT_LOST_RING_FULL,
	     value);
	return NULL;
}

/* The same if it is chosen, which the ledger tells, too. */
static __always_inline struct weft_sample *
sample_choose(__u32 event, struct page page, __u64 value, __u64 *weight_q32)
{
	if (choose(event, value, weight_q32))
		return sample_begin(page, value);
	note(page, WEFT_PASSED_OVER, value);
	return NULL;
}

/* Who is sampled. */
static __always_inline void sample_name(struct weft_sample *s,
					struct task_struct *task,
					const struct weft_identity *who)
{
	__builtin_memset(s, 0, sizeof(*s));
	if (config.attributes)
		((struct weft_sample_attributes *)s)->size = 0;
	s->kind = WEFT_RECORD_SAMPLE;
	s->process = *who;
	s->thread_start_ns = task->start_boottime;
	s->tid = task->pid;
	bpf_probe_read_kernel(s->thread_comm, sizeof(s->thread_comm),
			      task->comm);
	s->context_status = WEFT_CTX_NO_ENTRY;
}

/* And, of the current thread, in which trace. */
static __always_inline void sample_describe(struct weft_sample *s,
					    struct task_struct *task,
					    const struct weft_identity *who)
{
	sample_name(s, task, who);
	s->context_status = read_context(task, s);
}

/* Fill in the rest and send it. */
static __always_inline void sample_end(struct weft_sample *s, __u32 epoch,
				       const struct weft_count_key *key,
				       struct page page, __u64 boot_ns,
				       __u64 value, __u64 weight_q32)
{
	s->epoch = epoch;
	s->boot_ns = boot_ns;
	s->cpu = bpf_get_smp_processor_id();
	s->stack = key->stack;
	s->value = value;
	s->weight_q32 = weight_q32;
	s->event = key->event;
	note(page, WEFT_CONTEXT_OK + (s->context_status & 15), value);
	bpf_ringbuf_submit(s, wake_flag());
}

static __always_inline bool wants_context(const struct weft_sample *s)
{
	return s->context_status == WEFT_CTX_NO_ENTRY ||
	       s->context_status == WEFT_CTX_STALE_ENTRY;
}

/* Choose the current thread's sample with its probability and send it. */
static __always_inline void send_detail(__u32 epoch, struct task_struct *task,
					const struct weft_count_key *key,
					struct page page, __u64 value)
{
	struct weft_sample *s;
	__u64 weight_q32;

	s = sample_choose(key->event, page, value, &weight_q32);
	if (!s)
		return;
	sample_describe(s, task, &key->process);
	if (wants_context(s))
		ask_for_context(task, &key->process, epoch);
	sample_end(s, epoch, key, page, bpf_ktime_get_boot_ns(), value,
		   weight_q32);
}

/* The same of a thread that need not be current, and of what took from_ns to
 * until_ns (boot time), by what was kept of it when it was; NULL: nothing but
 * who it is can be told. */
static __always_inline void send_kept(__u32 epoch, struct task_struct *task,
				      const struct weft_sample_attributes *kept,
				      const struct weft_count_key *key,
				      struct page page, __u64 from_ns,
				      __u64 until_ns)
{
	__u64 value = until_ns - from_ns, weight_q32;
	struct weft_sample *s;

	s = sample_choose(key->event, page, value, &weight_q32);
	if (!s)
		return;
	if (!kept)
		sample_name(s, task, &key->process);
	else if (config.attributes)
		__builtin_memcpy(s, kept, sizeof(*kept));
	else
		__builtin_memcpy(s, kept, sizeof(*s));
	sample_end(s, epoch, key, page, until_ns, value, weight_q32);
}

#endif

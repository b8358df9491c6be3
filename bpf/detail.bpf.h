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

/* Choose the sample with the configured probability and send it. */
static __always_inline void send_detail(__u32 epoch, struct task_struct *task,
					const struct weft_count_key *key,
					struct weft_ledger *l, __u64 value)
{
	/* A constant to the verifier. */
	const __u64 size = config.attributes
				   ? sizeof(struct weft_sample_attributes)
				   : sizeof(struct weft_sample);
	struct weft_sample *s;
	__u8 status;

	if (!config.detail || bpf_get_prandom_u32() > config.detail_chance) {
		tally(l, WEFT_PASSED_OVER, value);
		return;
	}
	tally(l, WEFT_SELECTED, value);
	s = bpf_ringbuf_reserve(&samples, size, 0);
	if (!s) {
		/* The kernel does not say why. A ring with room refused
		 * because another context on this CPU holds its lock. */
		tally(l,
		      bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) +
					      2 * size <
				      bpf_ringbuf_query(&samples,
							BPF_RB_RING_SIZE)
			      ? WEFT_LOST_RING_BUSY
			      : WEFT_LOST_RING_FULL,
		      value);
		return;
	}
	__builtin_memset(s, 0, sizeof(*s));
	if (config.attributes)
		((struct weft_sample_attributes *)s)->size = 0;
	s->kind = WEFT_RECORD_SAMPLE;
	s->epoch = epoch;
	s->boot_ns = bpf_ktime_get_boot_ns();
	s->process = key->process;
	s->thread_start_ns = task->start_boottime;
	s->tid = task->pid;
	s->cpu = bpf_get_smp_processor_id();
	s->stack = key->stack;
	s->value = value;
	s->weight_q32 = config.weight_q32;
	s->event = key->event;
	bpf_probe_read_kernel(s->thread_comm, sizeof(s->thread_comm),
			      task->comm);
	status = read_context(task, s);
	s->context_status = status;
	tally(l, WEFT_CONTEXT_OK + (status & 15), value);
	if (status == WEFT_CTX_NO_ENTRY || status == WEFT_CTX_STALE_ENTRY)
		ask_for_context(task, &key->process, epoch);
	bpf_ringbuf_submit(s, wake_flag());
}

#endif

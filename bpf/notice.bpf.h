/* SPDX-License-Identifier: MIT */
/*
 * What the collector is told beside samples: who was born, became another
 * program, died; whose trace context to look for, which tables and lists to
 * make. A ring of its own, so that a flood of samples cannot hide it.
 */
#ifndef WEFT_NOTICE_BPF_H
#define WEFT_NOTICE_BPF_H

#include "ledger.bpf.h"
#include "target.bpf.h"
#include "wire.h"

enum {
	NOTICES_BYTES = 1024 * 1024
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NOTICES_BYTES);
} notices SEC(".maps");

/* identity -> when its trace context was last asked for (boot ns). Full: the
 * longest unused is forgotten and asked for again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct weft_identity);
	__type(value, __u64);
} probes_asked SEC(".maps");

/* identity -> when it last told that it published (boot ns). */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct weft_identity);
	__type(value, __u64);
} published SEC(".maps");

enum {
	/* The collector looks 20 ms after a notice: what is published
	 * meanwhile it sees as well. */
	PUBLISH_NOTICES_NS = 10000000
};

static __always_inline struct weft_notice *
notice_begin(enum weft_notice_kind kind, struct task_struct *task, __u32 epoch)
{
	struct weft_notice *n = bpf_ringbuf_reserve(&notices, sizeof(*n), 0);
	struct weft_ledger *l;

	if (!n) {
		/* Programs of every kind come here, for the same event. */
		l = ledger_find(epoch, 0);
		if (l)
			tally_shared(l, WEFT_SIDEBAND_LOST, 0);
		return NULL;
	}
	n->kind = kind;
	n->pad = 0;
	n->boot_ns = bpf_ktime_get_boot_ns();
	n->process = identity_of(task);
	return n;
}

/* Returns false where there was no room, which the ledger then says. */
static __always_inline bool notify(enum weft_notice_kind kind,
				   struct task_struct *task,
				   struct task_struct *parent, __u32 epoch)
{
	struct weft_notice *n = notice_begin(kind, task, epoch);
	bool is_urgent;

	if (!n)
		return false;
	n->parent = parent ? identity_of(parent) : (struct weft_identity){ 0 };
	bpf_probe_read_kernel(n->comm, sizeof(n->comm), task->comm);
	is_urgent = kind == WEFT_NOTICE_PROBE || kind == WEFT_NOTICE_MAPPINGS ||
		    kind == WEFT_NOTICE_PUBLISH ||
		    bpf_ringbuf_query(&notices, BPF_RB_AVAIL_DATA) >
			    NOTICES_BYTES / 4;
	bpf_ringbuf_submit(n,
			   is_urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return true;
}

/* Ask for the unwind table of a file that the current process maps. */
static __always_inline bool notify_table(const struct weft_file_key *file,
					 __u64 start, __u64 end, __u32 epoch)
{
	struct weft_notice *n = notice_begin(WEFT_NOTICE_TABLE,
					     bpf_get_current_task_btf(), epoch);

	if (!n)
		return false;
	n->table.file = *file;
	n->table.start = start;
	n->table.end = end;
	bpf_ringbuf_submit(n, BPF_RB_FORCE_WAKEUP);
	return true;
}

/* Ask for something of a process, once; asked remembers for which. */
static __always_inline void ask_once(void *asked, enum weft_notice_kind kind,
				     struct task_struct *task,
				     const struct weft_identity *who,
				     __u32 epoch)
{
	__u64 now = 1;

	if (bpf_map_lookup_elem(asked, who))
		return;
	if (bpf_map_update_elem(asked, who, &now, BPF_NOEXIST))
		return; /* busy, or another CPU was first: the next asks */
	if (!notify(kind, task, NULL, epoch))
		bpf_map_delete_elem(asked, who);
}

/* Who names mappings all the time must not fill the ring with it. */
static __always_inline void notify_published(struct task_struct *task,
					     __u32 epoch)
{
	struct weft_identity who = identity_of(task);
	__u64 now = bpf_ktime_get_boot_ns();
	__u64 *last = bpf_map_lookup_elem(&published, &who);

	if (last && now - *last < PUBLISH_NOTICES_NS)
		return;
	bpf_map_update_elem(&published, &who, &now, BPF_ANY);
	notify(WEFT_NOTICE_PUBLISH, task, NULL, epoch);
}

static __always_inline void ask_for_context(struct task_struct *task,
					    const struct weft_identity *who,
					    __u32 epoch)
{
	ask_once(&probes_asked, WEFT_NOTICE_PROBE, task, who, epoch);
}

#endif

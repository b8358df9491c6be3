/* SPDX-License-Identifier: MIT */
/*
 * weft's kernel program: entry points. The programs of perf events take the
 * stack of what they interrupted, count it, and sometimes send it; so do those
 * of blocks and waits (switch.bpf.h) and of calls (call.bpf.h), as far as they
 * are asked for. Three hooks follow processes; an iterator lists what they have
 * mapped. Hooks are raw tracepoints wherever they can be: classic tracepoint
 * programs make the kernel skip those of perf events while they run.
 */
#include "wire.h"

const volatile struct weft_config config;

/* Written by the collector, read once at each entry. */
volatile __u32 current_epoch;
volatile __u64 timer_period[WEFT_EPOCHS][WEFT_MAX_CPUS];

/* Hooks are there before recording starts, and after it has ended. Boot time;
 * 0: not yet. */
volatile __u64 started_ns, stopped_ns;

#include "context.bpf.h"
#include "count.bpf.h"
#include "detail.bpf.h"
#include "ledger.bpf.h"
#include "notice.bpf.h"
#include "shape.bpf.h"
#include "table.bpf.h"
#include "target.bpf.h"
#include "walk.bpf.h"

#include "call.bpf.h"
#include "running.bpf.h"
#include "switch.bpf.h"

/* One per CPU, set before load. Perf events interrupt the other programs, so
 * their scratch is their own; the kernel runs one of theirs at a time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} tick_scratch SEC(".maps");

static __always_inline __u64 period_of_this_cpu(__u32 epoch)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return timer_period[epoch % WEFT_EPOCHS][cpu % WEFT_MAX_CPUS];
}

/* A perf event fired: take the stack of what it interrupted. */
static __always_inline int on_firing(struct bpf_perf_event_data *ctx,
				     __u32 epoch, __u32 event, __u64 value)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct task_struct *task = bpf_get_current_task_btf();
	struct weft_ledger *l = ledger_find(epoch, event);
	struct walk *w = bpf_map_lookup_elem(&tick_scratch, &cpu);
	struct weft_count_key key = { .event = event };

	if (!l || !w)
		return 0; /* cannot be: array maps have all their slots */
	tally(l, WEFT_FIRED, value);
	if (task->pid == 0) {
		tally(l, WEFT_IDLE, value);
		return 0;
	}
	if (!is_target(task)) {
		tally(l, WEFT_FILTERED, value);
		return 0;
	}
	key.stack = walk(ctx, !(ctx->regs.cs & 3), (void *)&ctx->regs, task, w,
			 epoch);
	key.process = identity_of(task);
	if (config.shape_by)
		key.attribute = shape_of_tick(&key.process, epoch);
	if (count(epoch, &key, &w->stack, l, value)) {
		if (key.attribute == WEFT_SHAPE_OTHER)
			tally(l, WEFT_SHAPE_BY_FULL, value);
		send_detail(epoch, task, &key, (struct page){ .l = l }, value);
	}
	return 0;
}

SEC("?perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	__u32 epoch = current_epoch;

	if (config.on_cpu_event != WEFT_NO_EVENT)
		tick_in_run();
	return on_firing(ctx, epoch, config.timer_event,
			 period_of_this_cpu(epoch));
}

/* The cookie is the event's number. */
SEC("?perf_event")
int on_counter(struct bpf_perf_event_data *ctx)
{
	__u32 event = bpf_get_attach_cookie(ctx) % WEFT_MAX_EVENTS;

	return on_firing(ctx, current_epoch, event, config.event[event].period);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 pid = child->tgid;
	__u64 start = start_ticks(child);

	if (child->pid != child->tgid || !is_target(parent))
		return 0; /* a thread, or nobody's child */
	if (config.filter) {
		if (!config.follow_children || !is_target_process(parent))
			return 0;
		bpf_map_update_elem(&target_processes, &pid, &start, BPF_ANY);
	}
	notify(WEFT_NOTICE_FORK, child, parent, current_epoch);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	forget_obi(task);
	if (is_target(task))
		notify(WEFT_NOTICE_EXEC, task, NULL, current_epoch);
	return 0;
}

/* The record of a tracepoint at which a system call begins. */
struct syscall_begin {
	__u64 common;
	__u64 number;
	__u64 args[6];
};

enum {
	PRCTL_SET_VMA = 0x53564d41,
	PRCTL_SET_VMA_ANON_NAME = 0
};

/* So does a program tell that it published its context, or changed it (OTEP
 * 4719). Rare, so that the timer's program being skipped meanwhile is no
 * matter; a raw tracepoint would have to be in the way of every call. */
SEC("tracepoint/syscalls/sys_enter_prctl")
int on_prctl(struct syscall_begin *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (ctx->args[0] == PRCTL_SET_VMA &&
	    ctx->args[1] == PRCTL_SET_VMA_ANON_NAME && is_target(task))
		notify_published(task, current_epoch);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	bool wanted = is_target(task);
	__u32 pid = task->tgid, tid = task->pid;

	probe_thread_ends();
	forget_obi(task);
	if (config.filter)
		bpf_map_delete_elem(&target_threads, &tid);
	if (task->signal->live.counter > 0)
		return 0; /* other threads live on */
	if (config.filter)
		bpf_map_delete_elem(&target_processes, &pid);
	if (wanted)
		notify(WEFT_NOTICE_EXIT, task, NULL, current_epoch);
	return 0;
}

/* An argument's word, by the calling convention. Read, not accessed: the
 * verifier wants to know which of a context's fields that is. */
static __always_inline __u64 call_argument(const struct pt_regs *regs, __u8 at)
{
	static const __u8 places[] = {
		offsetof(struct pt_regs, rdi), offsetof(struct pt_regs, rsi),
		offsetof(struct pt_regs, rdx), offsetof(struct pt_regs, rcx),
		offsetof(struct pt_regs, r8),  offsetof(struct pt_regs, r9),
	};
	__u64 word = 0;

	if (at < sizeof(places))
		bpf_probe_read_kernel(&word, sizeof(word),
				      (const void *)regs + places[at]);
	return word;
}

SEC("uprobe")
int on_trace_call(struct pt_regs *ctx)
{
	const volatile struct weft_trace_probe *p = &config.trace_probe;
	struct probe_arguments a = {
		.trace = call_argument(ctx, p->trace_at),
		.low = call_argument(ctx, p->low_at),
		.span = call_argument(ctx, p->span_at),
	};

	probe_hit(&a);
	return 0;
}

static __always_inline __u64 usdt_argument(struct pt_regs *ctx, __u8 at)
{
	long value = 0;

	bpf_usdt_arg(ctx, at, &value);
	return value;
}

SEC("usdt")
int on_trace_usdt(struct pt_regs *ctx)
{
	const volatile struct weft_trace_probe *p = &config.trace_probe;
	struct probe_arguments a = {
		.trace = usdt_argument(ctx, p->trace_at),
		.low = usdt_argument(ctx, p->low_at),
		.span = usdt_argument(ctx, p->span_at),
	};

	probe_hit(&a);
	return 0;
}

/* Run once by the collector, on itself: the layout of the kernel's tree of
 * mappings is not ours to rely on. */
volatile struct weft_proof proof;

SEC("raw_tp")
int prove_mapping(void *ctx)
{
	__u32 zero = 0;
	struct walk *w = bpf_map_lookup_elem(&tick_scratch, &zero);
	struct mappings *all;
	struct mapping *m;

	proof.start = proof.end = proof.file_offset = 0;
	if (!w)
		return 0;
	all = &w->mappings;
	m = &all->mapping[0];
	memory_of_tree(bpf_get_current_task_btf(), &all->memory);
	if (!mapping_from_tree(all, proof.address, m))
		return 0;
	proof.start = m->place.start;
	proof.end = m->place.end;
	proof.file_offset = m->place.bias + m->place.start;
	return 0;
}

/* Read once, before samples come: the files that targets have mapped. */
SEC("iter/task_vma")
int list_mapped(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct weft_mapped found = { 0 };
	struct kern_head head;

	if (!task || !vma || !vma->vm_file || !(vma->vm_flags & KERN_VM_EXEC))
		return 0;
	/* The cgroup test is of the current task only: there, list all. */
	if (!config.filter_cgroup && !is_target(task))
		return 0;
	if (!file_key_of(&head, vma->vm_file->f_inode, &found.file))
		return 0;
	found.process = identity_of(task);
	found.start = vma->vm_start;
	found.end = vma->vm_end;
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

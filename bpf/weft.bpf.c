/* SPDX-License-Identifier: MIT */
/*
 * weft's kernel program: entry points. The timer's program takes the stack of
 * what it interrupted, counts it, and sometimes sends it; three hooks follow
 * processes. These are raw tracepoints: classic tracepoint programs would make
 * the kernel skip the timer's while they run.
 */
#include "wire.h"

const volatile struct weft_config config;

/* Written by the collector, read once at each entry. */
volatile __u32 current_epoch;
volatile __u64 timer_period[WEFT_EPOCHS][WEFT_MAX_CPUS];

#include "context.bpf.h"
#include "count.bpf.h"
#include "detail.bpf.h"
#include "ledger.bpf.h"
#include "notice.bpf.h"
#include "target.bpf.h"
#include "walk.bpf.h"

enum {
	TIMER_EVENT = 0
};

/* The timer interrupts the other programs, so its scratch is its own. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct weft_stack);
} tick_scratch SEC(".maps");

static __always_inline __u64 period_of_this_cpu(__u32 epoch)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return timer_period[epoch % WEFT_EPOCHS][cpu % WEFT_MAX_CPUS];
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	__u32 epoch = current_epoch, zero = 0;
	__u64 value = period_of_this_cpu(epoch);
	struct task_struct *task = bpf_get_current_task_btf();
	struct weft_ledger *l = ledger_find(epoch, TIMER_EVENT);
	struct weft_stack *s = bpf_map_lookup_elem(&tick_scratch, &zero);
	struct weft_count_key key = { .event = TIMER_EVENT };

	if (!l || !s)
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
	walk(ctx, task, s);
	key.process = identity_of(task);
	key.stack = stack_key(s);
	keep_stack(epoch, &key.stack, s, l, value);
	if (count(epoch, &key, l, value))
		send_detail(epoch, task, &key, l, value);
	return 0;
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
	if (is_target(task))
		notify(WEFT_NOTICE_EXEC, task, NULL, current_epoch);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	bool wanted = is_target(task);
	__u32 pid = task->tgid, tid = task->pid;

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

char LICENSE[] SEC("license") = "Dual MIT/GPL";

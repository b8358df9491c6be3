/* SPDX-License-Identifier: MIT */
/*
 * Threads that do not run: blocked (off-cpu) or waiting for a CPU (run-queue);
 * of those that do, running.bpf.h.
 * The stack, and the trace context, are taken when a thread goes off its CPU,
 * for then it is current; both are kept with the thread until it is back, on
 * whatever CPU, and only then it is known how long it took.
 *
 * Scheduler hooks run with interrupts off, so on a CPU none of them comes
 * while another runs.
 */
#ifndef WEFT_SWITCH_BPF_H
#define WEFT_SWITCH_BPF_H

#include "count.bpf.h"
#include "detail.bpf.h"
#include "running.bpf.h"
#include "target.bpf.h"
#include "walk.bpf.h"

/* Why a thread is off its CPU. Times are boot time. */
struct block {
	__u64 off_ns;   /* 0: it is on, or nobody wants to know */
	__u64 woken_ns; /* 0: not yet, or not followed */
	__u64 ran_ns;   /* its CPU time until then */
	__u32 state;    /* enum weft_block_state */
	__u32 pad;
	struct weft_stack_key key;
	struct weft_identity process;
};

/* What was on its CPU when it went off. */
struct block_rest {
	struct weft_sample_attributes sample; /* in which trace */
	struct weft_stack stack;
};

/* Goes with the thread. No memory (the kernel keeps some at hand for programs,
 * and may be late to get more): lost_busy. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct block);
} blocks SEC(".maps");

/* So does the rest, which is apart for its size: of such pieces the kernel has
 * fewer at hand, and without one only the stack, and the trace, are lost. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct block_rest);
} block_rests SEC(".maps");

/* One per CPU, set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} switch_scratch SEC(".maps");

static __always_inline bool wants_state(__u32 state)
{
	return config.block_states & 1U << state;
}

/* The event that a thread in this state is off its CPU for. */
static __always_inline __u32 event_of_state(__u32 state)
{
	if (state == WEFT_BLOCK_PREEMPTED &&
	    config.run_queue_event != WEFT_NO_EVENT)
		return config.run_queue_event;
	return config.off_cpu_event;
}

static __always_inline struct block *block_of(struct task_struct *task,
					      bool make)
{
	return bpf_task_storage_get(&blocks, task, NULL,
				    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

/* Whether it names a stack; else that was lost, or not taken. */
static __always_inline bool has_words(const struct weft_stack_key *key)
{
	return key->word[0];
}

/* A wait has ended: count it. */
static __always_inline void end_wait(struct task_struct *task, struct block *b,
				     __u32 event, __u64 from_ns, __u64 until_ns)
{
	__u64 ns = until_ns - from_ns;
	__u32 epoch = current_epoch;
	struct weft_count_key key = {
		.stack = b->key,
		.process = b->process,
		.event = event,
	};
	struct page page = { .l = ledger_find(epoch, event) };
	struct block_rest *rest = NULL;

	if (!page.l)
		return; /* cannot be */
	note(page, WEFT_FIRED, ns);
	if (has_words(&key.stack))
		rest = bpf_task_storage_get(&block_rests, task, NULL, 0);
	if ((event == config.off_cpu_event &&
	     (ns < config.min_block_ns || !wants_state(b->state))) ||
	    (config.only_requests &&
	     (!rest || rest->sample.sample.context_status != WEFT_CTX_OK))) {
		note(page, WEFT_FILTERED, ns);
		return;
	}
	if (!key.stack.word[0] && !key.stack.word[1])
		note(page, WEFT_STACK_LOST, ns);
	if (!count_shared(epoch, &key, rest ? &rest->stack : NULL, page, ns))
		return;
	send_kept(epoch, task, rest ? &rest->sample : NULL, &key, page, from_ns,
		  until_ns);
}

/* What went on before recording began counts as if it had begun with it. */
static __always_inline void begin_unseen(struct task_struct *task, __u64 now)
{
	struct weft_ledger *l;

	if (config.off_cpu_event == WEFT_NO_EVENT || config.filter_cgroup ||
	    task->start_boottime >= started_ns || !is_target(task) ||
	    !block_of(task, true))
		return;
	l = ledger_find(current_epoch, config.off_cpu_event);
	if (l)
		tally(l, WEFT_OPEN_AT_START, now - started_ns);
}

static __always_inline void end_block(struct task_struct *task, struct block *b,
				      __u64 now)
{
	__u64 woken_ns;

	/* With run-queue recorded, too, blocked is until it was woken. */
	woken_ns = b->woken_ns ? b->woken_ns : now;
	if (b->state == WEFT_BLOCK_PREEMPTED) {
		end_wait(task, b, event_of_state(b->state), b->off_ns, now);
	} else {
		if (config.off_cpu_event != WEFT_NO_EVENT)
			end_wait(task, b, config.off_cpu_event, b->off_ns,
				 woken_ns);
		if (b->woken_ns)
			end_wait(task, b, config.run_queue_event, woken_ns,
				 now);
	}
	b->off_ns = 0;
}

static __always_inline void comes_on(struct task_struct *task, __u64 now)
{
	struct block *b = block_of(task, false);

	if (!b)
		begin_unseen(task, now);
	else if (b->off_ns)
		end_block(task, b, now);
}

static __always_inline __u32 state_of(bool preempt, __u32 state)
{
	if (preempt || !state)
		return WEFT_BLOCK_PREEMPTED;
	if (state & KERN_TASK_INTERRUPTIBLE)
		return WEFT_BLOCK_SLEEPING;
	if (state & KERN_TASK_UNINTERRUPTIBLE)
		return state & KERN_TASK_NOLOAD ? WEFT_BLOCK_IDLE
						: WEFT_BLOCK_DISK;
	if (state & (KERN_TASK_STOPPED | KERN_TASK_TRACED))
		return WEFT_BLOCK_STOPPED;
	return WEFT_BLOCK_OTHER;
}

/* Of its room, what is used. */
static __always_inline void copy_stack(struct weft_stack *to,
				       const struct walk *w)
{
	__u32 n = w->n;
	__u32 size;

	if (n > WEFT_MAX_FRAMES)
		n = WEFT_MAX_FRAMES;
	size = offsetof(struct weft_stack, address) + n * sizeof(__u64);
	barrier_var(size);
	if (size <= sizeof(*to))
		bpf_probe_read_kernel(to, size, &w->stack);
}

/* Keep with the thread what is known while it is current. */
static __always_inline void keep_rest(struct task_struct *task, struct block *b,
				      const struct walk *w, __u32 epoch)
{
	struct block_rest *rest = bpf_task_storage_get(
		&block_rests, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct weft_sample *s;

	if (!rest) {
		b->key = (struct weft_stack_key){ 0 }; /* lost */
		return;
	}
	copy_stack(&rest->stack, w);
	if (!config.detail && !config.only_requests)
		return; /* nobody will ask in which trace */
	s = &rest->sample.sample;
	sample_describe(s, task, &b->process);
	if (wants_context(s))
		ask_for_context(task, &b->process, epoch);
}

static __always_inline void goes_off(void *ctx, struct task_struct *task,
				     __u32 state, __u64 now)
{
	__u32 epoch = current_epoch, cpu = bpf_get_smp_processor_id();
	__u32 event = event_of_state(state);
	struct walk *w = bpf_map_lookup_elem(&switch_scratch, &cpu);
	struct block *b = block_of(task, true);
	struct weft_ledger *l;
	__u64 came_ns;

	if (!b || !w) {
		/* For how long, nobody will know. */
		l = event == WEFT_NO_EVENT ? NULL : ledger_find(epoch, event);
		if (l) {
			tally(l, WEFT_FIRED, 0);
			tally(l, WEFT_LOST_BUSY, 0);
		}
		return;
	}
	came_ns = kern_came_on(task, b->ran_ns, now);
	if (b->off_ns && came_ns > b->off_ns)
		end_block(task, b, came_ns);
	b->off_ns = 0;
	if (event == WEFT_NO_EVENT ||
	    (event == config.off_cpu_event && state == WEFT_BLOCK_PREEMPTED &&
	     !wants_state(state)))
		return; /* it could run, and nobody asked about that */
	b->state = state;
	b->woken_ns = 0;
	b->process = identity_of(task);
	b->key = walk(ctx, true, NULL, task, w, epoch);
	keep_rest(task, b, w, epoch);
	b->off_ns = now;
	b->ran_ns = task->se.sum_exec_runtime;
}

static __always_inline bool has_blocks(void)
{
	return config.off_cpu_event != WEFT_NO_EVENT ||
	       config.run_queue_event != WEFT_NO_EVENT;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev,
	     struct task_struct *next, unsigned int prev_state)
{
	__u64 now;

	if (!started_ns || stopped_ns)
		return 0;
	now = bpf_ktime_get_boot_ns();
	if (config.on_cpu_event != WEFT_NO_EVENT)
		switch_runs(prev, next, now);
	if (!has_blocks())
		return 0;
	if (next->pid)
		comes_on(next, now);
	/* A dead thread does not come back. */
	if (prev->pid && !(prev_state & KERN_TASK_DEAD) && is_target(prev))
		goes_off(ctx, prev, state_of(preempt, prev_state), now);
	return 0;
}

SEC("?tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	struct block *b;

	if (!started_ns || stopped_ns)
		return 0;
	b = block_of(task, false);
	if (b && b->off_ns && b->state != WEFT_BLOCK_PREEMPTED && !b->woken_ns)
		b->woken_ns = bpf_ktime_get_boot_ns();
	return 0;
}

/* A new thread waits for a CPU before it has any stack. */
SEC("?tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *task)
{
	struct block *b;

	if (!started_ns || stopped_ns || !is_target(task))
		return 0;
	b = block_of(task, true);
	if (!b)
		return 0;
	b->state = WEFT_BLOCK_PREEMPTED;
	b->woken_ns = 0;
	b->key = (struct weft_stack_key){ { 0, WEFT_KEY_NOT_TAKEN } };
	b->process = identity_of(task);
	b->off_ns = bpf_ktime_get_boot_ns();
	return 0;
}

static __always_inline void tally_open(__u32 event, __u64 from, __u64 to)
{
	struct weft_ledger *l = ledger_find(current_epoch, event);

	if (l && event != WEFT_NO_EVENT && to > from)
		tally(l, WEFT_OPEN_AT_END, to - from);
}

/* Read once, after stopped_ns was set: what has not ended. */
SEC("?iter/task")
int sum_open(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct block *b;
	__u64 woken_ns;

	if (!task || !stopped_ns)
		return 0;
	if (config.on_cpu_event != WEFT_NO_EVENT)
		tally_run(task);
	if (!has_blocks())
		return 0;
	b = bpf_task_storage_get(&blocks, task, NULL, 0);
	if (!b) {
		if (task->pid && task->__state)
			begin_unseen(task, stopped_ns);
		return 0;
	}
	if (!b->off_ns)
		return 0;
	woken_ns = b->woken_ns ? b->woken_ns : stopped_ns;
	if (b->state == WEFT_BLOCK_PREEMPTED) {
		tally_open(event_of_state(b->state), b->off_ns, stopped_ns);
		return 0;
	}
	tally_open(config.off_cpu_event, b->off_ns, woken_ns);
	tally_open(config.run_queue_event, woken_ns, stopped_ns);
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Threads that run (on-cpu): how long each was on its CPU, exactly, and for
 * which request. The scheduler tells when a thread comes and goes; in between
 * the timer's ticks look which request it serves, and where that changes the
 * run is cut halfway between the two looks: a request is off by half a period
 * of the timer at such an end. Threads of servers wake for a request and wait
 * after it: where one begins after a switch, or ends before one, with none on
 * the other side, it is cut at the switch. One between two looks is not seen.
 *
 * Where the time went the timer's own samples tell; these have no stacks.
 */
#ifndef WEFT_RUNNING_BPF_H
#define WEFT_RUNNING_BPF_H

#include "count.bpf.h"
#include "detail.bpf.h"
#include "target.bpf.h"

/* A thread's run. Times are boot time. */
struct run {
	__u64 from_ns; /* 0: it does not run, or is not known to */
	/* When `sample` was looked at, or the thread came back with it: while
	 * it is off nothing changes. 0: not yet. */
	__u64 seen_ns;
	__u64 ran_ns; /* its CPU time when it last went off; 0: not yet */
	/* Who it is, and in which trace. */
	struct weft_sample_attributes sample;
};

/* Goes with the thread. No memory: lost_busy. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct run);
} runs SEC(".maps");

/* One per CPU, set before load. All that comes here has interrupts off. */
struct run_cpu {
	__u64 has_switched; /* since recording began */
	struct weft_sample_attributes now;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct run_cpu);
} run_cpus SEC(".maps");

/* Of the same program, too: an exec does not end a run. */
static __always_inline bool is_same_request(const struct weft_sample *a,
					    const struct weft_sample *b)
{
	const __u64 *a_trace = (const void *)a->trace_id;
	const __u64 *b_trace = (const void *)b->trace_id;

	return a->process.exec_seq == b->process.exec_seq &&
	       a_trace[0] == b_trace[0] && a_trace[1] == b_trace[1] &&
	       *(const __u64 *)a->span_id == *(const __u64 *)b->span_id;
}

/* The part of a run that one request has had is over: count it. */
static __always_inline void end_part(struct task_struct *task,
				     const struct run *r, __u64 until_ns)
{
	__u64 ns = until_ns - r->from_ns;
	__u32 epoch = current_epoch, event = config.on_cpu_event;
	struct weft_count_key key = {
		.stack = { { 0, WEFT_KEY_NOT_TAKEN } },
		.process = r->sample.sample.process,
		.event = event,
	};
	struct page page = { .l = ledger_find(epoch, event) };

	if (!page.l)
		return; /* cannot be */
	note(page, WEFT_FIRED, ns);
	if (config.only_requests &&
	    r->sample.sample.context_status != WEFT_CTX_OK) {
		note(page, WEFT_FILTERED, ns);
		return;
	}
	if (!count_shared(epoch, &key, NULL, page, ns))
		return;
	send_kept(epoch, task, &r->sample, &key, page, r->from_ns, until_ns);
}

static __always_inline bool has_request(const struct weft_sample *s)
{
	const __u64 *trace = (const void *)s->trace_id;

	return trace[0] || trace[1];
}

/* When the request changed, between a look and one now. */
static __always_inline __u64 cut_of(const struct run *r,
				    const struct weft_sample *is, __u64 now,
				    bool ends)
{
	if (r->seen_ns == r->from_ns && !has_request(&r->sample.sample))
		return r->from_ns;
	if (ends && !has_request(is))
		return now;
	return r->seen_ns + (now - r->seen_ns) / 2;
}

/* The current thread's run; NULL: it has none that is known. */
static __always_inline struct run *
run_of(struct task_struct *task, const struct run_cpu *c, __u64 now, bool ends)
{
	struct run *r = bpf_task_storage_get(&runs, task, NULL, 0);

	/* Its CPU time is up to date only where it goes off. */
	if (r && !r->from_ns && r->ran_ns && ends) {
		r->from_ns = kern_came_on(task, r->ran_ns, now);
		r->seen_ns = r->from_ns;
	}
	if (r)
		return r->from_ns ? r : NULL;
	if (c->has_switched || !is_target(task))
		return NULL;
	/* It has been there from before recording began. */
	r = bpf_task_storage_get(&runs, task, NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (r)
		r->from_ns = started_ns;
	return r;
}

/* Not static, as share_take(): the verifier looks at it once. Look at the
 * current thread, which runs, and perhaps goes off its CPU now. */
__noinline int look_at_run(__u64 now, bool ends)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct run_cpu *c = bpf_map_lookup_elem(&run_cpus, &cpu);
	struct weft_identity who = identity_of(task);
	struct weft_sample *is, *was;
	struct weft_ledger *l;
	struct run *r;
	__u64 cut_ns;

	if (!c)
		return 0; /* cannot be: array maps have all their slots */
	r = run_of(task, c, now, ends);
	if (!r) {
		/* It ran; for how long, nobody will know. */
		l = ledger_find(current_epoch, config.on_cpu_event);
		if (l && ends && is_target(task)) {
			tally(l, WEFT_FIRED, 0);
			tally(l, WEFT_LOST_BUSY, 0);
		}
		return 0;
	}
	is = &c->now.sample;
	was = &r->sample.sample;
	if (config.detail || config.only_requests) {
		sample_describe(is, task, &who);
		if (wants_context(is))
			ask_for_context(task, &who, current_epoch);
	} else {
		sample_name(is, task, &who);
	}
	if (!r->seen_ns) {
		r->sample = c->now;
	} else if (!is_same_request(is, was)) {
		cut_ns = cut_of(r, is, now, ends);
		if (cut_ns > r->from_ns)
			end_part(task, r, cut_ns);
		r->from_ns = cut_ns;
		r->sample = c->now;
	}
	r->seen_ns = now;
	if (!ends)
		return 0;
	if (now > r->from_ns)
		end_part(task, r, now);
	r->from_ns = 0;
	r->ran_ns = task->se.sum_exec_runtime;
	return 0;
}

/* At a tick of the timer. */
static __always_inline void tick_in_run(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (started_ns && !stopped_ns && task->pid &&
	    (!config.filter_cgroup || is_target(task)))
		look_at_run(bpf_ktime_get_boot_ns(), false);
}

/* At a switch: prev is still the current thread. */
static __always_inline void switch_runs(struct task_struct *prev,
					struct task_struct *next, __u64 now)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct run_cpu *c = bpf_map_lookup_elem(&run_cpus, &cpu);
	struct run *r;

	/* Who has ended is no target any more, but its run is. */
	if (prev->pid && (!config.filter_cgroup || is_target(prev)))
		look_at_run(now, true);
	if (c)
		c->has_switched = 1;
	/* The cgroup test is of the current task only: there, follow all. */
	if (!next->pid || (!config.filter_cgroup && !is_target(next)))
		return;
	r = bpf_task_storage_get(&runs, next, NULL,
				 BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!r)
		return; /* told when it goes off */
	r->from_ns = now;
	if (r->seen_ns)
		r->seen_ns = now;
}

/* After stopped_ns was set: what still runs. */
static __always_inline void tally_run(struct task_struct *task)
{
	struct run *r = bpf_task_storage_get(&runs, task, NULL, 0);
	struct weft_ledger *l = ledger_find(current_epoch, config.on_cpu_event);

	/* Only those of targets were ever looked at. */
	if (config.filter_cgroup && r && !r->seen_ns)
		return;
	if (r && l && r->from_ns && stopped_ns > r->from_ns)
		tally(l, WEFT_OPEN_AT_END, stopped_ns - r->from_ns);
}

#endif

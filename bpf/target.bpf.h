/* SPDX-License-Identifier: MIT */
/*
 * Whom to sample, and who a task is. Targets are kept with their start time,
 * so that a reused pid is not one. Forks add children, exits remove.
 */
#ifndef WEFT_TARGET_BPF_H
#define WEFT_TARGET_BPF_H

#include "wire.h"

/* pid -> start of the process in ticks, as /proc shows it. Full: children go
 * unsampled, which `filtered` shows; the size is that of the kernel's default
 * pid_max. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u64);
} target_processes SEC(".maps");

/* tid -> start of the thread in ticks */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} target_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} target_cgroup SEC(".maps");

/* USER_HZ is 100 on every architecture that has BPF. */
enum {
	TARGET_NS_PER_TICK = 10000000
};

static __always_inline __u64 start_ticks(struct task_struct *t)
{
	return t->start_boottime / TARGET_NS_PER_TICK;
}

static __always_inline struct weft_identity identity_of(struct task_struct *t)
{
	return (struct weft_identity){
		.start_ns = t->group_leader->start_boottime,
		.pid = t->tgid,
		.exec_seq = t->self_exec_id,
	};
}

static __always_inline bool is_target_process(struct task_struct *t)
{
	__u32 pid = t->tgid;
	__u64 *start = bpf_map_lookup_elem(&target_processes, &pid);

	return start && *start == start_ticks(t->group_leader);
}

static __always_inline bool is_target(struct task_struct *t)
{
	__u32 tid = t->pid;
	__u64 *start;

	if (config.filter_cgroup)
		return bpf_current_task_under_cgroup(&target_cgroup, 0) == 1;
	if (!config.filter)
		return true;
	if (is_target_process(t))
		return true;
	start = bpf_map_lookup_elem(&target_threads, &tid);
	return start && *start == start_ticks(t);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The kernel types that the program touches, written by hand: only the fields
 * we read, relocated by CO-RE at load. What differs between kernels is kept
 * here, behind a getter.
 */
#ifndef WEFT_KERN_H
#define WEFT_KERN_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
};

struct thread_struct {
	unsigned long fsbase;
};

struct mm_struct;

struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	__u64 start_boottime;
	__u64 self_exec_id;
	char comm[16];
	struct thread_struct thread;
};

#pragma clang attribute pop

/* task_struct.flags, include/linux/sched.h */
enum {
	KERN_PF_IO_WORKER = 0x00000010,
	KERN_PF_USER_WORKER = 0x00004000, /* 6.4 and later; unused before */
	KERN_PF_KTHREAD = 0x00200000,
};

#endif

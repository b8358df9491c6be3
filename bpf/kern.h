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

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
	__u32 i_generation;
};

/* When the inode last changed: since 6.11, since 6.6, before. */
struct inode___numbers {
	__s64 i_ctime_sec;
	__u32 i_ctime_nsec;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct inode___hidden {
	struct timespec64 __i_ctime;
};

struct inode___plain {
	struct timespec64 i_ctime;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_flags, vm_pgoff;
	struct file *vm_file;
};

struct maple_tree {
	void *ma_root;
};

struct mm_struct {
	struct maple_tree mm_mt; /* since 6.1 */
	struct {
		__u64 ctx_id; /* of x86: no two memories ever have the same */
		void *vdso;
	} context;
};

/* Changes with every change of the mappings; since 6.4, a bare number up to
 * 6.12. */
struct mm_struct___number {
	int mm_lock_seq;
};

struct mm_struct___seqcount {
	struct {
		unsigned int sequence;
	} mm_lock_seq;
};

/* Part of the task where the kernel has CONFIG_THREAD_INFO_IN_TASK, as x86-64
 * has. */
struct thread_info {
	__u32 status;
};

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	unsigned int __state;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	__u64 start_boottime;
	__u64 self_exec_id;
	char comm[16];
	struct sched_entity se;
	struct thread_struct thread;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

/* task_struct.flags, include/linux/sched.h */
enum {
	KERN_PF_EXITING = 0x00000004,
	KERN_PF_IO_WORKER = 0x00000010,
	KERN_PF_USER_WORKER = 0x00004000, /* 6.4 and later; unused before */
	KERN_PF_KTHREAD = 0x00200000,
};

/* A thread of the kernel's own, or one of a user's process that it makes. Of
 * these io_uring's inherit the creator's thread pointer, and none has user
 * registers. */
static __always_inline bool kern_is_worker(const struct task_struct *task)
{
	return task->flags &
	       (KERN_PF_KTHREAD | KERN_PF_IO_WORKER | KERN_PF_USER_WORKER);
}

/* When the current thread, which goes off its CPU now, came on, by the CPU time
 * that it had before: some switches no program is told of (on 6.18 one in about
 * a thousand, where threads are moved between CPUs; ftrace has none of them).
 */
static __always_inline __u64 kern_came_on(const struct task_struct *task,
					  __u64 ran_before_ns, __u64 now)
{
	return now - (task->se.sum_exec_runtime - ran_before_ns);
}

/* How a thread sleeps, include/linux/sched.h */
enum {
	KERN_TASK_INTERRUPTIBLE = 0x00000001,
	KERN_TASK_UNINTERRUPTIBLE = 0x00000002,
	KERN_TASK_STOPPED = 0x00000004,
	KERN_TASK_TRACED = 0x00000008,
	KERN_TASK_DEAD = 0x00000080,
	KERN_TASK_NOLOAD = 0x00000400,
};

/* errno values, include/uapi/asm-generic/errno-base.h */
enum {
	KERN_EBUSY = 16,
	KERN_EEXIST = 17,
	KERN_E2BIG = 7
};

/* vm_area_struct.vm_flags, include/linux/mm.h */
enum {
	KERN_VM_EXEC = 0x00000004,
};

/* Of x86-64: the code segment of a 32-bit program. */
enum {
	KERN_USER32_CS = 0x23
};

/* thread_info.status, arch/x86/include/asm/thread_info.h */
enum {
	KERN_TS_COMPAT = 0x0002
};

/* In a system call by the entry for 32-bit programs, with its numbers. */
static __always_inline bool kern_is_compat(struct task_struct *task)
{
	return task->thread_info.status & KERN_TS_COMPAT;
}

/* A probe costs as much for some words as for one, so the head of an object is
 * read whole. 8-aligned, as the fields are. */
enum {
	KERN_HEAD_BYTES = 128
};

struct kern_head {
	__u64 word[KERN_HEAD_BYTES / sizeof(__u64)];
};

static __always_inline bool kern_read_head(struct kern_head *head,
					   const void *object)
{
	return !bpf_probe_read_kernel(head, sizeof(*head), object);
}

/* Take a field from the head of its object; where this kernel has it further
 * back, read it. Non-zero: not readable. */
#define kern_field(to, head, field)                                        \
	({                                                                 \
		__u32 at_ = bpf_core_field_offset(field);                  \
		long rc_ = 0;                                              \
                                                                           \
		if (at_ <= KERN_HEAD_BYTES - sizeof(field))                \
			*(to) = *(typeof(to))((const __u8 *)(head) + at_); \
		else                                                       \
			rc_ = bpf_core_read(to, sizeof(*(to)), &(field));  \
		rc_;                                                       \
	})

/* When a file's inode last changed, as one number. False: not readable. */
static __always_inline bool kern_inode_changed(const struct kern_head *head,
					       struct inode *inode, __u64 *out)
{
	/* Since 6.13 the top bit says whether somebody has asked. */
	const __u32 nsec_mask = 0x7fffffff;
	struct inode___numbers *numbers = (void *)inode;
	struct inode___hidden *hidden = (void *)inode;
	struct inode___plain *plain = (void *)inode;
	struct timespec64 time = { 0 };
	__u32 nsec = 0;
	long rc = 0;

	if (bpf_core_field_exists(numbers->i_ctime_sec)) {
		rc = kern_field(&time.tv_sec, head, numbers->i_ctime_sec);
		rc |= kern_field(&nsec, head, numbers->i_ctime_nsec);
		time.tv_nsec = nsec & nsec_mask;
	} else if (bpf_core_field_exists(hidden->__i_ctime)) {
		rc = bpf_core_read(&time, sizeof(time), &hidden->__i_ctime);
	} else {
		rc = bpf_core_read(&time, sizeof(time), &plain->i_ctime);
	}
	*out = (__u64)time.tv_sec << 30 ^ time.tv_nsec;
	return !rc;
}

/* Returns false where the kernel does not count changes. */
static __always_inline bool kern_mm_sequence(struct mm_struct *mm, __u32 *out)
{
	struct mm_struct___seqcount *counted = (void *)mm;
	struct mm_struct___number *number = (void *)mm;

	if (bpf_core_field_exists(counted->mm_lock_seq.sequence))
		*out = counted->mm_lock_seq.sequence;
	else if (bpf_core_field_exists(number->mm_lock_seq))
		*out = number->mm_lock_seq;
	else
		return false;
	return true;
}

/* The root of the tree of mappings. 0: this kernel has none. */
static __always_inline __u64 kern_mm_tree(struct mm_struct *mm)
{
	if (bpf_core_field_exists(mm->mm_mt))
		return (__u64)mm->mm_mt.ma_root;
	return 0;
}

#endif

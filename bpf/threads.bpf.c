/* SPDX-License-Identifier: MIT */
/*
 * Lists the thread pointers of one process, for weft doctor. An object of its
 * own, since recording does not need it.
 */
#include "kern.h"
#include "wire.h"

const volatile __u32 wanted_pid;

SEC("iter/task")
int list_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct weft_thread found = { 0 };

	/* Workers of the kernel have no context of their own, as when they are
	 * sampled. */
	if (!task || (__u32)task->tgid != wanted_pid || kern_is_worker(task))
		return 0;
	found.tid = task->pid;
	found.pointer = task->thread.fsbase;
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* SPDX-License-Identifier: MIT */
/*
 * The kernel program's walk over user frames, run at the entry of each system
 * call of one thread, so that a tracer which has the thread stopped there can
 * say what it must find.
 */
#include "bpf/wire.h"

const volatile struct weft_config config;

volatile __u32 current_epoch;
volatile __u32 watched_tid;

#include "bpf/ledger.bpf.h"
#include "bpf/notice.bpf.h"
#include "bpf/table.bpf.h"
#include "bpf/walk.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} scratch SEC(".maps");

/* The last stack taken. n_user 0: none yet. */
struct weft_stack last;

SEC("raw_tp/sys_enter")
int at_syscall(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 zero = 0;
	struct walk *w = bpf_map_lookup_elem(&scratch, &zero);

	if (!w || task->pid != watched_tid)
		return 0;
	walk_begin(w, 0, true);
	walk_user(task, w, 0, walk_from_kernel(task, &w->unwind));
	bpf_probe_read_kernel(&last, sizeof(last), &w->stack);
	return 0;
}

/* The files that the watched process has mapped, by the kernel's own keys. */
SEC("iter/task_vma")
int list_watched(struct bpf_iter__task_vma *ctx)
{
	struct vm_area_struct *vma = ctx->vma;
	struct task_struct *task = ctx->task;
	struct weft_mapped found = { 0 };
	struct kern_head head;

	if (!task || !vma || task->tgid != watched_tid || !vma->vm_file ||
	    !(vma->vm_flags & KERN_VM_EXEC) ||
	    !file_key_of(&head, vma->vm_file->f_inode, &found.file))
		return 0;
	found.start = vma->vm_start;
	found.end = vma->vm_end;
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";

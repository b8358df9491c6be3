/* SPDX-License-Identifier: MIT */
/*
 * What is mapped executable at an address of the current process, taken from
 * the kernel's own tree of mappings at the moment of the sample. Nothing has
 * to follow exec, dlopen or exit. All reads are probes, and what they find is
 * checked: the tree may change under our eyes. Where the tree's layout is not
 * the one known here, a list that the collector made takes its place.
 */
#ifndef WEFT_MAPPING_BPF_H
#define WEFT_MAPPING_BPF_H

#include "mapping_list.bpf.h"
#include "shared.bpf.h"
#include "table.bpf.h"
#include "unwind.h"

enum {
	MAPPINGS_CACHED = 512,
	MAPLE_LEVELS_MAX = 8,
	MAPLE_NODE_WORDS = 32,
	/* include/linux/maple_tree.h */
	MAPLE_NODE_MASK = 255,
	MAPLE_IS_NODE = 2,
	MAPLE_TYPE_SHIFT = 3,
	MAPLE_TYPE_MASK = 15,
	MAPLE_LEAF = 1,
	MAPLE_RANGE = 2,
	MAPLE_ARANGE = 3,
	MAPLE_RANGE_PIVOTS = 15,
	MAPLE_ARANGE_PIVOTS = 9,
};

/* A mapping seen before. It still holds if it is of the same memory, and
 * neither the mappings nor the tables changed, or it proves the same again. */
struct mapping {
	__u64 memory;     /* whose: memory.id */
	__u64 vma, inode; /* addresses in the kernel */
	__u32 sequence;
	__u32 generation;
	bool has_file; /* or the vDSO */
	struct unwind_place place;
};

/* Spreads a number's bits upwards. */
#define MEMORY_SPREAD 0x9e3779b97f4a7c15ULL

/* The memory whose mappings are asked for. */
struct memory {
	__u64 mm;   /* address of its mm_struct */
	__u64 id;   /* tells it from memory that was at this address before */
	__u64 vdso; /* where its vDSO is */
	__u64 root; /* of the tree of mappings */
	struct weft_identity who; /* whose list; else not set */
	__u32 sequence;
	bool has_sequence;
};

static __always_inline void memory_of_tree(struct task_struct *task,
					   struct memory *m)
{
	struct mm_struct *mm = task->mm;

	/* By way of memory: there a pointer becomes a number. */
	*(volatile __u64 *)&m->mm = (__u64)mm;
	m->has_sequence = kern_mm_sequence(mm, &m->sequence);
	m->vdso = (__u64)mm->context.vdso;
	m->root = kern_mm_tree(mm);
	m->id = mm->context.ctx_id * MEMORY_SPREAD;
}

/* False: there is no list yet; it is asked for. */
static __always_inline bool memory_of_list(struct task_struct *task,
					   struct memory *m, __u32 epoch)
{
	m->who = identity_of(task);
	m->id = (m->who.start_ns ^ (__u64)m->who.pid << 40 ^ m->who.exec_seq) *
		MEMORY_SPREAD;
	m->has_sequence = true;
	m->sequence = mapping_list_version(&m->who);
	if (!m->sequence)
		ask_for_mappings(task, &m->who, epoch);
	return m->sequence;
}

/* False: nothing can be found in it yet. */
static __always_inline bool memory_of(struct task_struct *task,
				      struct memory *m, __u32 epoch)
{
	if (shared.mappings_are_listed)
		return memory_of_list(task, m, epoch);
	memory_of_tree(task, m);
	return true;
}

/* One level down: the slot that covers the address. Pivots ascend, and each
 * is the last address of its slot; one that is 0 ends them. */
static __always_inline __u64 maple_slot(const __u64 *node, __u32 type,
					__u64 address)
{
	__u32 pivots =
		type == MAPLE_ARANGE ? MAPLE_ARANGE_PIVOTS : MAPLE_RANGE_PIVOTS;
	__u32 slot = 0;

	for (__u32 step = 8; step; step /= 2) {
		if (slot + step <= pivots &&
		    node[slot + step] - 1 < address - 1)
			slot += step;
	}
	slot += 1 + pivots;
	barrier_var(slot);
	return node[slot & (MAPLE_NODE_WORDS - 1)];
}

static __always_inline __u64 maple_find(__u64 *node, __u64 root, __u64 address)
{
	__u64 entry = root;

	if ((entry & 3) != MAPLE_IS_NODE)
		return 0;
	for (int level = 0; level < MAPLE_LEVELS_MAX; level++) {
		__u32 type = entry >> MAPLE_TYPE_SHIFT & MAPLE_TYPE_MASK;

		entry &= ~(__u64)MAPLE_NODE_MASK;
		if (bpf_probe_read_kernel(node,
					  MAPLE_NODE_WORDS * sizeof(*node),
					  (const void *)entry))
			return 0;
		/* A node that left the tree points to itself. */
		if ((node[0] & ~(__u64)MAPLE_NODE_MASK) == entry)
			return 0;
		if (type < MAPLE_LEAF || type > MAPLE_ARANGE)
			return 0;
		entry = maple_slot(node, type, address);
		if (type == MAPLE_LEAF)
			return entry;
	}
	return 0;
}

static __always_inline bool file_key_of(struct kern_head *head,
					struct inode *inode,
					struct weft_file_key *file)
{
	struct super_block *sb = NULL;
	unsigned long number = 0;

	if (!kern_read_head(head, inode) ||
	    kern_field(&number, head, inode->i_ino) ||
	    kern_field(&file->generation, head, inode->i_generation) ||
	    kern_field(&sb, head, inode->i_sb) ||
	    bpf_core_read(&file->dev, sizeof(file->dev), &sb->s_dev) ||
	    !kern_inode_changed(head, inode, &file->changed))
		return false;
	file->inode = number;
	return true;
}

/* What a vm_area_struct says; pointers as numbers. */
struct area {
	__u64 start, end, flags, page;
	__u64 mm, file;
	__u64 inode; /* 0: no file's */
};

/* Not static, as share_take(): the verifier looks at it once. */
__noinline bool area_read(struct kern_head *head, __u64 address, struct area *a)
{
	struct vm_area_struct *vma = (void *)address;
	struct file *file;

	if (!head || !a || !kern_read_head(head, vma) ||
	    kern_field(&a->start, head, vma->vm_start) ||
	    kern_field(&a->end, head, vma->vm_end) ||
	    kern_field(&a->flags, head, vma->vm_flags) ||
	    kern_field(&a->page, head, vma->vm_pgoff) ||
	    kern_field(&a->mm, head, vma->vm_mm) ||
	    kern_field(&a->file, head, vma->vm_file))
		return false;
	a->inode = 0;
	file = (void *)a->file;
	return !file ||
	       !bpf_core_read(&a->inode, sizeof(a->inode), &file->f_inode);
}

/* Read a mapping that covers the address, with its file's identity. */
static __always_inline bool mapping_read(const struct memory *memory,
					 struct kern_head *head, __u64 address,
					 struct mapping *m,
					 struct weft_file_key *file)
{
	struct area a;

	if (!area_read(head, m->vma, &a) || a.mm != memory->mm ||
	    address < a.start || address >= a.end || !(a.flags & KERN_VM_EXEC))
		return false;
	m->place.start = a.start;
	m->place.end = a.end;
	m->place.bias = (a.page << WEFT_TABLE_PAGE_BITS) - a.start;
	m->inode = a.inode;
	m->has_file = true;
	if (a.file)
		return file_key_of(head, (void *)a.inode, file);
	m->has_file = a.start == memory->vdso;
	m->place.bias = -a.start;
	return true;
}

/* Whether what was remembered is still mapped there: cheaper than looking it
 * up. */
static __always_inline bool mapping_still_holds(const struct memory *memory,
						struct kern_head *head,
						const struct mapping *m)
{
	struct area a;

	if (!area_read(head, m->vma, &a))
		return false;
	if (a.file &&
	    (a.page << WEFT_TABLE_PAGE_BITS) - a.start != m->place.bias)
		return false;
	return a.start == m->place.start && a.end == m->place.end &&
	       a.mm == memory->mm && a.inode == m->inode;
}

/* What looking up needs and remembers, in map memory: the stack is small. */
struct mappings {
	struct memory memory;
	__u32 epoch, generation;
	struct weft_file_key file;
	struct kern_head head;
	__u64 node[MAPLE_NODE_WORDS];
	struct mapping mapping[MAPPINGS_CACHED];
};

static __always_inline bool mapping_from_tree(struct mappings *all,
					      __u64 address, struct mapping *m)
{
	/* Read back as a number: to the verifier it was a pointer. */
	__u64 root = *(volatile __u64 *)&all->memory.root;

	m->memory = 0;
	m->vma = maple_find(all->node, root, address);
	__builtin_memset(&all->file, 0, sizeof(all->file));
	return m->vma &&
	       mapping_read(&all->memory, &all->head, address, m, &all->file);
}

static __always_inline bool mapping_from_list(struct mappings *all,
					      __u64 address, struct mapping *m)
{
	struct weft_listed found;

	m->memory = 0;
	if (!mapping_list_find(&all->memory.who, address, &found))
		return false;
	all->file = found.file;
	m->has_file = !found.is_anonymous;
	m->place.start = found.start;
	m->place.end = found.end;
	m->place.bias = found.bias;
	return true;
}

static __always_inline bool mapping_look_up(struct mappings *all, __u64 address,
					    struct mapping *m)
{
	bool is_found = shared.mappings_are_listed
				? mapping_from_list(all, address, m)
				: mapping_from_tree(all, address, m);

	if (!is_found)
		return false;
	if (m->has_file)
		table_of_file(&all->file, m->place.start, m->place.end,
			      all->epoch, &m->place.table);
	else
		m->place.table.state = WEFT_TABLE_NONE;
	return true;
}

/* The mapping at an address, NULL where none is that may be executed. */
static __always_inline struct mapping *mapping_find(struct mappings *all,
						    __u64 address)
{
	const struct memory *memory = &all->memory;
	__u64 slot = address >> 18 ^ address >> 27 ^ memory->id >> 40;
	struct mapping *m;

	slot &= MAPPINGS_CACHED - 1;
	barrier_var(slot);
	m = &all->mapping[slot & (MAPPINGS_CACHED - 1)];
	if (m->memory == memory->id && m->generation == all->generation &&
	    address >= m->place.start && address < m->place.end) {
		if (memory->has_sequence && m->sequence == memory->sequence)
			return m;
		/* Kernels without a sequence leave a freed mapping as it was:
		 * there it proves nothing. */
		if (memory->has_sequence && !shared.mappings_are_listed &&
		    mapping_still_holds(memory, &all->head, m)) {
			m->sequence = memory->sequence;
			return m;
		}
	}
	if (!mapping_look_up(all, address, m))
		return NULL;
	m->memory = memory->id;
	m->sequence = memory->sequence;
	m->generation = all->generation;
	return m;
}

#endif

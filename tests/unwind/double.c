/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bpf/unwind.h"
#include "collector/elf/table.h"
#include "collector/grow.h"
#include "tests/unwind/double.h"

/* Tables by slot; one for each file, built once. */
static struct built {
	uint64_t inode;
	uint32_t dev;
	uint64_t size;
	struct elf_table table;
} * built;
static size_t n_built, built_room;

/* The walk under way. unwind.h knows no more than its first member. */
struct walk {
	struct unwind unwind;
	struct unwind_registers registers;
	const struct double_maps *maps;
	pid_t pid;
	struct double_stack *out;
};

static pid_t reading; /* whose memory unwind_read() reads */

static __always_inline bool unwind_read(void *to, __u32 size, __u64 from)
{
	struct iovec local = { to, size };
	struct iovec remote = { (void *)from, size };

	return process_vm_readv(reading, &local, 1, &remote, 1, 0) ==
	       (ssize_t)size;
}

static __always_inline bool unwind_read_stack(struct unwind *u, __u64 *words,
					      __u32 n, __u64 from)
{
	(void)u;
	return unwind_read(words, n * (__u32)sizeof(*words), from);
}

static __always_inline bool unwind_find_place(struct unwind *u, __u64 address)
{
	const struct double_maps *maps = ((struct walk *)u)->maps;

	for (size_t i = 0; i < maps->n; i++) {
		const struct double_mapping *m = &maps->all[i];

		if (address < m->start || address >= m->end)
			continue;
		u->place = (struct unwind_place){
			.start = m->start,
			.end = m->end,
			.bias = m->file_offset - m->start,
			.table = m->table,
		};
		return true;
	}
	return false;
}

static __always_inline const __u32 *unwind_block(const struct weft_table *t,
						 __u32 block)
{
	return double_block(t, block);
}

static __always_inline bool unwind_rule(struct unwind *u, __u64 offset,
					struct weft_rule *rule)
{
	return unwind_find(&u->place.table, offset, rule);
}

static __always_inline struct unwind_registers *
unwind_registers(struct unwind *u)
{
	return &((struct walk *)u)->registers;
}

static __always_inline void unwind_push(struct unwind *u, __u64 address)
{
	struct double_stack *out = ((struct walk *)u)->out;

	out->address[out->n++] = address;
}

const uint32_t *double_block(const struct weft_table *table, uint32_t block)
{
	const struct elf_table *t = &built[table->slot].table;

	return block < t->n_blocks
		       ? t->words + (size_t)block * WEFT_TABLE_BLOCK_WORDS
		       : NULL;
}

uint32_t double_blocks(const struct weft_table *table)
{
	return built[table->slot].table.n_blocks;
}

static void describe(struct weft_table *out, size_t slot)
{
	const struct elf_table *t = &built[slot].table;

	*out = (struct weft_table){
		.state = t->n_pages ? WEFT_TABLE_READY : WEFT_TABLE_NONE,
		.slot = (uint32_t)slot,
		.first_page = t->first_page,
		.n_pages = t->n_pages,
		.rules_block = t->rules_block,
	};
}

static struct built *new_built(void)
{
	if (GROW(built, n_built + 1, built_room))
		exit(1);
	built[n_built] = (struct built){ 0 };
	return &built[n_built++];
}

static void build_file(struct double_mapping *m, pid_t pid)
{
	struct elf_file file;
	struct file_key key;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 pid, m->start, m->end);
	fd = elf_open_reference(AT_FDCWD, path, 0, &key);
	if (fd < 0)
		return;
	for (size_t i = 0; i < n_built; i++) {
		if (built[i].inode == m->inode && built[i].dev == m->dev &&
		    built[i].size == key.size) {
			describe(&m->table, i);
			close(fd);
			return;
		}
	}
	if (!elf_file_open(&file, fd, &key)) {
		struct built *b = new_built();

		b->inode = m->inode;
		b->dev = m->dev;
		b->size = key.size;
		if (elf_table_build(&b->table, &file)) {
			elf_table_release(&b->table);
			b->table = (struct elf_table){ 0 };
		}
		describe(&m->table, n_built - 1);
		elf_file_close(&file);
	}
	close(fd);
}

/* Ours is everybody's. */
static void build_vdso(struct double_mapping *m)
{
	static size_t slot = SIZE_MAX;
	const Elf64_Ehdr *image = (void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file file;

	if (slot == SIZE_MAX && image &&
	    !elf_file_open_memory(&file, (void *)image,
				  image->e_shoff +
					  (size_t)image->e_shnum *
						  image->e_shentsize)) {
		struct built *b = new_built();

		slot = n_built - 1;
		if (elf_table_build(&b->table, &file))
			b->table = (struct elf_table){ 0 };
		elf_file_close(&file);
	}
	if (slot != SIZE_MAX)
		describe(&m->table, slot);
}

static bool parse(char *line, struct double_mapping *m)
{
	unsigned int major, minor;
	char flags[5];
	int at = 0;

	*m = (struct double_mapping){ .table.state = WEFT_TABLE_NONE };
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64
		   " %n",
		   &m->start, &m->end, flags, &m->file_offset, &major, &minor,
		   &m->inode, &at) < 7 ||
	    flags[2] != 'x')
		return false;
	line[strcspn(line, "\n")] = '\0';
	snprintf(m->path, sizeof(m->path), "%s", line + at);
	m->dev = major << 20 | minor;
	m->is_file = m->inode != 0;
	m->is_vdso = !strcmp(m->path, "[vdso]");
	/* Of what has no file the kernel program counts from its start. */
	if (!m->is_file)
		m->file_offset = 0;
	return true;
}

bool double_read_maps(struct double_maps *maps, pid_t pid)
{
	char path[64], line[4096 + 128];
	size_t room = 0;
	FILE *file;

	*maps = (struct double_maps){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		struct double_mapping m;

		if (!parse(line, &m))
			continue;
		if (m.is_file)
			build_file(&m, pid);
		else if (m.is_vdso)
			build_vdso(&m);
		if (GROW(maps->all, maps->n + 1, room))
			exit(1);
		maps->all[maps->n++] = m;
	}
	fclose(file);
	return maps->n > 0;
}

void double_release_maps(struct double_maps *maps)
{
	free(maps->all);
	*maps = (struct double_maps){ 0 };
}

void double_walk(struct double_stack *out, const struct double_maps *maps,
		 pid_t pid, const struct user_regs_struct *regs,
		 bool in_syscall)
{
	struct walk w = { .maps = maps, .pid = pid, .out = out };
	struct unwind *u = &w.unwind;

	/* user_regs_struct begins as pt_regs does. */
	memcpy(w.registers.pt, regs, sizeof(w.registers.pt));
	reading = pid;
	*out = (struct double_stack){ 0 };
	u->pc = regs->rip;
	u->sp = regs->rsp;
	u->rbp = regs->rbp;
	u->rbx = regs->rbx;
	u->end = WEFT_END_DEPTH;
	u->knows_all = true;
	u->is_after = in_syscall;
	for (uint32_t i = 0; i < WEFT_MAX_USER_FRAMES; i++) {
		if (unwind_step(i, u))
			break;
	}
	out->end = u->end;
}

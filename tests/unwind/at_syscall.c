/* SPDX-License-Identifier: MIT */
/*
 * at_syscall STACKS CMD [ARG...]: run a program, stop it at the entry of its
 * system calls, and compare the stack that the kernel program finds there
 * with its double's over the stopped process: every frame, and why it ended.
 *
 * Prints how many were compared. Exit status 0 where all were equal.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unwind/double.h"

#include "gen/at_syscall.skel.h"

enum {
	BLOCK_BYTES = WEFT_TABLE_BLOCK_WORDS * sizeof(uint32_t),
	MAPPED_MAX = 4096,
	SLOTS_MAX = 1024,
	SHOWN_MAX = 5,
	SYSCALL_STOP = SIGTRAP | 0x80
};

static struct at_syscall_bpf *skel;
static struct double_maps maps;
static bool is_published[SLOTS_MAX];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void publish_blocks(const struct weft_table *t)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_INNER_MAP);
	uint32_t n = double_blocks(t);
	int fd;

	if (t->slot >= SLOTS_MAX || is_published[t->slot])
		return;
	is_published[t->slot] = true;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table", 4, BLOCK_BYTES, n,
			    &opts);
	if (fd < 0)
		die("bpf_map_create");
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(fd, &i, double_block(t, i), BPF_ANY))
			die("bpf_map_update_elem");
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.table_slots), &t->slot,
				&fd, BPF_ANY))
		die("bpf_map_update_elem");
	close(fd);
}

static void publish(const struct weft_file_key *key,
		    const struct double_mapping *m)
{
	if (m->table.state == WEFT_TABLE_READY)
		publish_blocks(&m->table);
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.tables), key, &m->table,
				BPF_ANY))
		die("bpf_map_update_elem");
}

/* Give the kernel program the tables that its double uses. */
static void publish_all(pid_t pid)
{
	static struct weft_mapped mapped[MAPPED_MAX];
	const struct weft_file_key vdso = { 0 };
	int fd = bpf_iter_create(bpf_link__fd(skel->links.list_watched));
	size_t size = 0;
	ssize_t got;

	double_release_maps(&maps);
	if (!double_read_maps(&maps, pid) || fd < 0)
		die("mappings");
	while ((got = read(fd, (char *)mapped + size, sizeof(mapped) - size)) >
	       0)
		size += (size_t)got;
	close(fd);
	for (size_t i = 0; i < maps.n; i++) {
		if (maps.all[i].is_vdso)
			publish(&vdso, &maps.all[i]);
		for (size_t k = 0; k < size / sizeof(mapped[0]); k++) {
			if (mapped[k].start == maps.all[i].start)
				publish(&mapped[k].file, &maps.all[i]);
		}
	}
	skel->data_shared->shared.table_changes++;
}

/* Returns whether the mappings differ from those that were published. */
static bool is_changed(pid_t pid)
{
	struct double_maps now;
	bool differs;

	if (!double_read_maps(&now, pid))
		return false;
	differs = now.n != maps.n ||
		  memcmp(now.all, maps.all, now.n * sizeof(now.all[0]));
	double_release_maps(&now);
	return differs;
}

static bool is_equal(const struct double_stack *expected)
{
	const struct weft_stack *found = &skel->bss->last;

	return found->n_user == expected->n &&
	       found->user_end == expected->end &&
	       !memcmp(found->address, expected->address,
		       expected->n * sizeof(expected->address[0]));
}

static void show(const struct double_stack *expected)
{
	const struct weft_stack *found = &skel->bss->last;

	printf("# differs: kernel %u frames, end %u; double %u frames, end %u\n",
	       found->n_user, found->user_end, expected->n, expected->end);
	for (uint32_t i = 0; i < expected->n || i < found->n_user; i++)
		printf("#   0x%-18" PRIx64 " 0x%" PRIx64 "\n",
		       i < found->n_user ? (uint64_t)found->address[i] : 0,
		       i < expected->n ? expected->address[i] : 0);
}

static pid_t run(char **argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		die("fork");
	return pid;
}

/* Go on to the next stop at a system call, passing signals on. */
static bool next_stop(pid_t pid)
{
	int status, signal = 0;

	do {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, signal) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		signal = WSTOPSIG(status);
		if (signal == SIGTRAP)
			signal = 0; /* execve() */
	} while (signal != SYSCALL_STOP);
	return true;
}

static void load(void)
{
	skel = at_syscall_bpf__open();
	if (!skel)
		die("open");
	((struct weft_config *)&skel->rodata->config)->user_stacks = 1;
	if (at_syscall_bpf__load(skel) || at_syscall_bpf__attach(skel))
		die("load");
}

int main(int argc, char **argv)
{
	uint64_t compared = 0, differ = 0, whole = 0, frames = 0, wanted;
	struct double_stack expected;
	struct user_regs_struct regs;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: at_syscall STACKS CMD [ARG...]\n");
		return 2;
	}
	wanted = strtoull(argv[1], NULL, 10);
	load();
	pid = run(argv + 2);
	skel->bss->watched_tid = (uint32_t)pid;
	while (compared < wanted && next_stop(pid)) {
		if (is_changed(pid))
			publish_all(pid);
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			break;
		double_walk(&expected, &maps, pid, &regs, true);
		if (!next_stop(pid))
			break; /* it ended in this call */
		if (regs.orig_rax == 59 || regs.orig_rax == 322)
			continue; /* execve() comes back as another program */
		compared++;
		frames += expected.n;
		whole += expected.end == WEFT_END_MARKED ||
			 expected.end == WEFT_END_ROOT;
		if (!is_equal(&expected) && differ++ < SHOWN_MAX)
			show(&expected);
	}
	kill(pid, SIGKILL);
	printf("%" PRIu64 " stacks of %" PRIu64 " frames compared, %" PRIu64
	       " whole, %" PRIu64 " differ\n",
	       compared, frames, whole, differ);
	at_syscall_bpf__destroy(skel);
	return !compared || differ;
}

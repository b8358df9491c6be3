/* SPDX-License-Identifier: MIT */
/*
 * compare PID STOPS: stop a process at random instants, walk each thread's
 * stack by our rules and by libdwfl, compare frame by frame.
 *
 * compare --print PID: stop it once and print our frames, "THREAD tid END" and
 * then an address per line: of callers the return address.
 *
 * Exit status 0 where at least 99.5 % of frames are equal.
 */
#include <dirent.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/unwind/double.h"

enum {
	THREADS_MAX = 256,
	SHOWN_MAX = 20
};

struct frames {
	uint64_t address[WEFT_MAX_USER_FRAMES];
	uint32_t n;
	bool is_cut; /* there are more */
	bool is_whole;
};

static struct {
	uint64_t stacks, whole, frames, equal, theirs_short, ours_short, differ;
} sums;

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct frames *f = arg;
	bool is_activation;
	Dwarf_Addr pc;

	if (f->n == WEFT_MAX_USER_FRAMES) {
		f->is_cut = true;
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(state, &pc, &is_activation))
		return DWARF_CB_ABORT;
	/* An interrupted place is kept like a return address behind it. */
	f->address[f->n] = pc + (f->n && is_activation);
	f->n++;
	return DWARF_CB_OK;
}

static size_t list_threads(pid_t pid, pid_t tids[THREADS_MAX])
{
	struct dirent *entry;
	char path[64];
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && n < THREADS_MAX && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			tids[n++] = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return n;
}

static bool attach(pid_t tid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return false;
	return waitpid(tid, &status, __WALL) == tid && WIFSTOPPED(status);
}

/* A thread that waits in a system call stands behind its instruction. */
static bool is_in_syscall(const struct user_regs_struct *regs)
{
	return (long)regs->orig_rax >= 0;
}

static void show(const struct double_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct double_mapping *m = &maps->all[i];

		if (address >= m->start && address < m->end) {
			printf("    %s+0x%" PRIx64 "\n", m->path,
			       address - m->start + m->file_offset);
			return;
		}
	}
	printf("    0x%" PRIx64 "\n", address);
}

static void count(const struct double_maps *maps,
		  const struct double_stack *ours, const struct frames *theirs)
{
	uint32_t same = 0, most = ours->n > theirs->n ? ours->n : theirs->n;
	static int shown;

	while (same < ours->n && same < theirs->n &&
	       ours->address[same] == theirs->address[same])
		same++;
	sums.stacks++;
	sums.whole +=
		ours->end == WEFT_END_MARKED || ours->end == WEFT_END_ROOT;
	sums.frames += most;
	sums.equal += same;
	if (same == most)
		return;
	if (same == theirs->n)
		sums.theirs_short++;
	else if (same == ours->n)
		sums.ours_short++;
	else
		sums.differ++;
	if (shown++ >= SHOWN_MAX)
		return;
	printf("  equal for %u of %u frames (ours) and %u (theirs); ours ended with %d\n",
	       same, ours->n, theirs->n, ours->end);
	for (uint32_t i = same ? same - 1 : 0; i < same + 2; i++) {
		if (i < ours->n) {
			printf("   ours  ");
			show(maps, ours->address[i]);
		}
		if (i < theirs->n) {
			printf("   theirs");
			show(maps, theirs->address[i]);
		}
	}
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static bool walk_theirs(pid_t pid, pid_t tid, struct frames *out)
{
	static Dwfl *dwfl;
	static bool is_attached;

	if (!dwfl)
		dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(dwfl);
	if (dwfl_linux_proc_report(dwfl, pid) ||
	    dwfl_report_end(dwfl, NULL, NULL))
		return false;
	if (!is_attached && dwfl_linux_proc_attach(dwfl, pid, true))
		return false;
	is_attached = true;
	*out = (struct frames){ 0 };
	(void)dwfl_getthread_frames(dwfl, tid, on_frame, out);
	return out->n > 0;
}

static void compare(pid_t pid, const struct double_maps *maps, pid_t tid,
		    bool only_print)
{
	struct user_regs_struct regs;
	struct double_stack ours;
	struct frames theirs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs))
		return;
	double_walk(&ours, maps, pid, &regs, is_in_syscall(&regs));
	if (only_print) {
		printf("THREAD %d %d\n", tid, ours.end);
		for (uint32_t i = 0; i < ours.n; i++)
			printf("0x%" PRIx64 "\n", ours.address[i]);
		return;
	}
	if (walk_theirs(pid, tid, &theirs))
		count(maps, &ours, &theirs);
}

static bool stop_once(pid_t pid, bool only_print)
{
	pid_t tids[THREADS_MAX];
	bool is_stopped[THREADS_MAX] = { false };
	size_t n = list_threads(pid, tids);
	struct double_maps maps;
	bool is_there;

	for (size_t i = 0; i < n; i++)
		is_stopped[i] = attach(tids[i]);
	is_there = double_read_maps(&maps, pid);
	for (size_t i = 0; i < n && is_there; i++) {
		if (is_stopped[i])
			compare(pid, &maps, tids[i], only_print);
	}
	double_release_maps(&maps);
	for (size_t i = 0; i < n; i++) {
		if (is_stopped[i])
			ptrace(PTRACE_DETACH, tids[i], NULL, NULL);
	}
	return is_there;
}

int main(int argc, char **argv)
{
	pid_t pid;
	int stops;

	if (argc == 3 && !strcmp(argv[1], "--print"))
		return !stop_once(atoi(argv[2]), true);
	if (argc != 3) {
		fprintf(stderr,
			"usage: compare PID STOPS | compare --print PID\n");
		return 2;
	}
	pid = atoi(argv[1]);
	stops = atoi(argv[2]);
	srand((unsigned int)time(NULL));
	for (int i = 0; i < stops && stop_once(pid, false); i++)
		usleep(1000 + rand() % 10000);
	printf("%" PRIu64 " stacks, %" PRIu64 " whole; %" PRIu64
	       " frames, %" PRIu64 " equal; stacks: %" PRIu64
	       " longer than theirs, %" PRIu64 " shorter, %" PRIu64
	       " different\n",
	       sums.stacks, sums.whole, sums.frames, sums.equal,
	       sums.theirs_short, sums.ours_short, sums.differ);
	return !sums.frames || sums.equal * 1000 < sums.frames * 995;
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/target.h"

/* Of a stat file of /proc: field 22, the start in ticks since boot, and field
 * 9, the kernel's flags of the task. */
static int read_stat(const char *path, uint64_t *ticks, unsigned int *flags)
{
	char line[1024], *at;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	line[n] = '\0';
	/* The name in parentheses may hold anything: start after the last. */
	at = strrchr(line, ')');
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u"
			  " %*u %*d %*d %*d %*d %*d %*d %lu",
			  flags, ticks) != 2)
		return -EPROTO;
	return 0;
}

/* /proc has threads by number too, unlisted. */
static int read_task(uint32_t tid, uint64_t *ticks, unsigned int *flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/task/%u/stat", tid, tid);
	return read_stat(path, ticks, flags);
}

int target_start(uint32_t tid, uint64_t *ticks)
{
	unsigned int flags;

	return read_task(tid, ticks, &flags);
}

bool target_is_kernel(uint32_t tid)
{
	const unsigned int kernel_thread = 0x00200000; /* PF_KTHREAD */
	unsigned int flags;
	uint64_t ticks;

	return !read_task(tid, &ticks, &flags) && (flags & kernel_thread);
}

static int check_pid(uint32_t pid, struct weft_err *err)
{
	char path[64], line[256];
	uint64_t ticks;
	unsigned int tgid = pid;
	int rc = target_start(pid, &ticks);
	FILE *f;

	if (rc)
		return weft_fail(err, rc, "cannot record process %u: %s", pid,
				 rc == -ESRCH ? "no such process"
					      : strerror(-rc));
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &tgid) == 1)
			break;
	if (f)
		fclose(f);
	if (tgid != pid)
		return weft_fail(
			err, -ESRCH,
			"cannot record process %u: that is a thread of process %u; use -t %u for it alone, or -p %u",
			pid, tgid, pid, tgid);
	return 0;
}

/*
 * A path as /proc/PID/cgroup shows it, below where version 2 is mounted (alone,
 * or beside version 1), or the directory itself.
 */
static int open_cgroup(const char *path, int *out, struct weft_err *err)
{
	static const char *const roots[] = { "/sys/fs/cgroup/",
					     "/sys/fs/cgroup/unified/", "" };
	bool is_there = false;

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		char full[4096];
		struct statfs fs;
		int fd;

		snprintf(full, sizeof(full), "%s%s", roots[i], path);
		fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC) {
			*out = fd;
			return 0;
		}
		is_there = true;
		close(fd);
	}
	if (is_there)
		return weft_fail(
			err, -EINVAL,
			"cannot record cgroup '%s': it is not of version 2, and the kernel can test samples against those only",
			path);
	return weft_fail(
		err, -ENOENT,
		"cannot record cgroup '%s': no such cgroup below /sys/fs/cgroup",
		path);
}

int target_check(const struct record_opts *opts, int *cgroup_fd,
		 struct weft_err *err)
{
	*cgroup_fd = -1;
	for (size_t i = 0; i < opts->n_pids; i++) {
		int rc = check_pid(opts->pids[i], err);

		if (rc)
			return rc;
	}
	for (size_t i = 0; i < opts->n_tids; i++) {
		uint64_t ticks;

		if (target_start(opts->tids[i], &ticks))
			return weft_fail(
				err, -ESRCH,
				"cannot record thread %u: no such thread",
				opts->tids[i]);
	}
	return opts->cgroup ? open_cgroup(opts->cgroup, cgroup_fd, err) : 0;
}

static int add_process(uint32_t pid, struct probe *probe, struct procs *procs,
		       struct weft_err *err)
{
	uint64_t ticks;
	int rc = target_start(pid, &ticks);

	if (rc)
		return weft_fail(err, rc, "cannot record process %u: %s", pid,
				 rc == -ESRCH ? "no such process"
					      : strerror(-rc));
	procs_announce(procs, pid);
	return probe_add_process(probe, pid, ticks, err);
}

int target_add(const struct record_opts *opts, uint32_t command_pid,
	       struct probe *probe, struct procs *procs, struct weft_err *err)
{
	int rc = 0;

	if (command_pid)
		rc = add_process(command_pid, probe, procs, err);
	for (size_t i = 0; i < opts->n_pids && !rc; i++)
		rc = add_process(opts->pids[i], probe, procs, err);
	for (size_t i = 0; i < opts->n_tids && !rc; i++) {
		uint64_t ticks;

		rc = target_start(opts->tids[i], &ticks);
		if (rc)
			return weft_fail(
				err, rc,
				"cannot record thread %u: no such thread",
				opts->tids[i]);
		rc = probe_add_thread(probe, opts->tids[i], ticks, err);
	}
	return rc;
}

bool target_lives(const struct record_opts *opts)
{
	uint64_t ticks;

	for (size_t i = 0; i < opts->n_pids; i++)
		if (!target_start(opts->pids[i], &ticks))
			return true;
	for (size_t i = 0; i < opts->n_tids; i++)
		if (!target_start(opts->tids[i], &ticks))
			return true;
	return false;
}

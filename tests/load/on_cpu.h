/* SPDX-License-Identifier: MIT */
/*
 * How long a thread was on a CPU, by the kernel's software event of that,
 * which is counted at context switches. Its CPU time is less than that on a
 * virtual machine whose host takes CPUs away: such steal is not accounted to
 * the thread from whose turn it was taken.
 */
#ifndef LOAD_ON_CPU_H
#define LOAD_ON_CPU_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From now on, of this thread. Returns a descriptor for on_cpu_ns; -1, with a
 * word to stderr, where it cannot be counted. */
static inline int on_cpu_open(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		perror("cannot count the time on CPU: perf_event_open");
	return fd;
}

static inline uint64_t on_cpu_ns(int fd)
{
	uint64_t ns = 0;

	return read(fd, &ns, sizeof(ns)) == sizeof(ns) ? ns : 0;
}

#endif

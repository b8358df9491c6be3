/* SPDX-License-Identifier: MIT */
#ifndef WEFT_CPU_TIME_H
#define WEFT_CPU_TIME_H

#include <stdint.h>

/* CPU time in ns of a process with this parent, and of its children that were
 * waited for, by /proc/PID/stat; 0 where pid is another's by now. */
uint64_t cpu_time_ns(int pid, int parent);

#endif

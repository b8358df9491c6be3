/* SPDX-License-Identifier: MIT */
/* The machine that is recorded, and what recording costs it. */
#ifndef WEFT_HOST_H
#define WEFT_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct host {
	char name[65], kernel[65], arch[65];
	char boot_id[40]; /* "" if not readable */
};

void host_read(struct host *out);

/* Whether pids are to us what they are to the kernel: we are in the initial
 * pid namespace. */
bool host_has_all_pids(void);

/* CPU time of this process, user and system. */
uint64_t host_cpu_ns(void);

/* Its resident memory; 0 if not readable. */
uint64_t host_rss_bytes(void);

#endif
